#include "shared/config/json_section.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "shared/base/files.hpp"
#include "shared/base/nearest_word.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::config {
namespace {

constexpr int kDepthMax = 16;
constexpr std::size_t kProblemsMax = 50;

/// Reads a document for its depth and its keys alone, and stops at what is not allowed or not JSON.
class DocumentCheck final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Why the document is not allowed; empty where it is, or is no JSON.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

  bool null() override { return is_shallow(); }
  bool boolean(bool /*value*/) override { return is_shallow(); }
  bool number_integer(number_integer_t /*value*/) override { return is_shallow(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return is_shallow(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return is_shallow(); }
  bool string(string_t& /*value*/) override { return is_shallow(); }
  bool binary(binary_t& /*value*/) override { return is_shallow(); }
  bool start_object(std::size_t /*elements*/) override {
    keys_.emplace_back();
    return begin();
  }
  bool key(string_t& value) override {
    if (!is_shallow()) return false;
    if (keys_.back().insert(value).second) return true;
    refusal_ = fmt::format("the key \"{}\" stands twice in one object", value);
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    --open_;
    return true;
  }
  bool start_array(std::size_t /*elements*/) override { return begin(); }
  bool end_array() override {
    --open_;
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  bool begin() {
    const bool shallow = is_shallow();
    ++open_;
    return shallow;
  }
  bool is_shallow() {
    if (open_ > kDepthMax) refusal_ = fmt::format("more than {} levels deep", kDepthMax);
    return open_ <= kDepthMax;
  }
  int open_ = 0;                             // objects and arrays
  std::vector<std::set<std::string>> keys_;  // of the open objects
  std::string refusal_;
};

const nlohmann::json& empty_object() {
  static const nlohmann::json empty = nlohmann::json::object();
  return empty;
}

/// The type of an array of so many.
KeyType entries(KeyType::Kind kind, std::size_t least, std::size_t most) {
  return {kind, 0.0, 0.0, false, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

/// "an array of 2 to 10000 different texts"
std::string expected_of(const TextCounts& counts) {
  std::string how_many;
  if (counts.most != TextCounts::kUnbounded) {
    how_many = fmt::format("{} to {} ", counts.least, counts.most);
  } else if (counts.least > 0) {
    how_many = fmt::format("at least {} ", counts.least);
  }
  return fmt::format("an array of {}{}{}", how_many, counts.distinct ? "different " : "",
                     counts.least == 1 && counts.most == TextCounts::kUnbounded ? "text" : "texts");
}

/// What the complaint of nlohmann's parser means where a comma is at fault; empty elsewhere.
std::string_view comma_hint(std::string_view what) {
  const auto says = [what](const char* part) { return what.find(part) != std::string_view::npos; };
  const bool other = says("unexpected '}'; expected ']'") || says("unexpected end of input");
  if (says("unexpected string literal; expected '}'") || (says("; expected ']'") && !other))
    return ": is a comma missing before it?";
  if (says("unexpected '}'; expected string literal") || says("unexpected ']'; expected '[', '{', or a literal"))
    return ": is there a comma too many before it?";
  return "";
}

}  // namespace

void Problems::add(const std::string& pointer, const std::string& problem) {
  if (recording_ || exploring_ || lines_.size() > kProblemsMax) return;
  if (lines_.size() == kProblemsMax) {
    lines_.push_back(file_ + ": and more");
    return;
  }
  lines_.push_back(plain_text(file_ + ": " + (pointer.empty() ? "/" : pointer) + ": " + problem));
}

std::size_t Problems::way(const Fork& fork) {
  const bool fresh = std::none_of(forks_.begin(), forks_.end(), [&](const Fork& other) {
    return other.pointer == fork.pointer && other.by == fork.by;
  });
  if (fresh) forks_.push_back(fork);
  const auto taken = ways_.find({fork.pointer, fork.by});
  return taken == ways_.end() ? 0 : taken->second;
}

struct Problems::Filled {
  std::deque<std::pair<std::string, nlohmann::json>> values;  // whose places in memory stay
};

const nlohmann::json& Problems::fill(const std::string& pointer, const nlohmann::json& value) {
  if (!filled_) filled_ = std::make_shared<Filled>();
  return filled_->values.emplace_back(pointer, value).second;
}

nlohmann::ordered_json Problems::completed(nlohmann::ordered_json document) const {
  if (!filled_) return document;
  for (const auto& [pointer, value] : filled_->values)
    document[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json(value);
  return document;
}

Error Problems::error() const {
  std::string all;
  for (const std::string& line : lines_) all += (all.empty() ? "" : "\n") + line;
  return {ErrorCode::InvalidConfig, all};
}

Result<JsonDocument> parse_json(std::string_view text, const std::string& file, std::size_t bytes_max) {
  using Json = nlohmann::json;
  constexpr std::size_t kRefusalMax = 500;  // bytes: of a number of a million digits, say
  if (text.size() > bytes_max) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} bytes, at most {} are read", file, text.size(), bytes_max)};
  }
  // A reader of its own, before a value is built: the parser's callback would look at all of an array again after each
  // object in it, and a mebibyte of empty ones took a minute and a half.
  DocumentCheck check;
  (void)Json::sax_parse(text, &check);
  if (!check.refusal().empty())
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}", file, plain_beginning(check.refusal(), kRefusalMax))};
  try {
    return JsonDocument{Json::parse(text)};
  } catch (const Json::exception& exception) {
    std::string_view what = exception.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (const std::size_t end = what.find("] "); what.starts_with('[') && end != std::string_view::npos)
      what.remove_prefix(end + 2);
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: not JSON: {}{}", file, plain_beginning(what, kRefusalMax), comma_hint(what))};
  }
}

Result<JsonDocument> load_json(const std::filesystem::path& file, std::size_t bytes_max) {
  UNDERTONE_TRY(const std::string text, read_file(file, bytes_max));
  return parse_json(text, file.string());
}

Section::Section(const nlohmann::json& value, std::string pointer, Problems& problems)
    : object_(&value), pointer_(std::move(pointer)), problems_(&problems) {
  if (!value.is_object()) {
    problems_->add(pointer_, "expected an object, got " + shown(value));
    object_ = &empty_object();
  }
}

std::string Section::shown(const nlohmann::json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return text;
}

bool Section::has(const std::string& key) {
  if (problems_->explores()) return problems_->way({pointer_ + "/" + key, Fork::By::Presence}) == 0;
  optional_.insert(key);
  return problems_->records() || object_->contains(key);
}

void Section::otherwise(const std::string& key, const nlohmann::json& value) {
  if (problems_->records() || problems_->explores()) {
    optional_.insert(key);
  } else if (object_ != &empty_object() && !object_->contains(key)) {
    defaults_.emplace(key, &problems_->fill(pointer_ + "/" + key, value));
  }
}

bool Section::holds_text(const std::string& key) const {
  if (problems_->explores()) return problems_->way({pointer_ + "/" + key, Fork::By::Text}) == 0;
  const auto found = object_->find(key);
  return found != object_->end() && found->is_string();
}

const nlohmann::json* Section::find(const std::string& key, const std::string& expected, const char* about,
                                    const KeyType& type) {
  if (problems_->records() || problems_->explores()) {
    if (taken_.insert(key).second)
      problems_->record({pointer_ + "/" + key, expected, optional_.contains(key), about, type});
    return nullptr;
  }
  taken_.insert(key);
  const auto found = object_->find(key);
  if (found == object_->end()) {
    if (const auto otherwise = defaults_.find(key); otherwise != defaults_.end()) return otherwise->second;
    if (object_ != &empty_object()) problem(key, "missing, expected " + expected);
    return nullptr;
  }
  return &*found;
}

std::string Section::text(const std::string& key, const char* about) {
  return text_of(key, "a text", about, {KeyType::Kind::Text});
}

std::string Section::text_of(const std::string& key, const std::string& expected, const char* about,
                             const KeyType& type) {
  const nlohmann::json* value = find(key, expected, about, type);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    problem(key, "expected " + expected + ", got " + shown(*value));
    return {};
  }
  auto out = value->get<std::string>();
  if (out.empty() || out.size() > kTextBytesMax) {
    problem(key, fmt::format("expected a text of 1 to {} bytes, got {}", kTextBytesMax, out.size()));
    return {};
  }
  if (!is_plain_text(out)) {  // it may stand in a log, on a terminal or in a privacy statement
    problem(key, "expected a text without control characters");
    return {};
  }
  return out;
}

std::size_t Section::one_of(const std::string& key, const std::vector<std::string_view>& texts, const char* about) {
  std::string expected;
  for (const std::string_view candidate : texts)
    expected += fmt::format("{}\"{}\"", expected.empty() ? "" : ", ", candidate);
  KeyType type{KeyType::Kind::Choice};
  type.choices.assign(texts.begin(), texts.end());
  const std::string found = text_of(key, (texts.size() == 1 ? "" : "one of ") + expected, about, type);
  if (problems_->explores() && texts.size() > 1)
    return problems_->way({pointer_ + "/" + key, Fork::By::Choice, type.choices});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (found == texts[i]) return i;
  }
  if (!found.empty()) problem(key, "expected one of " + expected + ", got \"" + found + "\"");
  return 0;
}

