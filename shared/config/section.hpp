#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::config {

/// One key of a configuration file, as its parser takes it.
struct ConfigKey {
  std::string pointer;   // "/cohort/*/silo"
  std::string expected;  // "an integer from 1 to 65535"
  bool optional = false;
  std::string about;
};

/// Everything that is wrong with a document, so that a person mends it in one go. Made with `recording`, it collects
/// what a parser asks for instead: the configuration's reference, which so cannot drift from the code.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  [[nodiscard]] static Problems recording() {
    Problems out("");
    out.recording_ = true;
    return out;
  }
  void add(const std::string& pointer, const std::string& problem);
  [[nodiscard]] bool none() const noexcept { return lines_.empty() && !recording_; }
  [[nodiscard]] Error error() const;

  [[nodiscard]] bool records() const noexcept { return recording_; }
  void record(ConfigKey key) { keys_.push_back(std::move(key)); }
  [[nodiscard]] const std::vector<ConfigKey>& keys() const noexcept { return keys_; }

 private:
  std::string file_;
  std::vector<std::string> lines_;
  bool recording_ = false;
  std::vector<ConfigKey> keys_;
};

/// An object whose keys are taken one by one with their type and range checked. A problem is noted and a harmless
/// value returned; what was built is used only if `Problems::none()`.
class Section {
 public:
  Section(const nlohmann::json& value, std::string pointer, Problems& problems);

  /// Whether an optional key is there.
  [[nodiscard]] bool has(const std::string& key);
  /// @param about for the reference: what the key means, and its default where it is optional
  [[nodiscard]] std::string text(const std::string& key, const char* about);
  [[nodiscard]] bool boolean(const std::string& key, const char* about);
  /// A finite number for which low <= value <= high; `open_low` makes the lower end strict.
  [[nodiscard]] double number(const std::string& key, double low, double high, const char* about,
                              bool open_low = false);
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, const char* about);
  [[nodiscard]] std::vector<std::string> texts(const std::string& key, const char* about);
  /// Finite numbers.
  [[nodiscard]] std::vector<double> numbers(const std::string& key, const char* about);
  [[nodiscard]] Section object(const std::string& key, const char* about = "");
  [[nodiscard]] std::vector<Section> objects(const std::string& key, std::size_t least, std::size_t most,
                                             const char* about = "");
  /// One of several texts. @return its index; 0 where the value is none of them
  [[nodiscard]] std::size_t one_of(const std::string& key, const std::vector<std::string_view>& texts,
                                   const char* about);
  template <class Choice>
  [[nodiscard]] Choice choice(const std::string& key, std::initializer_list<std::pair<const char*, Choice>> choices,
                              const char* about) {
    std::vector<std::string_view> texts;
    for (const auto& [text, value] : choices) texts.emplace_back(text);
    return (choices.begin() + one_of(key, texts, about))->second;
  }
  void problem(const std::string& key, const std::string& what) { problems_->add(pointer_ + "/" + key, what); }
  /// Whether the key's value is a text: for keys that may be written in two ways.
  [[nodiscard]] bool holds_text(const std::string& key) const;
  [[nodiscard]] bool recording() const noexcept { return problems_->records(); }
  /// Notes every key that nobody asked for.
  void finish();

 private:
  const nlohmann::json* find(const std::string& key, const std::string& expected, const char* about);
  std::string text_of(const std::string& key, const std::string& expected, const char* about);
  static std::string shown(const nlohmann::json& value);
  const nlohmann::json* object_;
  std::string pointer_;
  Problems* problems_;
  std::set<std::string> taken_;
  std::set<std::string> optional_;
};

}  // namespace undertone::config
