#pragma once

#include <ctime>

#include "shared/net/session.hpp"
#include "shared/net/tls.hpp"

namespace undertone::net {

/// Looks after a process's credentials: takes up renewed files, warns once a day before they end and where others may
/// read the key, and logs all of it.
class CredentialsWatch {
 public:
  /// @return whether there are new credentials
  bool look(Credentials& credentials);

 private:
  std::time_t warned_ = 0;
  std::time_t warned_of_key_ = 0;
};

/// Ends a session whose peer's certificate has ended or was revoked since the handshake, and logs it. Either side of a
/// session asks every kCredentialsLook.
void close_if_outdated(Session& session, const Credentials& credentials);

}  // namespace undertone::net
