#include "operator/run_choice.hpp"

#include <nlohmann/json.hpp>

#include "shared/base/plain_text.hpp"

namespace undertone::operators {

bool RunChoice::look(const nlohmann::ordered_json& run) {
  const auto value = [&run](const char* key) {
    return run.contains(key) && run[key].is_string() ? plain_text(run[key].get<std::string>()) : std::string();
  };
  if (value("name") == word_) {
    if (named_.empty()) named_ = value("run");
    if (succeeded_.empty() && value("state") == "succeeded") succeeded_ = value("run");
  }
  const bool begins =
      word_.size() >= kPrefixLengthMin && (value("id").starts_with(word_) || value("run").starts_with(word_));
  if (begins && begun_.size() < 2) begun_.push_back(value("run"));
  return prefer_ == Prefer::Newest ? !named_.empty() : !succeeded_.empty();
}

Result<std::string> RunChoice::chosen() const {
  if (prefer_ == Prefer::Succeeded && !succeeded_.empty()) return succeeded_;
  if (!named_.empty()) return named_;
  if (begun_.size() > 1) {
    return Error{ErrorCode::InvalidArgument, fmt::format("\"{}\" is the beginning of more than one run's id", word_)};
  }
  if (!begun_.empty()) return begun_.front();
  return Error{ErrorCode::UnknownRun, fmt::format("no run is called \"{}\"; `undertone status` lists them", word_)};
}

}  // namespace undertone::operators
