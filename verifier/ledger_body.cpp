#include "verifier/ledger_body.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "verifier/ledger_texts.hpp"

namespace undertone::verifier {
namespace {

/// Accepts one object whose values are all texts and whose keys differ, which is all that the format uses: a document
/// that two parsers could read in two ways is refused, and nesting never grows a stack.
class FlatObjectReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Fields fields;
  std::string why;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a number"); }
  bool number_unsigned(number_unsigned_t) override { return refuse("a number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a number"); }
  bool binary(binary_t&) override { return refuse("binary"); }
  bool start_array(std::size_t) override { return refuse("an array"); }
  bool end_array() override { return refuse("an array"); }
  bool end_object() override { return true; }
  bool start_object(std::size_t) override { return std::exchange(inside_, true) ? refuse("an object") : true; }
  bool string(string_t& value) override {
    if (!inside_) return refuse("a text alone");
    fields[key_] = value;
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    if (!fields.contains(key_)) return true;
    why = fmt::format("the key {} twice", printable(key_));
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    why = printable(error.what());
    return false;
  }

 private:
  bool refuse(std::string_view found) {
    why = inside_ ? fmt::format("{} at key {}", found, printable(key_)) : std::string(found);
    return false;
  }
  bool inside_ = false;
  std::string key_;
};

/// Entries may say when they were made; the head file says nothing of the kind.
bool keys_may_have_time(const Keys& keys) { return !keys.empty() && keys.front() == "kind"; }

/// Reservations may say which plan was charged and what was sampled in a block.
bool are_of_reservation(const Keys& keys) { return std::find(keys.begin(), keys.end(), "training") != keys.end(); }

/// Opening entries may have a nonce, by which ledgers differ that are alike in all else.
bool are_of_opening(const Keys& keys) { return std::find(keys.begin(), keys.end(), "public_key") != keys.end(); }

/// Releases may say that what was drawn was added up in a secret order.
bool are_of_release(const Keys& keys) { return std::find(keys.begin(), keys.end(), "reply") != keys.end(); }

/// YYYY-MM-DDTHH:MM:SSZ with every part in its range.
bool is_time(const std::string& value) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  if (value.size() != kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = value[i] >= '0' && value[i] <= '9';
    if (kPattern[i] == 'd' ? !digit : value[i] != kPattern[i]) return false;
  }
  const auto part = [&value](std::size_t at) { return 10 * (value[at] - '0') + (value[at + 1] - '0'); };
  return part(5) >= 1 && part(5) <= 12 && part(8) >= 1 && part(8) <= 31 && part(11) <= 23 && part(14) <= 59 &&
         part(17) <= 60;
}

/// What the value of a key has to look like, whatever the kind of entry; empty if it does.
std::string misfit(std::string_view key, const std::string& value, Format format) {
  static const std::set<std::string_view> amounts = {"epsilon", "delta", "mechanism_delta", "shift_squared"};
  static const std::set<std::string_view> costs = {"training", "holdout", "cost"};
  static const std::set<std::string_view> indexes = {"round", "sequence"};
  // In bytes, 0 for any but none.
  static const std::map<std::string_view, std::size_t> hex = {{"run", kRunBytes},
                                                              {"reply", kHashBytes},
                                                              {"public_key", kHashBytes},
                                                              {"previous", kHashBytes},
                                                              {"signature", kSignatureBytes},
                                                              {"digest", kHashBytes},
                                                              {"public_holdout", kHashBytes},
                                                              {"public_records", kHashBytes},
                                                              {"query", kHashBytes},
                                                              {"body", 0}};
  static const std::map<std::string_view, std::vector<std::string_view>> choices = {
      {"noise", {"secure", "test"}}, {"block", {"training", "holdout", "public"}}};
  if (amounts.contains(key)) return parse_amount(value) ? "" : "a decimal integer below 2^128";
  if (costs.contains(key)) {
    // A run of the first format may go on in a ledger of the second.
    if (parse_cost(value, format) || (key == "cost" && parse_cost(value, Format::One))) return "";
    return format == Format::One ? "a decimal integer below 2^128" : "costs like gaussian:123 or pure:5+ranged:7";
  }
  if (indexes.contains(key)) return parse_index(value) ? "" : "a decimal integer below 2^63";
  if (const auto size = hex.find(key); size != hex.end()) {
    if (from_hex(value, size->second)) return "";
    return size->second == 0 ? "lower-case hex" : fmt::format("{} bytes of lower-case hex", size->second);
  }
  if (const auto choice = choices.find(key); choice != choices.end()) {
    const std::vector<std::string_view>& words = choice->second;
    return std::find(words.begin(), words.end(), value) != words.end()
               ? ""
               : fmt::format("\"{}\"", fmt::join(words, "\" or \""));
  }
  return value.empty() ? "a text" : "";
}

}  // namespace

