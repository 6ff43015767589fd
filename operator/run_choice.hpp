#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// Which of a name's runs a word means.
enum class Prefer { Newest, Succeeded };

/// Picks the one run that a word names: a run of a job's name, or the one whose id or full name begins with the word.
/// It is shown the coordinator's runs, newest first.
class RunChoice {
 public:
  static constexpr std::size_t kPrefixLengthMin = 4;

  RunChoice(std::string word, Prefer prefer) : word_(std::move(word)), prefer_(prefer) {}
  /// @param run a RunSummary of docs/api.md @return whether no older run can change the choice
  bool look(const nlohmann::ordered_json& run);
  /// The chosen run's 96 digits. With Prefer::Succeeded that is the newest run of the name that succeeded; where none
  /// did, the newest. A name comes before the beginning of an id.
  /// @return InvalidArgument where the word begins more than one id, UnknownRun where it fits nothing
  [[nodiscard]] Result<std::string> chosen() const;

 private:
  std::string word_;
  Prefer prefer_;
  std::string named_;               // the newest of the name
  std::string succeeded_;           // the newest of the name that succeeded
  std::vector<std::string> begun_;  // ids that begin with the word: two are enough to know
};

}  // namespace undertone::operators
