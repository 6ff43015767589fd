#pragma once

#include <ctime>

#include "shared/net/tls.hpp"

namespace undertone::net {

/// Looks after a process's credentials: takes up renewed files, warns once a day before they end, and logs both.
class CredentialsWatch {
 public:
  /// @return whether there are new credentials
  bool look(Credentials& credentials);

 private:
  std::time_t warned_ = 0;
};

}  // namespace undertone::net
