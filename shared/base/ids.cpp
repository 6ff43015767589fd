#include "shared/base/ids.hpp"

#include <algorithm>

namespace undertone {

Result<SiloId> SiloId::create(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), allowed)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a silo's name is 1 to 64 of [a-z0-9-], got {} characters", name.size())};
  }
  return SiloId(std::string(name));
}

std::string RunId::bytes() const {
  std::string out(job.begin(), job.end());
  out.append(nonce.begin(), nonce.end());
  return out;
}

std::string RunId::hex() const { return to_hex(bytes()); }

Result<RunId> RunId::from_bytes(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return Error{ErrorCode::Malformed, fmt::format("a run id has {} bytes, got {}", kBytes, bytes.size())};
  }
  RunId run;
  std::copy_n(bytes.begin(), run.job.size(), run.job.begin());
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(run.job.size()), run.nonce.size(), run.nonce.begin());
  return run;
}

Result<RunId> RunId::from_hex(std::string_view hex) {
  UNDERTONE_TRY(const std::string bytes, undertone::from_hex(hex));
  return from_bytes(bytes);
}

}  // namespace undertone
