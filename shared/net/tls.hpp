#pragma once

#include <boost/asio/ssl/context.hpp>
#include <filesystem>
#include <string>

#include "shared/base/result.hpp"

struct ssl_st;

namespace undertone::net {

/// A party's credentials: PEM files.
struct TlsFiles {
  std::filesystem::path authority;    // of the consortium
  std::filesystem::path certificate;  // this party's
  std::filesystem::path key;
};

/// Who is at the other end, as its certificate's subject says: O, OU, CN.
struct PeerIdentity {
  std::string consortium;
  std::string role;  // "coordinator" or "silo"
  std::string name;
};

enum class Side { Client, Server };

/// TLS 1.3 and nothing older, certificates both ways, no anonymous peers.
[[nodiscard]] Result<std::unique_ptr<boost::asio::ssl::context>> make_tls_context(const TlsFiles& files, Side side);

/// @return an error where the peer showed no verified certificate, or one without O, OU and CN
[[nodiscard]] Result<PeerIdentity> peer_identity(ssl_st* connection);

}  // namespace undertone::net