bool Section::boolean(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "true or false", about, {KeyType::Kind::Boolean});
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    problem(key, "expected true or false, got " + shown(*value));
    return false;
  }
  return value->get<bool>();
}

double Section::number(const std::string& key, double low, double high, const char* about, bool open_low) {
  const std::string expected = open_low ? fmt::format("a finite number > {} and at most {}", low, high)
                                        : fmt::format("a finite number from {} to {}", low, high);
  const nlohmann::json* value = find(key, expected, about, {KeyType::Kind::Number, low, high, open_low});
  if (value == nullptr) return high;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= low && number <= high) || (open_low && number == low)) {
    problem(key, fmt::format("expected {}, got {}", expected, shown(*value)));
    return high;
  }
  return number;
}

std::int64_t Section::integer(const std::string& key, std::int64_t low, std::int64_t high, const char* about) {
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  const nlohmann::json* value = find(key, expected, about, {KeyType::Kind::Integer, 0.0, 0.0, false, low, high});
  if (value == nullptr) return high;
  const bool fits = value->is_number_unsigned()
                        ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::max<std::int64_t>(high, 0))
                        : value->is_number_integer();
  const std::int64_t number = fits ? value->get<std::int64_t>() : low - 1;
  if (!fits || number < low || number > high) {
    problem(key, fmt::format("expected {}, got {}", expected, shown(*value)));
    return high;
  }
  return number;
}

