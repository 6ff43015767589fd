#include "shared/config/json_section.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::config {
namespace {

constexpr int kDepthMax = 16;
constexpr std::size_t kTextMax = 4096;
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

}  // namespace

void Problems::add(const std::string& pointer, const std::string& problem) {
  if (recording_ || lines_.size() > kProblemsMax) return;
  if (lines_.size() == kProblemsMax) {
    lines_.push_back(file_ + ": and more");
    return;
  }
  lines_.push_back(plain_text(file_ + ": " + (pointer.empty() ? "/" : pointer) + ": " + problem));
}

Error Problems::error() const {
  std::string all;
  for (const std::string& line : lines_) all += (all.empty() ? "" : "\n") + line;
  return {ErrorCode::InvalidConfig, all};
}

Result<JsonDocument> parse_json(std::string_view text, const std::string& file, std::size_t bytes_max) {
  using Json = nlohmann::json;
  if (text.size() > bytes_max) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} bytes, at most {} are read", file, text.size(), bytes_max)};
  }
  // A reader of its own, before a value is built: the parser's callback would look at all of an array again after each
  // object in it, and a mebibyte of empty ones took a minute and a half.
  DocumentCheck check;
  (void)Json::sax_parse(text, &check);
  if (!check.refusal().empty())
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}", file, plain_text(check.refusal()))};
  try {
    return JsonDocument{Json::parse(text)};
  } catch (const Json::exception& exception) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: not JSON: {}", file, plain_text(exception.what()))};
  }
}

Result<JsonDocument> load_json(const std::filesystem::path& file, std::size_t bytes_max) {
  const Result<std::string> text = read_file(file, bytes_max);
  if (!text) return text.error();
  return parse_json(*text, file.string());
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
  if (!problems_->records()) return object_->contains(key);
  optional_.insert(key);
  return true;
}

bool Section::holds_text(const std::string& key) const {
  const auto found = object_->find(key);
  return found != object_->end() && found->is_string();
}

const nlohmann::json* Section::find(const std::string& key, const std::string& expected, const char* about) {
  if (problems_->records()) {
    if (taken_.insert(key).second) problems_->record({pointer_ + "/" + key, expected, optional_.contains(key), about});
    return nullptr;
  }
  taken_.insert(key);
  const auto found = object_->find(key);
  if (found == object_->end()) {
    if (object_ != &empty_object()) problem(key, "missing, expected " + expected);
    return nullptr;
  }
  return &*found;
}

std::string Section::text(const std::string& key, const char* about) { return text_of(key, "a text", about); }

std::string Section::text_of(const std::string& key, const std::string& expected, const char* about) {
  const nlohmann::json* value = find(key, expected, about);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    problem(key, "expected " + expected + ", got " + shown(*value));
    return {};
  }
  auto out = value->get<std::string>();
  if (out.empty() || out.size() > kTextMax) {
    problem(key, fmt::format("expected a text of 1 to {} bytes, got {}", kTextMax, out.size()));
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
  const std::string found = text_of(key, (texts.size() == 1 ? "" : "one of ") + expected, about);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (found == texts[i]) return i;
  }
  if (!found.empty()) problem(key, "expected one of " + expected + ", got \"" + found + "\"");
  return 0;
}

bool Section::boolean(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "true or false", about);
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
  const nlohmann::json* value = find(key, expected, about);
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
  const nlohmann::json* value = find(key, expected, about);
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

std::vector<std::string> Section::texts(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "an array of texts", about);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  if (!value->is_array()) {
    problem(key, "expected an array of texts, got " + shown(*value));
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_string()) {
      problem(fmt::format("{}/{}", key, i), "expected a text, got " + shown((*value)[i]));
      continue;
    }
    out.push_back((*value)[i].get<std::string>());
    if (out.back().size() > kTextMax || !is_plain_text(out.back()))
      problem(fmt::format("{}/{}", key, i), "expected a text without control characters");
  }
  return out;
}

std::vector<double> Section::numbers(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "an array of numbers", about);
  if (value == nullptr) return {};
  std::vector<double> out;
  if (!value->is_array()) {
    problem(key, "expected an array of numbers, got " + shown(*value));
    return out;
  }
  out.reserve(value->size());
  for (std::size_t i = 0; i < value->size(); ++i) {
    const nlohmann::json& one = (*value)[i];
    if (one.is_number() && std::isfinite(one.get<double>())) {
      out.push_back(one.get<double>());
      continue;
    }
    problem(fmt::format("{}/{}", key, i), "expected a finite number, got " + shown(one));
    break;
  }
  return out;
}

Section Section::object(const std::string& key, const char* about) {
  const nlohmann::json* value = find(key, "an object", about);
  return {value == nullptr ? empty_object() : *value, pointer_ + "/" + key, *problems_};
}

std::vector<Section> Section::objects(const std::string& key, std::size_t least, std::size_t most, const char* about) {
  const std::string expected = fmt::format("an array of {} to {} objects", least, most);
  const nlohmann::json* value = find(key, expected, about);
  std::vector<Section> out;
  if (problems_->records()) out.emplace_back(empty_object(), fmt::format("{}/{}/*", pointer_, key), *problems_);
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
  for (const auto& [key, value] : object_->items()) {
    if (!taken_.contains(key)) problem(key, "unknown key");
  }
}

}  // namespace undertone::config
