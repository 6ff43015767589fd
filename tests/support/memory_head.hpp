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
    head_ = std::string(head);
    return {};
  }

 private:
  std::optional<std::string> head_;
};

}  // namespace undertone::tests