std::vector<std::string> Section::texts(const std::string& key, const char* about, TextCounts counts) {
  const std::string expected = expected_of(counts);
  KeyType type = entries(KeyType::Kind::Texts, counts.least, counts.most);
  type.distinct = counts.distinct;
  const nlohmann::json* value = find(key, expected, about, type);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  if (!value->is_array() || value->size() < counts.least || value->size() > counts.most) {
    problem(key, fmt::format("expected {}, got {}", expected,
                             value->is_array() ? fmt::format("one of {}", value->size()) : shown(*value)));
    return out;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_string()) {
      problem(fmt::format("{}/{}", key, i), "expected a text, got " + shown((*value)[i]));
      continue;
    }
    out.push_back((*value)[i].get<std::string>());
    if (out.back().size() > kTextBytesMax || !is_plain_text(out.back()))
      problem(fmt::format("{}/{}", key, i), "expected a text without control characters");
    if (counts.distinct && !seen.insert(out.back()).second)
      problem(fmt::format("{}/{}", key, i),
              fmt::format("expected different texts, {} stands twice", shown((*value)[i])));
  }
  return out;
}

std::vector<double> Section::numbers(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "an array of numbers", about, {KeyType::Kind::Numbers});
  if (value == nullptr) return {};
  return finite_numbers(*value, key);
}

