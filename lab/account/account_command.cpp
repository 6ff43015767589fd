#include "lab/account/account_command.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "shared/accounting/calibration.hpp"
#include "shared/config/json_section.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kFileBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kMechanismsMax = 10'000;
constexpr std::size_t kBlocksMax = 1000;
constexpr double kGap = 1e-4;

Result<Adjacency> parse_adjacency(const std::string& text) {
  if (text == "replace-one") return Adjacency::ReplaceOne;
  if (text == "add-remove") return Adjacency::AddRemove;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("adjacency: expected replace-one or add-remove, got \"{}\"", text)};
}

Result<accounting::CalibrationMethod> parse_method(const std::string& text) {
  using accounting::CalibrationMethod;
  for (const auto& [name, method] :
       {std::pair("numeric", CalibrationMethod::Numeric), std::pair("analytic", CalibrationMethod::Analytic),
        std::pair("classical", CalibrationMethod::Classical), std::pair("zcdp", CalibrationMethod::Zcdp),
        std::pair("rdp", CalibrationMethod::Renyi)}) {
    if (text == name) return method;
  }
  return Error{ErrorCode::InvalidArgument,
               fmt::format("method: expected numeric, analytic, classical, zcdp or rdp, got \"{}\"", text)};
}

MechanismText mechanism_of(config::Section section, config::Problems& problems, const std::string& pointer) {
  MechanismText out;
  const std::string name = section.text("mechanism", "what draws the noise");
  const Result<MechanismKind> kind = parse_mechanism(name);
  if (kind) {
    out.kind = *kind;
  } else if (!name.empty()) {
    problems.add(pointer + "/mechanism", kind.error().message);
  }
  const auto number = [&](const char* key, const char* about) -> std::optional<double> {
    if (!section.has(key)) return std::nullopt;
    return section.number(key, 0.0, 1e300, about);
  };
  out.sigma = number("sigma", "noise standard deviation");
  out.scale = number("scale", "of Laplace or generalised Gaussian noise");
  out.sensitivity = number("sensitivity", "under the declared adjacency");
  out.clip = number("clip", "norm of a record's contribution, instead of the sensitivity");
  out.epsilon = number("epsilon", "of one release");
  out.delta = number("delta", "of one release");
  out.rho = number("rho", "of one release");
  if (section.has("norm")) out.norm = section.number("norm", 2.0, 1e6, "p of a generalised Gaussian");
  if (section.has("blocks")) {
    for (config::Section& block : section.objects("blocks", 1, kBlocksMax, "parts released together")) {
      const auto part = [&](const char* key, const char* about) -> std::optional<double> {
        if (!block.has(key)) return std::nullopt;
        return block.number(key, 0.0, 1e300, about);
      };
      BlockText text;
      text.sigma = part("sigma", "noise standard deviation of the block");
      text.sensitivity = part("sensitivity", "of the block");
      text.clip = part("clip", "norm of a record's part of the block, instead of the sensitivity");
      block.finish();
      out.blocks.push_back(text);
    }
  }
  if (section.has("sampling")) out.sampling = section.text("sampling", "none, wor:RATE, wor:K/N, wr:K/N, poisson:RATE");
  if (section.has("steps"))
    out.steps = static_cast<std::uint64_t>(
        section.integer("steps", 1, static_cast<std::int64_t>(accounting::kComposedMax), "how many such releases"));
  if (section.has("reads_from")) out.reads.from = section.number("reads_from", 0.0, 1.0, "part of the permutation");
  if (section.has("reads_to")) out.reads.to = section.number("reads_to", 0.0, 1.0, "part of the permutation");
  section.finish();
  return out;
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const accounting::Account& account, double delta, const std::string& adjacency) {
  Json accountants = Json::object();
  for (const accounting::Reading& reading : account.readings) {
    Json entry = Json::object();
    entry["epsilon"] = reading.epsilon ? Json(reading.epsilon->upper) : Json(nullptr);
    if (reading.epsilon && reading.epsilon->lower > 0.0) entry["epsilon_lower"] = reading.epsilon->lower;
    entry["note"] = reading.note;
    accountants[reading.accountant] = std::move(entry);
  }
  return {{"epsilon", account.epsilon},
          {"epsilon_lower", account.epsilon_lower},
          {"epsilon_attained", number_or_null(account.epsilon_attained)},
          {"delta", delta},
          {"adjacency", adjacency},
          {"accountants", std::move(accountants)}};
}

