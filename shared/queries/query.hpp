#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/crypto/noise_kind.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/wire_lattice.hpp"

namespace undertone::queries {

/// How a public point crosses the wire. Every mode rounds iterates to this type, so that all modes agree to the bit.
enum class PointType : std::uint8_t { F32 = 1, F64 = 2 };

/// The sum of clipped gradients at a point. @see releases::QuestionKind::Gradient
struct GradientQuestion {
  Eigen::VectorXd point;  // [d]
};
/// The sum of clipped differences of a record's gradients at two points. @see
/// releases::QuestionKind::GradientDifference
struct GradientDifferenceQuestion {
  Eigen::VectorXd point;  // [2d]: w, whose gradient counts, then w', whose gradient is taken off
};
/// The sum of evaluation metrics of a model on held-out records.
struct MetricsQuestion {
  Eigen::VectorXd point;  // [d]
};
/// Where a silo's own noisy descent begins. @see releases::QuestionKind::LocalRun
struct LocalRunQuestion {
  Eigen::VectorXd point;  // [d]
};
/// Where a silo's own descent with control variates begins. @see releases::QuestionKind::ControlledRun
struct ControlledRunQuestion {
  Eigen::VectorXd point;  // [2d]: w, then c, the mean of all silos' variates
};
/// The plan's statistic: at no point, since it is of the records themselves.
struct StatisticQuestion {};
/// The vertex to select by an estimate along a path. @see releases::PathMap
struct PathQuestion {
  Eigen::VectorXd point;  // [nodes d]: the nodes' points in order
};
/// The scores of some vertices at a point. @see releases::ScoresMap
struct ScoresQuestion {
  Eigen::VectorXd point;  // [d + asked]: the point, then the vertices' numbers
};
/// The two parts of a fair gradient. @see releases::FairGradientMap, fairness::FairBlocks
struct FairGradientQuestion {
  Eigen::VectorXd point;  // [d + weights + cells]: the model's point, every W, the groups' shares
};
/// The groups' shares. @see releases::GroupSharesMap
struct GroupSharesQuestion {};
/// A regression's scores and information. @see releases::ScoreMomentsMap
struct ScoreMomentsQuestion {
  Eigen::VectorXd point;  // [d]: the model's point
};
/// One alternative per kind; public points only. There is no clip, noise, batch size or sampling field to fill.
using Question = std::variant<GradientQuestion, MetricsQuestion, GradientDifferenceQuestion, LocalRunQuestion,
                              StatisticQuestion, ControlledRunQuestion, PathQuestion, ScoresQuestion,
                              FairGradientQuestion, GroupSharesQuestion, ScoreMomentsQuestion>;
/// The question of a kind at a point. @param point of the ask's size, @see releases::Ask::point_size
[[nodiscard]] Question question_of(releases::QuestionKind kind, Eigen::VectorXd point);

/// One question of a run, asked in one round.
struct Query {
  RoundIndex round;
  Question question;
};

[[nodiscard]] releases::QuestionKind kind_of(const Question& question) noexcept;
/// What crosses the wire: one point, or two, one after the other; of a statistic none.
[[nodiscard]] const Eigen::VectorXd& point_of(const Question& question) noexcept;
/// A public point of a question by its name.
struct NamedPoint {
  std::string_view name;  // "point"; of a difference "minuend" and "subtrahend"; of variates "point" and "control"
  Eigen::Ref<const Eigen::VectorXd> value;
};
/// In the order in which they cross the wire. They refer to the question.
[[nodiscard]] std::vector<NamedPoint> named_points(const Question& question);
/// ||w - w'||_p of a question with two points; zero of others. @param exponent p >= 1: @see releases::Ask
[[nodiscard]] double distance_of(const Question& question, double exponent);

/// Identifies a query exactly: run, round, kind and every bit of the point.
[[nodiscard]] Digest query_digest(const RunId& run, const Query& query);

/// Rounds every coordinate to the nearest value of the type, in place.
void round_to(PointType type, Eigen::Ref<Eigen::VectorXd> point);

/// Integers on the job's wire lattice, after noise.
struct NoisedSums {
  std::vector<std::int64_t> values;
};
/// Integers on the job's wire lattice from public records, without noise.
struct PublicSums {
  std::vector<std::int64_t> values;
};
/// Two blocks of integers on the job's wire lattice: the noised mean over protected records, then the exact one over
/// those that the silo's owner declared public, zeros where there are none. @see releases::Ask::beside_public
struct SumsBesidePublic {
  std::vector<std::int64_t> values;  // [2d]
};
/// The vertex that a selection chose.
struct Selected {
  std::vector<std::int64_t> values;  // [1]: its number
};
/// One report of every record, in a secret order. @see releases::ReportsForm
struct Reports {
  std::vector<std::int64_t> values;  // [records]
};
/// One alternative per release form. Sums hold the MEAN over the records drawn, in wire steps; a local run's is the
/// iterate it ended at. A statistic's are the totals themselves, in units of the plan's lattice; reports are in it,
/// too.
using Answer = std::variant<NoisedSums, PublicSums, Selected, Reports, SumsBesidePublic>;

/// A silo's answer. It does not name the silo: it may be shuffled.
struct Reply {
  RoundIndex round;
  int step_log2 = 0;  // one unit of a value is 2^step_log2
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;
  Answer answer;
};

[[nodiscard]] const std::vector<std::int64_t>& values_of(const Answer& answer) noexcept;

/// Identifies what a reply says, whatever bytes carried it: run, query, form, lattice and every value,
/// each of which fits the type.
[[nodiscard]] Digest reply_digest(const RunId& run, const Digest& query, ReplyType type, const Reply& reply);

}  // namespace undertone::queries
