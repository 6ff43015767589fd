#pragma once

#include <ctime>
#include <map>
#include <string>

#include "shared/base/files.hpp"
#include "shared/certificates/authority.hpp"
#include "shared/net/tls.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::tests {

/// A consortium's authority and whatever parties a test asks for, made on the spot.
class Certificates {
 public:
  explicit Certificates(const std::string& consortium)
      : authority_(certificates::Authority::create(folder_.path() / "authority", consortium, now() - 3 * kDay,
                                                   now() + 100 * kDay)
                       .value()) {}

  /// The party's files. @param from, until days from now
  net::TlsFiles party(certificates::Role role, const std::string& name, int from = -1, int until = 60) {
    const std::filesystem::path base = folder_.path() / fmt::format("{}-{}-{}-{}", to_string(role), name, from, until);
    net::TlsFiles files{authority_.certificate_file(), base.string() + ".crt", base.string() + ".key",
                        authority_.revocation_file()};
    if (std::filesystem::exists(files.certificate)) return files;
    const std::string request = certificates::make_request({authority_.consortium(), role, name}, files.key).value();
    const std::string pem =
        authority_.sign(request, {now() + from * kDay, now() + until * kDay, {"127.0.0.1"}}).value();
    write_file_atomically(files.certificate, pem).value();
    return files;
  }
  net::TlsFiles silo(const std::string& name) { return party(certificates::Role::Silo, name); }
  net::TlsFiles hub() { return party(certificates::Role::Coordinator, "hub"); }
  certificates::Authority& authority() { return authority_; }

  static std::time_t now() { return std::time(nullptr); }
  static constexpr std::time_t kDay = std::time_t{24} * 3600;

 private:
  TemporaryFolder folder_;
  certificates::Authority authority_;
};

}  // namespace undertone::tests
