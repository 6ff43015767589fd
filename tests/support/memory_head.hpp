#pragma once

#include <optional>
#include <string>

#include "silo/ledger/head_store.hpp"

namespace undertone::tests {

/// A ledger's head outside it, in memory.
class MemoryHead final : public silo::HeadStore {
 public:
  Result<std::optional<std::string>> read() override { return head_; }
  Status write(std::string_view head) override {
    if (fails) return Error{ErrorCode::StorageFailed, "the disk of the head is full"};
    head_ = std::string(head);
    return {};
  }

  bool fails = false;

 private:
  std::optional<std::string> head_;
};

}  // namespace undertone::tests