void print(const accounting::Account& account, double delta, const std::string& adjacency) {
  fmt::print("epsilon {:.8g} at delta {:.4g}, {} (certified; what a ledger would be charged)\n", account.epsilon, delta,
             adjacency);
  for (const accounting::Reading& reading : account.readings) {
    if (!reading.epsilon) {
      fmt::print("  {:<22} {:>12}   {}\n", reading.accountant, "-", reading.note);
    } else if (reading.epsilon->lower > 0.0) {
      fmt::print("  {:<22} {:>12.8g}   at least {:.8g} for the same losses; {}\n", reading.accountant,
                 reading.epsilon->upper, reading.epsilon->lower, reading.note);
    } else {
      fmt::print("  {:<22} {:>12.8g}   {}\n", reading.accountant, reading.epsilon->upper, reading.note);
    }
  }
  if (account.epsilon_attained)
    fmt::print("some pair of neighbours reaches {:.8g}: no accountant can certify less\n", *account.epsilon_attained);
}

/// Pure releases need no delta: their epsilons add up.
std::optional<double> pure_total(const std::vector<accounting::RepeatedEvent>& events) {
  double total = 0.0;
  for (const accounting::RepeatedEvent& repeated : events) {
    std::optional<double> one;
    if (const auto* laplace = std::get_if<accounting::LaplaceEvent>(&repeated.event)) one = laplace->epsilon.value();
    if (const auto* selection = std::get_if<accounting::ExponentialEvent>(&repeated.event))
      one = selection->epsilon.value();
    const auto* other = std::get_if<accounting::ApproximateEvent>(&repeated.event);
    if (other != nullptr && other->delta == 0.0) one = other->epsilon.value();
    if (!one) return std::nullopt;
    total += *one * static_cast<double>(repeated.times);
  }
  return total * (1.0 + 1e-13);
}

/// This is what releases cost together. None of the accountants is asked where they are pure and no delta is given.
struct Composed {
  std::optional<double> pure;
  double delta = 0.0;
  accounting::Account account;
};

Result<Composed> compose(const std::vector<accounting::RepeatedEvent>& events, const AccountRequest& request) {
  if (!request.delta) {
    const std::optional<double> pure = pure_total(events);
    if (!pure) return Error{ErrorCode::InvalidArgument, "delta is missing: these releases are not pure"};
    return Composed{pure, 0.0, {}};
  }
  UNDERTONE_TRY(const releases::Delta delta, releases::Delta::create(*request.delta));
  UNDERTONE_TRY(accounting::Account account, accounting::account(events, delta, kGap));
  return Composed{std::nullopt, delta.value(), std::move(account)};
}

Json to_json(const Composed& composed, const std::string& adjacency) {
  if (!composed.pure) return to_json(composed.account, composed.delta, adjacency);
  Json out = {{"epsilon", *composed.pure}, {"epsilon_lower", 0.0}, {"delta", 0.0}, {"adjacency", adjacency}};
  out["accountants"] = {{"basic composition", {{"epsilon", *composed.pure}}}};
  return out;
}

void print(const Composed& composed, const std::string& adjacency) {
  if (composed.pure) {
    fmt::print("epsilon {:.8g} at delta 0, {}\n", *composed.pure, adjacency);
  } else {
    print(composed.account, composed.delta, adjacency);
  }
}

Result<double> calibrated_sigma(const AccountRequest& request, Adjacency adjacency) {
  const MechanismText& text = request.mechanism;
  if (text.kind != MechanismKind::Gaussian && text.kind != MechanismKind::DiscreteGaussian) {
    return Error{ErrorCode::InvalidArgument,
                 "a target epsilon: sigma is looked for with Gaussian noise; of Laplace noise the scale is "
                 "steps x sensitivity / epsilon"};
  }
  if (text.sigma) return Error{ErrorCode::InvalidArgument, "sigma and a target: expected one of them, got both"};
  UNDERTONE_TRY(const double sensitivity, sensitivity_of(text, adjacency));
  if (request.target_rho) {
    UNDERTONE_TRY(const accounting::Rho rho, accounting::Rho::create(*request.target_rho));
    return sensitivity * std::sqrt(0.5 * static_cast<double>(text.steps) / rho.value()) * (1.0 + 1e-15);
  }
  UNDERTONE_TRY(const releases::Epsilon epsilon, releases::Epsilon::create(*request.target_epsilon));
  if (!request.delta) return Error{ErrorCode::InvalidArgument, "delta is missing"};
  UNDERTONE_TRY(const releases::Delta delta, releases::Delta::create(*request.delta));
  Result<accounting::CalibrationMethod> method = parse_method(request.method);
  if (!method) return method.error();
  if (text.kind == MechanismKind::DiscreteGaussian) method = accounting::CalibrationMethod::Zcdp;
  UNDERTONE_TRY(const double multiplier,
                accounting::calibrate_gaussian(*method, text.steps, epsilon, delta,
                                               [&](double at) { return event_of(text, adjacency, sensitivity * at); }));
  return multiplier * sensitivity;
}

}  // namespace

