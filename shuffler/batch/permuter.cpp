#include "shuffler/batch/permuter.hpp"

#include <string_view>

namespace undertone::shuffler {

std::vector<std::string> permuted_units(const std::map<std::size_t, std::string>& messages, std::size_t unit_bytes,
                                        Permuter& permuter) {
  std::vector<std::string_view> sent;
  for (const auto& [slot, message] : messages) {
    UNDERTONE_CHECK(message.size() % unit_bytes == 0);
    for (std::size_t at = 0; at < message.size(); at += unit_bytes)
      sent.push_back(std::string_view(message).substr(at, unit_bytes));
  }
  const std::vector<std::int64_t> order = permuter.order(static_cast<std::int64_t>(sent.size()));
  UNDERTONE_CHECK(order.size() == sent.size());
  std::vector<bool> taken(sent.size(), false);
  std::vector<std::string> units;
  units.reserve(sent.size());
  for (const std::int64_t from : order) {
    const auto index = static_cast<std::size_t>(from);
    UNDERTONE_CHECK(index < sent.size() && !taken[index]);
    taken[index] = true;
    units.emplace_back(sent[index]);
  }
  return units;
}

}  // namespace undertone::shuffler
