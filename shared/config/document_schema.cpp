#include "shared/config/document_schema.hpp"

#include <algorithm>
#include <optional>

#include "shared/base/result.hpp"

namespace undertone::config {
namespace {

using Json = nlohmann::ordered_json;
using Kind = KeyType::Kind;

std::string parent_of(const std::string& pointer) { return pointer.substr(0, pointer.rfind('/')); }
std::string name_of(const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); }
bool is_below(const std::string& pointer, const std::string& above) { return pointer.starts_with(above + "/"); }

/// What a parser asks for on one way through its forks.
struct Seen {
  std::vector<ConfigKey> keys;
  std::vector<Fork> forks;

  [[nodiscard]] const ConfigKey* key(const std::string& pointer) const {
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& one) { return one.pointer == pointer; });
    return found == keys.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool asks_whether(const std::string& pointer) const {
    return std::any_of(forks.begin(), forks.end(),
                       [&](const Fork& fork) { return fork.by == Fork::By::Presence && fork.pointer == pointer; });
  }
};

/// The keys of an object: a leaf, which has them with their schemas, or a fork of which each way has some.
struct Node {
  struct Key {
    std::string name;
    Json schema;
    bool required = false;
  };
  std::optional<Fork> fork = {};
  std::vector<Node> ways = {};
  std::vector<Key> keys = {};  // of a leaf
};

void leaves_of(const Node& node, std::vector<const Node*>& out) {
  if (!node.fork) out.push_back(&node);
  for (const Node& way : node.ways) leaves_of(way, out);
}

std::vector<const Node*> leaves_of(const Node& node) {
  std::vector<const Node*> out;
  leaves_of(node, out);
  return out;
}

const Node::Key* key_of(const Node& leaf, const std::string& name) {
  const auto found =
      std::find_if(leaf.keys.begin(), leaf.keys.end(), [&](const auto& key) { return key.name == name; });
  return found == leaf.keys.end() ? nullptr : &*found;
}

/// What has been said of an object's keys so far, on the way from its root to a node.
struct Said {
  std::set<std::string> required;
  std::set<std::string> forbidden;
  std::set<std::string> settled;  // whose schema is known
};

/// The different schemas that the leaves have for a key.
std::vector<Json> schemas_of(const std::vector<const Node*>& leaves, const std::string& name) {
  std::vector<Json> out;
  for (const Node* leaf : leaves) {
    const Node::Key* key = key_of(*leaf, name);
    if (key != nullptr && std::find(out.begin(), out.end(), key->schema) == out.end()) out.push_back(key->schema);
  }
  return out;
}

/// What a key means, whatever it may hold.
Json description_of(const Json& schema) {
  const auto about = schema.find("description");
  return about == schema.end() ? Json::object() : Json{{"description", *about}};
}

/// The condition under which a fork goes one of some ways.
Json condition_of(const Fork& fork, const std::vector<std::string>& choices) {
  const std::string name = name_of(fork.pointer);
  if (fork.by == Fork::By::Presence) return {{"required", {name}}};
  if (fork.by == Fork::By::Text) return {{"properties", {{name, {{"type", "string"}}}}}, {"required", {name}}};
  Json wanted = choices.size() == 1 ? Json{{"const", choices.front()}} : Json{{"enum", choices}};
  return {{"properties", {{name, std::move(wanted)}}}, {"required", {name}}};
}

class Explorer {
 public:
  explicit Explorer(const std::function<void(Problems&)>& parse) : parse_(&parse) {
    Problems all = Problems::recording();
    parse(all);
    documented_ = all.keys();
  }

  /// The schema of the object at a pointer, whichever way the forks around it went.
  [[nodiscard]] Json object(const std::string& pointer, const Ways& ways) {
    const Node root = node(pointer, ways);
    const std::vector<const Node*> leaves = leaves_of(root);
    const std::vector<std::string> names = names_of(pointer, leaves);
    Said said;
    Json properties = Json::object();
    for (const std::string& name : names) {
      const std::vector<Json> schemas = schemas_of(leaves, name);
      if (schemas.size() == 1) said.settled.insert(name);
      properties[name] = schemas.front();
      if (schemas.size() > 1) properties[name] = description_of(schemas.front());  // the rest stands beside each way
    }
    Json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    out.update(rules(root, names, said));
    return out;
  }

