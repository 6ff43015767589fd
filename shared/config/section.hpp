#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::config {

inline constexpr std::size_t kTextBytesMax = 4096;

/// What the value of a key may be.
struct KeyType {
  enum class Kind : std::uint8_t {
    Text,
    Choice,
    Boolean,
    Number,
    Integer,
    Texts,
    Numbers,
    NumberLists,
    Scalars,
    Object,
    Objects
  };
  Kind kind = Kind::Object;
  double low = 0.0;  // of a number
  double high = 0.0;
  bool open_low = false;
  std::int64_t least = 0;  // of an integer; of texts, scalars and objects, how many
  std::int64_t most = 0;
  std::vector<std::string> choices = {};
  bool distinct = false;  // of texts: none stands twice
};

/// How many texts an array may hold, and whether they differ.
struct TextCounts {
  std::size_t least = 0;
  std::size_t most = kUnbounded;
  bool distinct = false;
  static constexpr std::size_t kUnbounded = std::size_t{1} << 40;  // more than a file holds
};

/// One key of a configuration file, as its parser takes it.
struct ConfigKey {
  std::string pointer;   // "/cohort/*/silo"
  std::string expected;  // "an integer from 1 to 65535"
  bool optional = false;
  std::string about;
  KeyType type = {};
};

/// A point at which a parser goes one way or another by what stands at a key.
struct Fork {
  enum class By : std::uint8_t { Presence, Choice, Text };
  std::string pointer;
  By by = By::Presence;
  std::vector<std::string> choices = {};
  /// The first: it is there, is the first choice, is a text.
  [[nodiscard]] std::size_t ways() const { return by == By::Choice ? choices.size() : 2; }
};
/// The ways that are taken at forks; the first at all others.
using Ways = std::map<std::pair<std::string, Fork::By>, std::size_t>;

/// Everything that is wrong with a document, so that a person mends it in one go. Made with `recording`, it collects
/// what a parser asks for instead: the configuration's reference, which so cannot drift from the code. Made with
/// `exploring`, it collects what a parser asks for of one document alone, of which nothing but the forks is known: many
/// of them make a schema.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  [[nodiscard]] static Problems recording() {
    Problems out("");
    out.recording_ = true;
    return out;
  }
  [[nodiscard]] static Problems exploring(Ways ways) {
    Problems out("");
    out.lines_.emplace_back("explored");  // what a parser makes of it is no configuration
    out.exploring_ = true;
    out.ways_ = std::move(ways);
    return out;
  }
  void add(const std::string& pointer, const std::string& problem);
  [[nodiscard]] bool none() const noexcept { return lines_.empty() && !recording_; }
  [[nodiscard]] Error error() const;
  /// The name that problems are said with.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  [[nodiscard]] bool records() const noexcept { return recording_; }
  void record(ConfigKey key) { keys_.push_back(std::move(key)); }
  [[nodiscard]] const std::vector<ConfigKey>& keys() const noexcept { return keys_; }

  [[nodiscard]] bool explores() const noexcept { return exploring_; }
  /// The way to take at a fork, which is noted.
  [[nodiscard]] std::size_t way(const Fork& fork);
  [[nodiscard]] const std::vector<Fork>& forks() const noexcept { return forks_; }
  /// Keeps the value of a key that was not there. @return it, for as long as this or a copy of it lives
  const nlohmann::json& fill(const std::string& pointer, const nlohmann::json& value);
  /// The document with every value that stood in for a key, outer ones first.
  [[nodiscard]] nlohmann::ordered_json completed(nlohmann::ordered_json document) const;

 private:
  std::string file_;
  std::vector<std::string> lines_;
  bool recording_ = false;
  std::vector<ConfigKey> keys_;
  bool exploring_ = false;
  Ways ways_;
  std::vector<Fork> forks_;
  struct Filled;
  std::shared_ptr<Filled> filled_;
};

/// An object whose keys are taken one by one with their type and range checked. A problem is noted and a harmless
/// value returned; what was built is used only if `Problems::none()`.
class Section {
 public:
  Section(const nlohmann::json& value, std::string pointer, Problems& problems);

  /// Whether an optional key is there.
  [[nodiscard]] bool has(const std::string& key);
  /// Says what a key is where it is not there; then it is taken as if it were. A default is a part of every file that
  /// was ever written without the key: it never changes.
  void otherwise(const std::string& key, const nlohmann::json& value);
  /// @param about for the reference: what the key means, and its default where it is optional
  [[nodiscard]] std::string text(const std::string& key, const char* about);
  [[nodiscard]] bool boolean(const std::string& key, const char* about);
  /// A finite number for which low <= value <= high; `open_low` makes the lower end strict.
  [[nodiscard]] double number(const std::string& key, double low, double high, const char* about,
                              bool open_low = false);
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, const char* about);
  [[nodiscard]] std::vector<std::string> texts(const std::string& key, const char* about, TextCounts counts = {});
  /// Finite numbers.
  [[nodiscard]] std::vector<double> numbers(const std::string& key, const char* about);
  /// Numbers, texts and booleans.
  [[nodiscard]] std::vector<nlohmann::json> scalars(const std::string& key, std::size_t least, std::size_t most,
                                                    const char* about);
  /// Arrays of finite numbers, each of any length.
  [[nodiscard]] std::vector<std::vector<double>> number_lists(const std::string& key, const char* about);
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
  /// Notes a key that this document cannot have, if it is there. @param why "expected none: ..."
  void refuse(const std::string& key, const std::string& why);
  /// Whether the key's value is a text: for keys that may be written in two ways.
  [[nodiscard]] bool holds_text(const std::string& key) const;
  [[nodiscard]] bool recording() const noexcept { return problems_->records(); }
  /// Notes every key that nobody asked for.
  void finish();

 private:
  /// @return up to the first that is none, which is noted
  std::vector<double> finite_numbers(const nlohmann::json& array, const std::string& key);
  const nlohmann::json* find(const std::string& key, const std::string& expected, const char* about,
                             const KeyType& type);
  std::string text_of(const std::string& key, const std::string& expected, const char* about, const KeyType& type);
  static std::string shown(const nlohmann::json& value);
  const nlohmann::json* object_;
  std::string pointer_;
  Problems* problems_;
  std::set<std::string> taken_;
  std::set<std::string> optional_;
  std::map<std::string, const nlohmann::json*> defaults_;
};

}  // namespace undertone::config
