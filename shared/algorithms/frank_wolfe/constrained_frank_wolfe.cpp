#include "shared/algorithms/frank_wolfe/constrained_frank_wolfe.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"
#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/config/section.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kConstrainedFrankWolfe = "constrained Frank-Wolfe";

geometry::LinearOracle parse_oracle(config::Section& section, const Problem& problem) {
  const auto harmless = [] {
    return geometry::LinearOracle::create(geometry::Domain::l2_ball(1.0).value(), 1).value();
  };
  if (section.has("vertices")) {
    const geometry::Vertices vertices =
        parse_vertices(section.object("vertices", "a polytope that the model lies in, which no domain names: listed"),
                       problem.dimension);
    if (section.recording() || vertices.dimension() != problem.dimension) return harmless();  // what is wrong is noted
    if (Status agrees = check_domain_of(vertices, problem.domain, kConstrainedFrankWolfe); !agrees)
      section.problem("vertices", agrees.error().message);
    return geometry::LinearOracle::over(vertices);
  }
  const Result<geometry::LinearOracle> made = geometry::LinearOracle::create(problem.domain, problem.dimension);
  if (made) return *made;
  section.problem("kind", made.error().message);
  return harmless();
}

}  // namespace

double frank_wolfe_risk_over(const ConstrainedFrankWolfeSettings& settings, double noise_variance) {
  UNDERTONE_CHECK(settings.curvature.has_value());
  return 2.0 * *settings.curvature / (number(settings.iterates) + 1.0) +
         std::sqrt(noise_variance) * settings.oracle.width();
}

std::string_view ConstrainedFrankWolfeSettings::name() const { return ConstrainedFrankWolfe::kName; }

std::string ConstrainedFrankWolfeSettings::source() const {
  return "private Frank-Wolfe over a convex set: Algorithm 5 of Talwar, Thakurta and Zhang 2014, with steps 2/(t+1)";
}

MethodNumbers ConstrainedFrankWolfeSettings::numbers() const {
  MethodNumbers out = {{"iterates", number(iterates)}, {"diameter", oracle.diameter()}, {"width", oracle.width()}};
  if (curvature) out.emplace_back("curvature", *curvature);
  return out;
}

Result<NoiseShifts> ConstrainedFrankWolfeSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Theorem B.1", facts);
  if (Status fits = conditions.some_rounds(extent().rounds); !fits) return fits.error();
  // 2L/(n sigma), sigma = sqrt(32 T) L ln(T/delta)/(eps n).
  const double log = std::log(number(iterates) / facts.delta);
  return NoiseShifts{{2.0 * facts.epsilon / (std::sqrt(32.0 * number(iterates)) * log)}, {}};
}

std::optional<RiskBound> ConstrainedFrankWolfeSettings::predicted_risk(releases::ClipNorm /*clip*/,
                                                                       double noise_variance,
                                                                       bool /*modulus_known*/) const {
  if (!curvature) return std::nullopt;
  // The step is no linear function of the mean, so that what a mean varies by beside the noise does not average out.
  return RiskBound{.bound = frank_wolfe_risk_over(*this, noise_variance),
                   .measure = "excess risk",
                   .source = "Frank-Wolfe, as in the proof of Theorem B.2",
                   .exact_means = true};
}

ParsedMethod ConstrainedFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const auto iterates = static_cast<std::uint64_t>(
      section.integer("iterates", 2, static_cast<std::int64_t>(releases::kRoundsMax) + 1,
                      "T: of T-1 steps 2/(t+1), each to a vertex or an extreme point of the domain"));
  return {ConstrainedFrankWolfeSettings{problem, parse_oracle(section, problem), iterates}, 1.0};
}

Result<std::unique_ptr<ConstrainedFrankWolfe>> ConstrainedFrankWolfe::create(
    const ConstrainedFrankWolfeSettings& settings) {
  const auto refuse = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kConstrainedFrankWolfe, std::move(what))};
  };
  if (settings.iterates < 2 || settings.iterates > FrankWolfeIterate::kIteratesMax)
    return refuse(fmt::format("from 2 to {} iterates, got {}", FrankWolfeIterate::kIteratesMax, settings.iterates));
  if (settings.oracle.dimension() != settings.problem.dimension)
    return refuse(fmt::format("a set of dimension {}, and a model of {} numbers", settings.oracle.dimension(),
                              settings.problem.dimension));
  if (!settings.problem.regulariser.is_smooth())
    return refuse(fmt::format("expected a smooth regulariser, got {}", settings.problem.regulariser.name()));
  return std::unique_ptr<ConstrainedFrankWolfe>(new ConstrainedFrankWolfe(settings));
}

planning::Schedule ConstrainedFrankWolfe::schedule(const ConstrainedFrankWolfeSettings& settings,
                                                   const GradientShape& shape) {
  return {{shape.gradient(settings.problem.dimension), settings.extent().rounds}};
}

Step ConstrainedFrankWolfe::current() const {
  return round_ < settings_.extent().rounds ? ask_gradient(round_, candidate()) : finished(candidate());
}

Result<Step> ConstrainedFrankWolfe::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kConstrainedFrankWolfe, round_, settings_.extent().rounds, settings_.problem, gathered);
      !told)
    return told.error();
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(candidate(), gradient);
  if (Status converges = check_converges(kConstrainedFrankWolfe, round_, settings_.problem, gradient); !converges)
    return converges.error();
  Eigen::VectorXd extreme(point_.size());
  settings_.oracle.minimise(gradient, extreme);
  point_ += FrankWolfeIterate::step_size(round_ + 1) * (extreme - point_);
  ++round_;
  return current();
}

Eigen::VectorXd ConstrainedFrankWolfe::candidate() const {
  Eigen::VectorXd out = point_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void ConstrainedFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&point_});
}

Status ConstrainedFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  return restore_vectors(state, {&point_});
}

}  // namespace undertone::algorithms