std::optional<Fields> parse_fields(std::string_view text, const std::string& where, Problems& problems) {
  FlatObjectReader reader;
  // The library takes a zero byte for the end of its input, so what comes after one would go unread.
  if (text.find('\0') != text.npos) {
    reader.why = "a zero byte";
  } else if (text.starts_with("\xef\xbb\xbf")) {  // the library skips it, JSON has none
    reader.why = "a byte order mark";
  } else if (nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return std::move(reader.fields);
  }
  problems.add("{}: expected a JSON object of texts, found {}", where, reader.why);
  return std::nullopt;
}

bool has_exactly(const Fields& fields, const Keys& keys, Format format, const std::string& where, Problems& problems) {
  bool good = true;
  for (const std::string_view key : keys) {
    const auto field = fields.find(std::string(key));
    const std::string expected = misfit(key, field == fields.end() ? "" : field->second, format);
    if (expected.empty()) continue;
    const std::string found = field == fields.end() ? "no such key" : printable(field->second);
    problems.add("{}: {}: expected {}, found {}", where, key, expected, found);
    good = false;
  }
  for (const auto& [key, value] : fields) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    if (keys_may_have_time(keys) && key == "at") {
      if (is_time(value)) continue;
      problems.add("{}: at: expected a time like 2026-11-21T09:09:03Z, found {}", where, printable(value));
      good = false;
      continue;
    }
    if (are_of_reservation(keys) && (key == "training_releases" || key == "holdout_releases")) {
      if (parse_release_groups(value, format)) continue;
      problems.add("{}: {}: expected groups like {}123*10@5/50 with commas between, found {}", where, key,
                   format == Format::One ? "" : "gaussian:", printable(value));
      good = false;
      continue;
    }
    if (are_of_reservation(keys) && key == "plan") {
      if (from_hex(value, kHashBytes)) continue;
      problems.add("{}: plan: expected {} bytes of lower-case hex, found {}", where, kHashBytes, printable(value));
      good = false;
      continue;
    }
    if (are_of_opening(keys) && key == "public_records") {
      const std::string expected = misfit(key, value, format);
      if (expected.empty() && value != std::string(2 * kHashBytes, '0')) continue;
      problems.add("{}: public_records: expected {} bytes of lower-case hex, not all 0, found {}", where, kHashBytes,
                   printable(value));
      good = false;
      continue;
    }
    if (are_of_opening(keys) && key == "persons") {
      if (from_hex(value, kHashBytes)) continue;
      problems.add("{}: persons: expected {} bytes of lower-case hex, found {}", where, kHashBytes, printable(value));
      good = false;
      continue;
    }
    if (are_of_opening(keys) && key == "unit") {
      if (value == "person" || value == "sensitive_attribute") continue;
      problems.add("{}: unit: expected \"person\" or \"sensitive_attribute\", found {}", where, printable(value));
      good = false;
      continue;
    }
    if (are_of_opening(keys) && key == "nonce") {
      constexpr std::size_t kNonceBytes = 16;
      if (from_hex(value, kNonceBytes)) continue;
      problems.add("{}: nonce: expected {} bytes of lower-case hex, found {}", where, kNonceBytes, printable(value));
      good = false;
      continue;
    }
    if (are_of_release(keys) && key == "order") {
      if (value == "secret") continue;
      problems.add("{}: order: expected \"secret\", found {}", where, printable(value));
      good = false;
      continue;
    }
    if (are_of_reservation(keys) && key == "shuffled") {
      if (parse_shuffled(value)) continue;
      problems.add("{}: shuffled: expected like binomial:3:123456 or reports:3:123456:789:1011, found {}", where,
                   printable(value));
      good = false;
      continue;
    }
    problems.add("{}: expected no further key, found {}", where, printable(key));
    good = false;
  }
  return good;
}

bool is_well_formed(const Fields& fields, Format format, const std::string& where, Problems& problems) {
  static const std::map<std::string, Keys> kinds = {
      {"opened", {"kind", "format", "dataset", "digest", "public_holdout", "public_key", "noise"}},
      {"upgraded", {"kind", "format"}},
      {"reserved", {"kind", "run", "epsilon", "delta", "mechanism_delta", "training", "holdout"}},
      {"accepted", {"kind", "run", "epsilon", "delta", "mechanism_delta", "training", "holdout"}},
      {"filtered", {"kind", "epsilon", "delta", "mechanism_delta", "shift_squared"}},
      {"released", {"kind", "run", "round", "block", "cost", "query", "reply"}},
      {"ended", {"kind", "run"}},
      {"returned", {"kind", "run"}},
      {"amended", {"kind", "digest", "public_holdout"}}};
  const auto field = fields.find("kind");
  const auto kind = field == fields.end() ? kinds.end() : kinds.find(field->second);
  if (kind != kinds.end()) return has_exactly(fields, kind->second, format, where, problems);
  const std::string found = field == fields.end() ? "none" : printable(field->second);
  problems.add("{}: expected a kind that the format has, found {}", where, found);
  return false;
}

}  // namespace undertone::verifier