 private:
  const Seen& seen(const Ways& ways) {
    const auto [found, fresh] = seen_.try_emplace(ways);
    if (!fresh) return found->second;
    Problems problems = Problems::exploring(ways);
    (*parse_)(problems);
    found->second = {problems.keys(), problems.forks()};
    return found->second;
  }

  /// Whether a key that is asked for is missed where it is not there.
  bool is_required(const Ways& ways, const std::string& pointer) {
    const ConfigKey* asked_for = seen(ways).key(pointer);
    if (asked_for != nullptr && asked_for->optional) return false;  // it has a default
    if (!seen(ways).asks_whether(pointer)) return true;
    Ways without = ways;
    without[{pointer, Fork::By::Presence}] = 1;
    return seen(without).key(pointer) != nullptr;
  }

  /// What is asked for in an object and below it, but for a fork's key and what is below that. Of the whole document
  /// only its own keys: a section that another one changes is not written down again for each way, see `leaf`.
  std::set<std::string> asked(const Ways& ways, const std::string& pointer, const Fork& fork) {
    const Seen& here = seen(ways);
    std::set<std::string> out;
    const auto counts = [&](const std::string& at) {
      if (pointer.empty() ? !parent_of(at).empty() : !is_below(at, pointer)) return false;
      return fork.by != Fork::By::Presence || (at != fork.pointer && !is_below(at, fork.pointer));
    };
    for (const ConfigKey& key : here.keys) {
      if (counts(key.pointer))
        out.insert(
            fmt::format("{} {} {}", key.pointer, static_cast<int>(key.type.kind), is_required(ways, key.pointer)));
    }
    for (const Fork& other : here.forks)
      if (counts(other.pointer)) out.insert(fmt::format("{} fork {}", other.pointer, static_cast<int>(other.by)));
    return out;
  }

  Node node(const std::string& pointer, const Ways& ways) {
    for (const Fork& fork : std::vector<Fork>(seen(ways).forks)) {
      if (parent_of(fork.pointer) != pointer || ways.contains({fork.pointer, fork.by})) continue;
      std::vector<Ways> taken;
      std::set<std::set<std::string>> outcomes;
      for (std::size_t way = 0; way < fork.ways(); ++way) {
        taken.push_back(ways);
        taken.back()[{fork.pointer, fork.by}] = way;
        outcomes.insert(asked(taken.back(), pointer, fork));
      }
      if (outcomes.size() == 1) continue;
      Node out;
      out.fork = fork;
      for (const Ways& way : taken) out.ways.push_back(node(pointer, way));
      return out;
    }
    return leaf(pointer, ways);
  }

  /// The keys of an object where its own forks make no more difference. Those elsewhere in the document may: a key that
  /// is not asked for whatever they are is optional.
  Node leaf(const std::string& pointer, const Ways& ways) {
    Node out;
    const Seen here = seen(ways);
    for (const ConfigKey& key : here.keys) {
      if (parent_of(key.pointer) == pointer)
        out.keys.push_back({name_of(key.pointer), schema_of(key, ways), is_required(ways, key.pointer)});
    }
    for (const Fork& fork : here.forks) {
      if (is_below(fork.pointer, pointer) || ways.contains({fork.pointer, fork.by})) continue;
      for (std::size_t way = 1; way < fork.ways(); ++way) {
        Ways elsewhere = ways;
        elsewhere[{fork.pointer, fork.by}] = way;
        merge(pointer, elsewhere, out);
      }
    }
    return out;
  }

