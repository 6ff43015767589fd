#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/certificates/certificate.hpp"

namespace undertone::certificates {

/// What a certificate is issued for besides its subject.
struct Issue {
  std::time_t not_before = 0;
  std::time_t not_after = 0;
  std::vector<std::string> hosts;  // names or addresses a coordinator is reached at
};

/// A certificate that was issued, as the register keeps it.
struct Issued {
  CertificateFacts facts;
  std::string key_sha256;   // of the public key (SubjectPublicKeyInfo), hexadecimal: what people compare by telephone
  std::time_t revoked = 0;  // 0: not revoked
};

/// A consortium's certificate authority: a folder with its key, its certificate, the register of what it issued and the
/// list of what it revoked.
///   authority.key  authority.crt  register.json  revoked.crl
class Authority {
 public:
  /// Makes the folder and an authority in it. @return an error where there is one already
  [[nodiscard]] static Result<Authority> create(const std::filesystem::path& folder, const std::string& consortium,
                                                std::time_t not_before, std::time_t not_after);
  [[nodiscard]] static Result<Authority> open(const std::filesystem::path& folder);
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  /// Who a request is for and the digest of its public key; its self-signature is checked.
  struct RequestFacts {
    Party party;
    std::string key_sha256;
  };
  [[nodiscard]] static Result<RequestFacts> read_request(const std::string& pem);

  /// Signs a request and enters the certificate into the register before it is returned.
  /// @return the certificate, PEM; an error where the request is of another consortium
  [[nodiscard]] Result<std::string> sign(const std::string& request_pem, const Issue& issue);

  /// Revokes every certificate of the party that is not revoked yet, and rewrites the list.
  /// @return how many were revoked
  [[nodiscard]] Result<std::size_t> revoke(Role role, const std::string& name, std::time_t now);

  [[nodiscard]] const std::vector<Issued>& issued() const noexcept { return issued_; }
  [[nodiscard]] const std::string& consortium() const noexcept { return consortium_; }
  [[nodiscard]] std::filesystem::path certificate_file() const { return folder_ / "authority.crt"; }
  [[nodiscard]] std::filesystem::path revocation_file() const { return folder_ / "revoked.crl"; }

 private:
  struct Secret;
  Authority(std::filesystem::path folder, std::string consortium, std::unique_ptr<Secret> secret);
  [[nodiscard]] Status store_register() const;
  [[nodiscard]] Status load_register();
  [[nodiscard]] Status write_revocations(std::time_t now) const;

  std::filesystem::path folder_;
  std::string consortium_;
  std::unique_ptr<Secret> secret_;
  std::vector<Issued> issued_;
};

}  // namespace undertone::certificates
