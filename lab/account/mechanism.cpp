#include "lab/account/mechanism.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::lab {
namespace {

using accounting::PrivacyEvent;

Error bad(const std::string& what) { return {ErrorCode::InvalidArgument, what}; }

Result<double> positive(const std::optional<double>& value, const char* name) {
  if (!value) return bad(fmt::format("{} is missing", name));
  if (!(std::isfinite(*value) && *value > 0.0))
    return bad(fmt::format("{} must be finite and > 0, got {}", name, *value));
  return *value;
}

template <class Quantity>
Result<Quantity> quantity(const std::optional<double>& value, const char* name) {
  UNDERTONE_TRY(const double checked, positive(value, name));
  return Quantity::create(checked);
}

/// How a batch is drawn, as "wor:0.01", "wor:10/1000", "wr:10/1000", "poisson:0.01" or "none".
struct Sampling {
  enum class Kind : std::uint8_t { None, Subset, KnownSubset, Multiset, Poisson } kind = Kind::None;
  double rate = 1.0;
  std::int64_t draws = 0;
  std::int64_t records = 0;
};

Result<double> parse_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return bad(fmt::format("expected a number, got \"{}\"", text));
  return value;
}

Result<Sampling> parse_sampling(const std::string& text) {
  const Error form = bad(fmt::format(
      "sampling: expected none, wor:RATE, wor:K/N, known:RATE, known:K/N, wr:K/N or poisson:RATE, got \"{}\"", text));
  if (text == "none") return Sampling{};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return form;
  const std::string kind = text.substr(0, colon);
  const std::string rest = text.substr(colon + 1);
  Sampling out;
  if (kind == "wor") {
    out.kind = Sampling::Kind::Subset;
  } else if (kind == "known") {
    out.kind = Sampling::Kind::KnownSubset;
  } else if (kind == "wr") {
    out.kind = Sampling::Kind::Multiset;
  } else if (kind == "poisson") {
    out.kind = Sampling::Kind::Poisson;
  } else {
    return form;
  }
  const std::size_t slash = rest.find('/');
  if (slash == std::string::npos) {
    const Result<double> rate = parse_number(rest);
    if (!rate || out.kind == Sampling::Kind::Multiset) return form;
    out.rate = *rate;
  } else {
    const Result<double> draws = parse_number(rest.substr(0, slash));
    const Result<double> records = parse_number(rest.substr(slash + 1));
    const auto whole = [](double value) { return value >= 1.0 && value < 1e15 && value == std::floor(value); };
    if (!draws || !records || !whole(*draws) || !whole(*records)) return form;
    out.draws = static_cast<std::int64_t>(*draws);
    out.records = static_cast<std::int64_t>(*records);
    out.rate = *draws / *records;
  }
  if (out.kind != Sampling::Kind::Multiset && !(out.rate > 0.0 && out.rate <= 1.0))
    return bad(fmt::format("sampling: the rate must be in (0, 1], got {}", out.rate));
  return out;
}

Result<PrivacyEvent> sampled_gaussian(const std::string& sampling, releases::GaussianShift shift, Adjacency adjacency) {
  UNDERTONE_TRY(const Sampling drawn, parse_sampling(sampling));
  switch (drawn.kind) {
    case Sampling::Kind::None:
      return PrivacyEvent(accounting::GaussianEvent{shift});
    case Sampling::Kind::Subset:
      if (adjacency != Adjacency::ReplaceOne)
        return bad("sampling: subsets of a fixed size are accounted under replace-one alone");
      return PrivacyEvent(accounting::SubsetGaussianEvent{drawn.rate, shift});
    case Sampling::Kind::KnownSubset:
      if (adjacency != Adjacency::ReplaceOne)
        return bad("sampling: subsets that are known are accounted under replace-one alone");
      return PrivacyEvent(accounting::KnownSubsetGaussianEvent{drawn.rate, shift});
    case Sampling::Kind::Multiset:
      if (adjacency != Adjacency::ReplaceOne)
        return bad("sampling: draws with replacement are accounted under replace-one alone");
      return PrivacyEvent(accounting::MultisetGaussianEvent{drawn.records, drawn.draws, shift});
    case Sampling::Kind::Poisson:
      // Under replace-one the profile of subsets with the same rate holds: spec privacy-core D.2.
      if (adjacency == Adjacency::ReplaceOne) return PrivacyEvent(accounting::SubsetGaussianEvent{drawn.rate, shift});
      return PrivacyEvent(accounting::PoissonGaussianEvent{drawn.rate, shift});
  }
  return bad("sampling");
}

Result<releases::GaussianShift> shift_of(double sensitivity, double sigma) {
  const double shift = sensitivity / sigma;
  if (!(shift > 1e-12 && shift < 1e4)) {
    return bad(fmt::format("sigma: sensitivity / sigma must be in (1e-12, 1e4), got {} / {}", sensitivity, sigma));
  }
  return releases::GaussianShift::create(shift);
}

Result<releases::GaussianShift> shift_of_blocks(const MechanismText& text, Adjacency adjacency) {
  if (text.sigma || text.sensitivity || text.clip)
    return bad("blocks and sigma, sensitivity or clip: expected one way or the other, got both");
  std::vector<releases::GaussianShift> shifts;
  for (const BlockText& block : text.blocks) {
    MechanismText part;
    part.sensitivity = block.sensitivity;
    part.clip = block.clip;
    const Result<double> sensitivity = sensitivity_of(part, adjacency);
    const Result<double> stddev = positive(block.sigma, "sigma of a block");
    if (!sensitivity) return sensitivity.error();
    if (!stddev) return stddev.error();
    UNDERTONE_TRY(const releases::GaussianShift shift, shift_of(*sensitivity, *stddev));
    shifts.push_back(shift);
  }
  return accounting::joint_shift(shifts);
}

}  // namespace