  void merge(const std::string& pointer, const Ways& ways, Node& leaf) {
    const Seen there = seen(ways);
    const bool is_asked = std::any_of(there.keys.begin(), there.keys.end(),
                                      [&](const ConfigKey& key) { return parent_of(key.pointer) == pointer; });
    if (!is_asked) return;
    for (Node::Key& key : leaf.keys) {
      const std::string at = pointer + "/" + key.name;
      key.required = key.required && there.key(at) != nullptr && is_required(ways, at);
    }
    for (const ConfigKey& key : there.keys) {
      if (parent_of(key.pointer) == pointer && key_of(leaf, name_of(key.pointer)) == nullptr)
        leaf.keys.push_back({name_of(key.pointer), schema_of(key, ways), false});
    }
  }

  /// Of all leaves, as the reference has them.
  [[nodiscard]] std::vector<std::string> names_of(const std::string& pointer, const std::vector<const Node*>& leaves) {
    std::vector<std::string> out;
    const auto add = [&](const std::string& name) {
      const auto has = [&](const Node* leaf) { return key_of(*leaf, name) != nullptr; };
      if (std::find(out.begin(), out.end(), name) == out.end() && std::any_of(leaves.begin(), leaves.end(), has))
        out.push_back(name);
    };
    for (const ConfigKey& documented : documented_)
      if (parent_of(documented.pointer) == pointer) add(name_of(documented.pointer));
    for (const Node* leaf : leaves)
      for (const Node::Key& key : leaf->keys) add(key.name);
    return out;
  }

  /// What holds at a node beyond what has been said: "required", "properties" and, of its fork's ways, "allOf".
  Json rules(const Node& node, const std::vector<std::string>& names, Said said) {
    const std::vector<const Node*> leaves = leaves_of(node);
    Json required = Json::array();
    Json properties = Json::object();
    for (const std::string& name : names) {
      const auto requires_it = [&](const Node* leaf) {
        const Node::Key* key = key_of(*leaf, name);
        return key != nullptr && key->required;
      };
      const auto has = [&](const Node* leaf) { return key_of(*leaf, name) != nullptr; };
      if (std::all_of(leaves.begin(), leaves.end(), requires_it) && said.required.insert(name).second)
        required.push_back(name);
      if (std::none_of(leaves.begin(), leaves.end(), has) && said.forbidden.insert(name).second)
        properties[name] = false;
      if (said.settled.contains(name)) continue;
      const std::vector<Json> schemas = schemas_of(leaves, name);
      if (schemas.size() == 1 && said.settled.insert(name).second) properties[name] = schemas.front();
    }
    Json out = Json::object();
    if (!required.empty()) out["required"] = std::move(required);
    if (!properties.empty()) out["properties"] = std::move(properties);
    if (!node.fork) return out;
    Json branches = by_ways(node, names, said);
    if (!branches.empty()) out["allOf"] = std::move(branches);
    return out;
  }