Result<std::vector<MechanismText>> load_mechanisms(const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, kFileBytesMax));
  config::Problems problems(file.filename().string());
  return parse_mechanisms(document.root, problems);
}

Result<std::vector<MechanismText>> parse_mechanisms(const nlohmann::json& document, config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.account/1", 1}}, "the form of this file");
  std::vector<MechanismText> out;
  std::size_t i = 0;
  for (config::Section& section : root.objects("mechanisms", 1, kMechanismsMax, "releases to compose"))
    out.push_back(mechanism_of(section, problems, fmt::format("/mechanisms/{}", i++)));
  root.finish();
  if (!problems.none()) return problems.error();
  return out;
}

namespace {

/// A composition of mechanisms says this: the noise that was looked for, and what all of it costs.
struct Accounted {
  std::optional<double> sigma;  // the smallest for a target
  double multiplier = 0.0;      // the same over the sensitivity
  std::optional<Composed> cost;
};

Status check_target(const AccountRequest& request) {
  constexpr double kTargetMax = 1000.0;  // far beyond what a promise is worth anything at
  if (!request.target_epsilon || *request.target_epsilon <= kTargetMax) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("--epsilon: expected at most {}, got {}", kTargetMax, *request.target_epsilon)};
}

Result<Accounted> accounted(const AccountRequest& request) {
  UNDERTONE_TRY(const Adjacency adjacency, parse_adjacency(request.adjacency));
  std::vector<MechanismText> mechanisms = request.several;
  if (!request.file.empty()) {
    UNDERTONE_TRY(mechanisms, load_mechanisms(request.file));
  }
  const bool one = mechanisms.empty();
  if (!one && (request.target_epsilon || request.target_rho))
    return Error{ErrorCode::InvalidArgument,
                 "a target: expected one mechanism, whose sigma is looked for, got several"};
  if (one) mechanisms = {request.mechanism};
  Accounted out;
  if (one && (request.target_epsilon || request.target_rho)) {
    UNDERTONE_TRY(out.sigma, calibrated_sigma(request, adjacency));
    mechanisms.front().sigma = *out.sigma;
    out.multiplier = *out.sigma / *sensitivity_of(request.mechanism, adjacency);
    if (!request.delta) return out;  // a target rho says it all
  }
  std::vector<accounting::RepeatedEvent> events;
  for (std::size_t i = 0; i < mechanisms.size(); ++i) {
    Result<accounting::PrivacyEvent> event = event_of(mechanisms[i], adjacency);
    if (!event) {
      const std::string where = one ? "" : fmt::format("/mechanisms/{}: ", i);
      return Error{event.error().code, where + event.error().message};
    }
    events.push_back({*std::move(event), mechanisms[i].steps, mechanisms[i].reads});
  }
  UNDERTONE_TRY(out.cost, compose(events, request));
  return out;
}

Json to_json(const Accounted& found, const std::string& adjacency) {
  Json out = found.cost ? to_json(*found.cost, adjacency) : Json::object();
  if (found.sigma) {
    out["sigma"] = *found.sigma;
    out["noise_multiplier"] = found.multiplier;
  }
  return out;
}

}  // namespace

Result<std::string> account_of(const AccountRequest& request) {
  UNDERTONE_TRY(check_target(request));
  if (request.person) return person_account(request);
  if (request.shuffled) return shuffled_account(request);
  if (request.allocation) return allocation_account(request);
  UNDERTONE_TRY(const Accounted found, accounted(request));
  return to_json(found, request.adjacency).dump(2);
}

int run_account(const AccountRequest& request) {
  if (request.json) {
    const Result<std::string> found = account_of(request);
    if (!found) return service::fail(found.error());
    fmt::print("{}\n", *found);
    return service::kDone;
  }
  if (const Status sane = check_target(request); !sane) return service::fail(sane.error());
  if (request.person) return run_person(request);
  if (request.shuffled) return run_shuffled(request);
  if (request.allocation) return run_allocation(request);
  const Result<Accounted> found = accounted(request);
  if (!found) return service::fail(found.error());
  if (found->sigma)
    fmt::print("sigma {:.10g} ({:.6g} x the sensitivity) is the smallest\n", *found->sigma, found->multiplier);
  if (found->cost) print(*found->cost, request.adjacency);
  return service::kDone;
}

}  // namespace undertone::lab