Result<MechanismKind> parse_mechanism(const std::string& name) {
  for (const auto& [known, kind] :
       {std::pair("gaussian", MechanismKind::Gaussian), std::pair("discrete-gaussian", MechanismKind::DiscreteGaussian),
        std::pair("laplace", MechanismKind::Laplace), std::pair("exponential", MechanismKind::Exponential),
        std::pair("randomised-response", MechanismKind::RandomisedResponse),
        std::pair("approximate", MechanismKind::Approximate),
        std::pair("generalised-gaussian", MechanismKind::GeneralisedGaussian),
        std::pair("zcdp", MechanismKind::Zcdp)}) {
    if (name == known) return kind;
  }
  return bad(fmt::format(
      "mechanism: expected gaussian, discrete-gaussian, laplace, exponential, randomised-response, approximate, "
      "generalised-gaussian or zcdp, got \"{}\"",
      name));
}

Result<double> sensitivity_of(const MechanismText& text, Adjacency adjacency) {
  if (text.clip && text.sensitivity) return bad("sensitivity and clip: expected one of them, got both");
  if (!text.clip) return positive(text.sensitivity, "sensitivity");
  UNDERTONE_TRY(const double clip, positive(text.clip, "clip"));
  return adjacency == Adjacency::ReplaceOne ? 2.0 * clip : clip;  // one vector leaves and another enters
}

Result<PrivacyEvent> event_of(const MechanismText& text, Adjacency adjacency, std::optional<double> sigma) {
  if (text.kind != MechanismKind::Gaussian && text.sampling != "none")
    return bad("sampling is accounted for Gaussian noise alone");
  if (text.kind != MechanismKind::Gaussian && !text.blocks.empty())
    return bad("blocks are accounted for Gaussian noise alone");
  switch (text.kind) {
    case MechanismKind::Gaussian: {
      if (!text.blocks.empty()) {
        UNDERTONE_TRY(const releases::GaussianShift joint, shift_of_blocks(text, adjacency));
        return sampled_gaussian(text.sampling, joint, adjacency);
      }
      const Result<double> sensitivity = sensitivity_of(text, adjacency);
      const Result<double> stddev = positive(sigma ? sigma : text.sigma, "sigma");
      if (!sensitivity) return sensitivity.error();
      if (!stddev) return stddev.error();
      UNDERTONE_TRY(const releases::GaussianShift shift, shift_of(*sensitivity, *stddev));
      return sampled_gaussian(text.sampling, shift, adjacency);
    }
    case MechanismKind::DiscreteGaussian: {
      const Result<double> sensitivity = sensitivity_of(text, adjacency);
      const Result<double> stddev = positive(sigma ? sigma : text.sigma, "sigma");
      if (!sensitivity) return sensitivity.error();
      if (!stddev) return stddev.error();
      if (*sensitivity != std::floor(*sensitivity))
        return bad(fmt::format("sensitivity: expected an integer for integers, got {}", *sensitivity));
      const double shift = *sensitivity / *stddev;
      const Result<accounting::Rho> rho = accounting::Rho::create(std::nextafter(0.5 * shift * shift, INFINITY));
      if (!rho) return bad(fmt::format("sigma: rho = (sensitivity / sigma)^2 / 2 is {}", 0.5 * shift * shift));
      return PrivacyEvent(accounting::ConcentratedEvent{*rho});
    }
    case MechanismKind::Laplace: {
      const Result<double> sensitivity = sensitivity_of(text, adjacency);
      const Result<double> scale = positive(text.scale, "scale");
      if (!sensitivity) return sensitivity.error();
      if (!scale) return scale.error();
      UNDERTONE_TRY(const auto epsilon, quantity<releases::Epsilon>(*sensitivity / *scale, "sensitivity / scale"));
      return PrivacyEvent(accounting::LaplaceEvent{epsilon});
    }
    case MechanismKind::Exponential:
    case MechanismKind::RandomisedResponse:
    case MechanismKind::Approximate: {
      UNDERTONE_TRY(const auto epsilon, quantity<releases::Epsilon>(text.epsilon, "epsilon of one release"));
      if (epsilon.value() > 500.0)
        return bad(fmt::format("epsilon of one release must be at most 500, got {}", epsilon.value()));
      if (text.kind == MechanismKind::Exponential) return PrivacyEvent(accounting::ExponentialEvent{epsilon});
      const double delta = text.kind == MechanismKind::Approximate ? text.delta.value_or(NAN) : 0.0;
      if (!(delta >= 0.0 && delta < 1.0))
        return bad(fmt::format("delta of one release must be in [0, 1), got {}", delta));
      return PrivacyEvent(accounting::ApproximateEvent{epsilon, delta});
    }
    case MechanismKind::GeneralisedGaussian: {
      const Result<double> sensitivity = sensitivity_of(text, adjacency);
      const Result<double> scale = positive(text.scale, "scale");
      if (!sensitivity) return sensitivity.error();
      if (!scale) return scale.error();
      UNDERTONE_TRY(const accounting::Rho rho, accounting::generalised_gaussian_rho(text.norm, *scale, *sensitivity));
      return PrivacyEvent(accounting::ConcentratedEvent{rho});
    }
    case MechanismKind::Zcdp: {
      UNDERTONE_TRY(const auto rho, quantity<accounting::Rho>(text.rho, "rho"));
      return PrivacyEvent(accounting::ConcentratedEvent{rho});
    }
  }
  return bad("mechanism");
}

}  // namespace undertone::lab
