#include "shuffler/batch/adder.hpp"

#include "shared/sealed/sealed_reply.hpp"

namespace undertone::shuffler {

std::size_t total_bytes(const BatchSpec& spec) {
  UNDERTONE_CHECK(spec.adds() && spec.unit_bytes > sealed::ReplyLength::kOverheadBytes);
  return spec.unit_bytes - sealed::ReplyLength::kOverheadBytes;
}

}  // namespace undertone::shuffler