std::vector<double> Section::finite_numbers(const nlohmann::json& array, const std::string& key) {
  std::vector<double> out;
  if (!array.is_array()) {
    problem(key, "expected an array of numbers, got " + shown(array));
    return out;
  }
  out.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const nlohmann::json& one = array[i];
    if (one.is_number() && std::isfinite(one.get<double>())) {
      out.push_back(one.get<double>());
      continue;
    }
    problem(fmt::format("{}/{}", key, i), "expected a finite number, got " + shown(one));
    break;
  }
  return out;
}

std::vector<nlohmann::json> Section::scalars(const std::string& key, std::size_t least, std::size_t most,
                                             const char* about) {
  const std::string expected = fmt::format("an array of {} to {} numbers, texts or booleans", least, most);
  const nlohmann::json* value = find(key, expected, about, entries(KeyType::Kind::Scalars, least, most));
  if (value == nullptr) return {};
  if (!value->is_array() || value->size() < least || value->size() > most) {
    problem(key, fmt::format("expected {}, got {}", expected,
                             value->is_array() ? fmt::format("one of {}", value->size()) : shown(*value)));
    return {};
  }
  for (const nlohmann::json& one : *value) {
    if (one.is_primitive() && !one.is_null()) continue;
    problem(key, "expected numbers, texts or booleans, got " + shown(one));
    return {};
  }
  return {value->begin(), value->end()};
}

std::vector<std::vector<double>> Section::number_lists(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "an array of arrays of numbers", about, {KeyType::Kind::NumberLists});
  std::vector<std::vector<double>> out;
  if (value == nullptr) return out;
  if (!value->is_array()) {
    problem(key, "expected an array of arrays of numbers, got " + shown(*value));
    return out;
  }
  out.reserve(value->size());
  for (std::size_t i = 0; i < value->size(); ++i)
    out.push_back(finite_numbers((*value)[i], fmt::format("{}/{}", key, i)));
  return out;
}

void Section::refuse(const std::string& key, const std::string& why) {
  if (problems_->records() || problems_->explores() || !object_->contains(key)) return;
  taken_.insert(key);
  problem(key, why);
}

Section Section::object(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "an object", about, {KeyType::Kind::Object});
  return {value == nullptr ? empty_object() : *value, pointer_ + "/" + key, *problems_};
}

std::vector<Section> Section::objects(const std::string& key, std::size_t least, std::size_t most, const char* about) {
  const std::string expected = fmt::format("an array of {} to {} objects", least, most);
  const nlohmann::json* value = find(key, expected, about, entries(KeyType::Kind::Objects, least, most));
  std::vector<Section> out;
  if (problems_->records() || problems_->explores())
    out.emplace_back(empty_object(), fmt::format("{}/{}/*", pointer_, key), *problems_);
  if (value == nullptr) return out;
  if (!value->is_array() || value->size() < least || value->size() > most) {
    problem(key, fmt::format("expected {}, got {}", expected,
                             value->is_array() ? fmt::format("one of {}", value->size()) : shown(*value)));
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    out.emplace_back((*value)[i], fmt::format("{}/{}/{}", pointer_, key, i), *problems_);
  }
  return out;
}

void Section::finish() {
  if (!object_->is_object()) return;
  constexpr std::size_t kNamedMax = 8;  // unknown keys that a near one is looked for
  std::vector<std::string> missing;
  for (const std::set<std::string>* known : {&taken_, &optional_})
    for (const std::string& key : *known)
      if (!object_->contains(key)) missing.push_back(key);
  std::size_t unknown = 0;
  for (const auto& [key, value] : object_->items()) {
    if (taken_.contains(key)) continue;
    const std::string meant = ++unknown <= kNamedMax ? nearest_word(key, missing) : "";
    problem(key, meant.empty() ? "unknown key" : fmt::format("unknown key; do you mean \"{}\"?", meant));
  }
}

}  // namespace undertone::config
