#include <algorithm>
#include <cmath>
#include <numeric>

#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"

namespace undertone::algorithms {

releases::Ask scores_of(const GradientShape& shape, const geometry::Vertices& vertices, Eigen::Index scores) {
  const auto* most = std::get_if<releases::MaxBound>(&shape.bound);
  UNDERTONE_CHECK(most != nullptr);
  // A bound that vanishes leaves the least: what is clipped to it is nothing.
  constexpr double kNormMin = 1e-100;
  const double norm = std::clamp(std::sqrt(static_cast<double>(scores)) * vertices.reach_l1() * most->bound.value(),
                                 kNormMin, 1.0 / kNormMin);
  return {releases::ScoresMap{vertices, scores}, {}, releases::L2Bound{*releases::ClipNorm::create(norm)}, scores};
}

Result<VertexTally> least_score(const folds::Gathered& gathered, const std::vector<Eigen::Index>& candidates) {
  const auto* mean = std::get_if<folds::Mean>(&gathered.value);
  const auto count = static_cast<Eigen::Index>(candidates.size());
  if (mean == nullptr || gathered.size() != count || !gathered.mean().allFinite()) {
    return Error{ErrorCode::Internal, fmt::format("private Frank-Wolfe expected {} scores, was told {}", count,
                                                  mean == nullptr ? 0 : gathered.size())};
  }
  Eigen::Index best = 0;
  gathered.mean().minCoeff(&best);
  return VertexTally{{candidates[static_cast<std::size_t>(best)], 1.0}};
}

double score_error(std::span<const WeighedPlan> silos, Eigen::Index scores) {
  double variance = 0.0;
  bool laplace = false;
  for (const WeighedPlan& silo : silos) {
    for (const planning::Plan::Segment& segment : silo.plan->segments()) {
      if (segment.release.ask.kind() != releases::QuestionKind::Scores) continue;
      const double stddev = silo.share * segment.release.noise_stddev_of_mean();
      variance += stddev * stddev;
      laplace = laplace || std::holds_alternative<mechanisms::LaplaceLattice>(segment.release.mechanism);
      break;
    }
  }
  const double log_count = std::log(static_cast<double>(std::max<Eigen::Index>(scores, 2)));
  if (!laplace) return std::sqrt(2.0 * log_count * variance);
  // A sum of Laplace variables is sub-exponential: E max <= (ln m + K(t))/t at t = 1/(2 b), K(t) <= t^2 sigma^2 there,
  // with b <= sigma/sqrt 2.
  return std::sqrt(variance) * (std::sqrt(2.0) * log_count + 1.0 / std::sqrt(2.0));
}

namespace {

std::vector<Eigen::Index> every_vertex(const geometry::Vertices& vertices) {
  std::vector<Eigen::Index> out(static_cast<std::size_t>(vertices.count()));
  std::iota(out.begin(), out.end(), Eigen::Index{0});
  return out;
}

class NoisedScores final : public VertexChoice {
 public:
  [[nodiscard]] std::string_view name() const override { return "scores"; }
  [[nodiscard]] std::string_view about() const override {
    return "in every step the best vertex for the mean of all vertices' noised scores";
  }
  [[nodiscard]] MethodTraits traits() const override { return choose_by_vote().traits(); }
  [[nodiscard]] releases::Ask ask(const GradientShape& shape, const geometry::Vertices& vertices,
                                  std::uint64_t /*round*/, std::uint32_t /*silos*/) const override {
    return scores_of(shape, vertices, vertices.count());
  }
  [[nodiscard]] queries::Question question(const Eigen::VectorXd& point, const std::vector<Eigen::Index>& nominated,
                                           std::uint64_t /*round*/) const override {
    return scores_question(point, nominated);
  }
  [[nodiscard]] std::vector<Eigen::Index> candidates(const geometry::Vertices& vertices) const override {
    return every_vertex(vertices);
  }
  [[nodiscard]] Result<VertexTally> votes(const folds::Gathered& gathered, const geometry::Vertices& /*vertices*/,
                                          const std::vector<Eigen::Index>& nominated,
                                          std::uint64_t /*round*/) const override {
    return least_score(gathered, nominated);
  }
  /// Of noise that is fresh, as of noised vectors. Source: spec non-euclidean 3.2 A.
  [[nodiscard]] double step_error(const geometry::Vertices& vertices,
                                  std::span<const WeighedPlan> silos) const override {
    return score_error(silos, vertices.count());
  }
};

class Nomination final : public VertexChoice {
 public:
  [[nodiscard]] std::string_view name() const override { return "nominate"; }
  [[nodiscard]] std::string_view about() const override {
    return "in every step each silo nominates a vertex, and the best nominee for the mean of noised scores is taken";
  }
  [[nodiscard]] MethodTraits traits() const override { return choose_by_vote().traits(); }
  [[nodiscard]] std::uint64_t rounds() const override { return 2; }
  [[nodiscard]] releases::Ask ask(const GradientShape& shape, const geometry::Vertices& vertices, std::uint64_t round,
                                  std::uint32_t silos) const override {
    return round == 0 ? shape.selection(vertices) : scores_of(shape, vertices, nominees(silos, vertices));
  }
  [[nodiscard]] queries::Question question(const Eigen::VectorXd& point, const std::vector<Eigen::Index>& nominated,
                                           std::uint64_t round) const override {
    if (round == 0) return queries::GradientQuestion{point};
    return scores_question(point, nominated);
  }
  [[nodiscard]] Result<VertexTally> votes(const folds::Gathered& gathered, const geometry::Vertices& vertices,
                                          const std::vector<Eigen::Index>& nominated,
                                          std::uint64_t round) const override {
    return round == 0 ? choose_by_vote().votes(gathered, vertices, nominated, round) : least_score(gathered, nominated);
  }
  /// The least true score of a nominee is at most their weighted mean, which is behind as a vote is; and the noise on
  /// the nominees' scores comes on top. Source: spec non-euclidean 3.2 E.
  [[nodiscard]] double step_error(const geometry::Vertices& vertices,
                                  std::span<const WeighedPlan> silos) const override {
    return vote_error(vertices, silos) +
           score_error(silos, nominees(static_cast<std::uint32_t>(silos.size()), vertices));
  }

 private:
  /// A silo nominates one: never more than there are silos or vertices.
  static Eigen::Index nominees(std::uint32_t silos, const geometry::Vertices& vertices) {
    return std::min<Eigen::Index>(static_cast<Eigen::Index>(silos), vertices.count());
  }
};

}  // namespace

queries::Question scores_question(const Eigen::VectorXd& point, const std::vector<Eigen::Index>& candidates) {
  Eigen::VectorXd all(point.size() + static_cast<Eigen::Index>(candidates.size()));
  all.head(point.size()) = point;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    all[point.size() + static_cast<Eigen::Index>(k)] = static_cast<double>(candidates[k]);
  return queries::ScoresQuestion{std::move(all)};
}

const VertexChoice& choose_by_scores() {
  static const NoisedScores scores;
  return scores;
}

const VertexChoice& choose_by_nomination() {
  static const Nomination nomination;
  return nomination;
}

}  // namespace undertone::algorithms
