#include "shared/jobs/initial_section.hpp"

#include <bit>

#include "shared/base/random_source.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kScaleMax = 1e6;
// An algorithm may have the same seed for its own public choices, which must not depend on where it starts.
constexpr std::uint64_t kStartStream = 0x7374617274732061;

Eigen::VectorXd uniform(std::uint64_t seed, double scale, Eigen::Index dimension) {
  RandomSource random(seed ^ kStartStream);
  Eigen::VectorXd point(dimension);
  for (double& number : point) number = scale * (2.0 * random.unit() - 1.0);
  return point;
}

/// The section's weights, if their digest is the one beside them; else that is noted.
Eigen::VectorXd parse_weights(config::Section& section, Initial& initial) {
  const std::vector<double> values =
      section.numbers("values", "of weights: one for each number of the model, in the order of a model.json");
  const std::string said = section.text("sha256", "of weights: of the values as little-endian doubles");
  if (section.recording()) return {};
  Eigen::VectorXd weights = Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  initial.sha256 = digest_of_weights(weights);
  if (said != to_hex(initial.sha256)) {
    section.problem("sha256",
                    fmt::format("expected {}, of the values beside it, got \"{}\"", to_hex(initial.sha256), said));
    return {};
  }
  return weights;
}

}  // namespace

Initial parse_initial(config::Section section, const models::Model& model, const config::Problems& problems,
                      algorithms::Problem& problem) {
  using Kind = Initial::Kind;
  Initial out;
  out.kind = section.choice<Kind>(
      "kind", {{"zero", Kind::Zero}, {"random", Kind::Random}, {"weights", Kind::Weights}},
      "zero: the point of the domain nearest to 0; random: uniform numbers, then the nearest point of the domain; "
      "weights: the values below, a point of the domain");
  if (section.recording() || out.kind == Kind::Random) {
    out.seed = static_cast<std::uint64_t>(section.integer("seed", 0, INT64_MAX, "of random: public"));
    out.scale = section.number("scale", 0.0, kScaleMax, "of random: numbers are uniform from -scale to scale", true);
  }
  Eigen::VectorXd weights;
  if (section.recording() || out.kind == Kind::Weights) weights = parse_weights(section, out);
  section.finish();
  // A point is only worth a look where the model and the domain are what the job means.
  if (section.recording() || !problems.none()) return out;
  switch (out.kind) {
    case Kind::Zero:
      if (!model.is_convex())
        section.problem("kind",
                        "a network that starts at 0 does not learn: expected \"random\" or \"weights\", or no "
                        "\"initial\" for the start of the model's seed");
      break;
    case Kind::Random:
      problem.start_near(uniform(out.seed, out.scale, problem.dimension));
      break;
    case Kind::Weights:
      if (Status starts = problem.start_at(std::move(weights)); !starts)
        section.problem("values", starts.error().message);
      break;
  }
  if (out.kind != Kind::Zero && model.moments() != nullptr)
    section.problem("kind", "expected \"zero\": the weights are moments after one step from 0 alone");
  return out;
}

Digest digest_of_weights(const Eigen::VectorXd& weights) {
  static_assert(std::endian::native == std::endian::little, "doubles are hashed as they lie in memory");
  return sha256(
      {reinterpret_cast<const char*>(weights.data()), sizeof(double) * static_cast<std::size_t>(weights.size())});
}

Json initial_of_weights(const Eigen::VectorXd& weights) {
  return {{"kind", "weights"},
          {"sha256", to_hex(digest_of_weights(weights))},
          {"values", std::vector<double>(weights.begin(), weights.end())}};
}

std::string to_string(const Initial& initial) {
  switch (initial.kind) {
    case Initial::Kind::Zero:
      return "the public point of the domain nearest to 0";
    case Initial::Kind::Random:
      return fmt::format(
          "a random point, uniform from -{0} to {0} in each number and projected on the domain, of the public seed {1}",
          initial.scale, initial.seed);
    case Initial::Kind::Weights:
      return fmt::format(
          "weights that the job brings (SHA-256 {}), public and not from private data as far as its "
          "author states",
          to_hex(initial.sha256));
  }
  UNDERTONE_CHECK(false);
}

}  // namespace undertone::jobs