  /// "if" and "then" for the ways of a node's fork; those that say the same as one.
  Json by_ways(const Node& node, const std::vector<std::string>& names, const Said& said) {
    const Fork& fork = *node.fork;
    if (fork.by != Fork::By::Choice) {
      Said without = said;  // a key that is absent need not be forbidden
      if (fork.by == Fork::By::Presence) without.forbidden.insert(name_of(fork.pointer));
      const Json then = rules(node.ways[0], names, said);
      const Json otherwise = rules(node.ways[1], names, without);
      if (then.empty() && otherwise.empty()) return Json::array();
      Json out = {{"if", condition_of(fork, {})}};
      if (!then.empty()) out["then"] = then;
      if (!otherwise.empty()) out["else"] = otherwise;
      return Json::array({std::move(out)});
    }
    const std::vector<std::string>& choices = fork.choices;
    std::vector<std::pair<Json, std::vector<std::string>>> groups;
    for (std::size_t way = 0; way < fork.ways(); ++way) {
      Json then = rules(node.ways[way], names, said);
      const auto alike = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == then; });
      if (alike != groups.end()) {
        alike->second.push_back(choices[way]);
      } else {
        groups.emplace_back(std::move(then), std::vector<std::string>{choices[way]});
      }
    }
    Json out = Json::array();
    for (const auto& [then, which] : groups)
      if (!then.empty()) out.push_back({{"if", condition_of(fork, which)}, {"then", then}});
    return out;
  }

  /// A bound that is made of another key's value is that of no value while the parser is explored: where the reference
  /// has a wider one, that holds.
  [[nodiscard]] KeyType type_of(const ConfigKey& key) const {
    KeyType out = key.type;
    for (const ConfigKey& documented : documented_) {
      const KeyType& type = documented.type;
      if (documented.pointer != key.pointer || type.kind != out.kind) continue;
      if (type.low <= out.low) out.open_low = type.open_low && (type.low < out.low || out.open_low);
      out.low = std::min(out.low, type.low);
      out.high = std::max(out.high, type.high);
      out.least = std::min(out.least, type.least);
      out.most = std::max(out.most, type.most);
      out.distinct = out.distinct && type.distinct;
    }
    return out;
  }

  /// As the reference says it, of whatever kind the value is.
  [[nodiscard]] std::string about_of(const ConfigKey& key) const {
    const auto found = std::find_if(documented_.begin(), documented_.end(),
                                    [&](const ConfigKey& documented) { return documented.pointer == key.pointer; });
    return found == documented_.end() ? key.about : found->about;
  }

  Json schema_of(const ConfigKey& key, const Ways& ways) {
    const KeyType type = type_of(key);
    Json out = Json::object();
    switch (type.kind) {
      case Kind::Text:
        out["$ref"] = "#/$defs/text";
        break;
      case Kind::Choice:
        out = type.choices.size() == 1 ? Json{{"const", type.choices.front()}} : Json{{"enum", type.choices}};
        break;
      case Kind::Boolean:
        out["type"] = "boolean";
        break;
      case Kind::Number:
        out["type"] = "number";
        out[type.open_low ? "exclusiveMinimum" : "minimum"] = type.low;
        out["maximum"] = type.high;
        break;
      case Kind::Integer:
        out = {{"type", "integer"}, {"minimum", type.least}, {"maximum", type.most}};
        break;
      case Kind::Texts:
        out["type"] = "array";
        if (type.least > 0) out["minItems"] = type.least;
        if (static_cast<std::size_t>(type.most) < TextCounts::kUnbounded) out["maxItems"] = type.most;
        if (type.distinct) out["uniqueItems"] = true;
        out["items"] = {{"$ref", "#/$defs/entry"}};
        break;
      case Kind::Numbers:
        out = {{"type", "array"}, {"items", {{"type", "number"}}}};
        break;
      case Kind::NumberLists:
        out = {{"type", "array"}, {"items", {{"type", "array"}, {"items", {{"type", "number"}}}}}};
        break;
      case Kind::Scalars:
        out = {{"type", "array"},
               {"minItems", type.least},
               {"maxItems", type.most},
               {"items", {{"type", {"number", "string", "boolean"}}}}};
        break;
      case Kind::Object:
        out = object(key.pointer, ways);
        break;
      case Kind::Objects:
        out = {{"type", "array"},
               {"minItems", type.least},
               {"maxItems", type.most},
               {"items", object(key.pointer + "/*", ways)}};
        break;
    }
    const std::string about = about_of(key);
    if (about.empty()) return out;
    Json described = {{"description", about}};
    described.update(out);
    return described;
  }

  const std::function<void(Problems&)>* parse_;
  std::vector<ConfigKey> documented_;
  std::map<Ways, Seen> seen_;
};

}  // namespace

DocumentSchema document_schema(const std::function<void(Problems&)>& parse, const std::string& title,
                               const std::string& about) {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}, {"description", about}};
  out.update(Explorer(parse).object("", {}));
  // A text has no more characters than bytes. As base/plain_text.hpp: no control characters, nothing that changes the
  // direction of writing or has no width.
  const std::string plain =
      "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]*$";
  out["$defs"] = {{"text", {{"type", "string"}, {"minLength", 1}, {"maxLength", kTextBytesMax}, {"pattern", plain}}},
                  {"entry", {{"type", "string"}, {"maxLength", kTextBytesMax}, {"pattern", plain}}}};
  return {std::move(out)};
}

}  // namespace undertone::config
