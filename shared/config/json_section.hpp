#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::config {

/// Everything that is wrong with a document, so that a person mends it in one go.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(const std::string& pointer, const std::string& problem);
  [[nodiscard]] bool none() const noexcept { return lines_.empty(); }
  [[nodiscard]] Error error() const;

 private:
  std::string file_;
  std::vector<std::string> lines_;
};

/// A parsed document. A type of its own, since a JSON value claims to be constructible from anything.
struct JsonDocument {
  nlohmann::json root;
};

/// Parses JSON of bounded size and depth. Two equal keys in an object are an error.
[[nodiscard]] Result<JsonDocument> parse_json(std::string_view text, const std::string& file);

/// Reads and parses a file. @param bytes_max larger files are refused unread
[[nodiscard]] Result<JsonDocument> load_json(const std::filesystem::path& file, std::size_t bytes_max);

/// An object whose keys are taken one by one with their type and range checked. A problem is noted and a harmless
/// value returned; what was built is used only if `Problems::none()`.
class Section {
 public:
  Section(const nlohmann::json& value, std::string pointer, Problems& problems);

  [[nodiscard]] bool has(const std::string& key) const { return object_->contains(key); }
  [[nodiscard]] std::string text(const std::string& key);
  [[nodiscard]] bool boolean(const std::string& key);
  /// A finite number for which low <= value <= high; `open_low` makes the lower end strict.
  [[nodiscard]] double number(const std::string& key, double low, double high, bool open_low = false);
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high);
  [[nodiscard]] std::vector<std::string> texts(const std::string& key);
  [[nodiscard]] Section object(const std::string& key);
  [[nodiscard]] std::vector<Section> objects(const std::string& key, std::size_t least, std::size_t most);
  template <class Choice>
  [[nodiscard]] Choice choice(const std::string& key, std::initializer_list<std::pair<const char*, Choice>> choices) {
    const std::string name = text(key);
    std::string expected;
    for (const auto& [candidate, value] : choices) {
      if (name == candidate) return value;
      expected += (expected.empty() ? "\"" : ", \"") + std::string(candidate) + "\"";
    }
    if (!name.empty()) problem(key, "expected one of " + expected + ", got \"" + name + "\"");
    return choices.begin()->second;
  }
  void problem(const std::string& key, const std::string& what) { problems_->add(pointer_ + "/" + key, what); }
  /// Notes every key that nobody asked for.
  void finish();

 private:
  const nlohmann::json* find(const std::string& key, const char* expected);
  static std::string shown(const nlohmann::json& value);
  const nlohmann::json* object_;
  std::string pointer_;
  Problems* problems_;
  std::set<std::string> taken_;
};

}  // namespace undertone::config
