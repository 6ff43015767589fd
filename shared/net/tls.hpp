#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "shared/base/result.hpp"
#include "shared/certificates/certificate.hpp"

struct ssl_st;

namespace undertone::net {

/// A party's credentials: PEM files.
struct TlsFiles {
  std::filesystem::path authority;    // of the consortium
  std::filesystem::path certificate;  // this party's
  std::filesystem::path key;
  std::filesystem::path revoked;  // the consortium's revocation list; empty: none is read
};

/// OpenServer: clients may come without a certificate; one that is shown must be good.
enum class Side { Client, Server, OpenServer };

/// Which of an authority's revocation lists one is.
struct RevocationAge {
  std::time_t issued = 0;              // its lastUpdate
  std::optional<std::int64_t> number;  // its CRL number, if it has one that fits
};

/// This party's credentials as they are on disk now: a renewed certificate or a new revocation list serves from the
/// next connection on, without a restart.
class Credentials {
 public:
  /// @return an error where a file is missing or does not fit, or the certificate is not this party's or not valid now
  [[nodiscard]] static Result<Credentials> load(const TlsFiles& files, Side side, const certificates::Party& self);

  /// TLS 1.3 and nothing older, certificates both ways, no anonymous peers.
  [[nodiscard]] boost::asio::ssl::context& context() noexcept { return *context_; }
  /// Reads the files again if one of them changed. After an error the old credentials serve on. A revocation list that
  /// is older than the one before it is an error: somebody's revocation would be forgotten.
  /// @return whether there are new ones
  [[nodiscard]] Result<bool> refresh();
  [[nodiscard]] const certificates::CertificateFacts& own() const noexcept { return own_; }
  [[nodiscard]] const std::filesystem::path& key_file() const noexcept { return files_.key; }
  [[nodiscard]] bool revoked(const std::string& serial) const { return revoked_.contains(serial); }

 private:
  Credentials() = default;
  TlsFiles files_;
  Side side_ = Side::Client;
  certificates::Party self_;
  std::unique_ptr<boost::asio::ssl::context> context_;
  certificates::CertificateFacts own_;
  std::set<std::string> revoked_;
  std::map<std::string, RevocationAge> newest_;  // lists since the process began, by the key that signed them
  std::string stamp_;                            // of the files as they were read
};

/// How long before a certificate's end its owner is warned.
inline constexpr std::time_t kExpiryWarning = std::time_t{30} * 24 * 3600;

/// How often a process looks whether its credentials' files changed.
inline constexpr std::chrono::seconds kCredentialsLook{2};

/// @return an error where the peer showed no verified certificate, or one that is not a party's
[[nodiscard]] Result<certificates::CertificateFacts> peer_facts(ssl_st* connection);

/// Why a handshake failed, by name: expired, not yet valid, revoked, of another authority, no certificate, not TLS.
[[nodiscard]] std::string describe_tls_failure(ssl_st* connection, const boost::system::error_code& error);

}  // namespace undertone::net
