#include "shared/queries/query.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "shared/base/byte_stream.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::queries {

releases::QuestionKind kind_of(const Question& question) noexcept {
  struct Kind {
    releases::QuestionKind operator()(const GradientQuestion&) const noexcept {
      return releases::QuestionKind::Gradient;
    }
    releases::QuestionKind operator()(const MetricsQuestion&) const noexcept { return releases::QuestionKind::Metrics; }
    releases::QuestionKind operator()(const GradientDifferenceQuestion&) const noexcept {
      return releases::QuestionKind::GradientDifference;
    }
    releases::QuestionKind operator()(const LocalRunQuestion&) const noexcept {
      return releases::QuestionKind::LocalRun;
    }
    releases::QuestionKind operator()(const StatisticQuestion&) const noexcept {
      return releases::QuestionKind::Statistic;
    }
    releases::QuestionKind operator()(const ControlledRunQuestion&) const noexcept {
      return releases::QuestionKind::ControlledRun;
    }
    releases::QuestionKind operator()(const PathQuestion&) const noexcept { return releases::QuestionKind::Path; }
    releases::QuestionKind operator()(const ScoresQuestion&) const noexcept { return releases::QuestionKind::Scores; }
    releases::QuestionKind operator()(const FairGradientQuestion&) const noexcept {
      return releases::QuestionKind::FairGradient;
    }
    releases::QuestionKind operator()(const GroupSharesQuestion&) const noexcept {
      return releases::QuestionKind::GroupShares;
    }
    releases::QuestionKind operator()(const ScoreMomentsQuestion&) const noexcept {
      return releases::QuestionKind::ScoreMoments;
    }
  };
  return std::visit(Kind{}, question);
}

Question question_of(releases::QuestionKind kind, Eigen::VectorXd point) {
  switch (kind) {
    case releases::QuestionKind::Gradient:
      return GradientQuestion{std::move(point)};
    case releases::QuestionKind::Metrics:
      return MetricsQuestion{std::move(point)};
    case releases::QuestionKind::GradientDifference:
      return GradientDifferenceQuestion{std::move(point)};
    case releases::QuestionKind::LocalRun:
      return LocalRunQuestion{std::move(point)};
    case releases::QuestionKind::Statistic:
      UNDERTONE_CHECK(point.size() == 0);
      return StatisticQuestion{};
    case releases::QuestionKind::ControlledRun:
      return ControlledRunQuestion{std::move(point)};
    case releases::QuestionKind::Path:
      return PathQuestion{std::move(point)};
    case releases::QuestionKind::Scores:
      return ScoresQuestion{std::move(point)};
    case releases::QuestionKind::FairGradient:
      return FairGradientQuestion{std::move(point)};
    case releases::QuestionKind::GroupShares:
      UNDERTONE_CHECK(point.size() == 0);
      return GroupSharesQuestion{};
    case releases::QuestionKind::ScoreMoments:
      return ScoreMomentsQuestion{std::move(point)};
  }
  UNDERTONE_CHECK(false);
}

std::vector<NamedPoint> named_points(const Question& question) {
  const Eigen::VectorXd& all = point_of(question);
  if (!releases::asked_at_point(kind_of(question))) return {};
  const bool controlled = std::holds_alternative<ControlledRunQuestion>(question);
  if (!controlled && !std::holds_alternative<GradientDifferenceQuestion>(question)) return {{"point", all}};
  const Eigen::Index d = all.size() / 2;
  if (controlled) return {{"point", all.head(d)}, {"control", all.tail(d)}};
  return {{"minuend", all.head(d)}, {"subtrahend", all.tail(d)}};
}

double distance_of(const Question& question, double exponent) {
  const auto* difference = std::get_if<GradientDifferenceQuestion>(&question);
  if (difference == nullptr) return 0.0;
  const std::vector<NamedPoint> points = named_points(question);
  const Eigen::VectorXd apart = points[0].value - points[1].value;
  const double distance = apart.allFinite() ? geometry::lp_norm(apart, exponent) : INFINITY;  // norms pass over a NaN
  return std::isfinite(distance) ? distance : std::numeric_limits<double>::max();
}

const Eigen::VectorXd& point_of(const Question& question) noexcept {
  static const Eigen::VectorXd none;
  return std::visit(Overloaded{[](const auto& asked) -> const Eigen::VectorXd& { return asked.point; },
                               [](const StatisticQuestion& /*asked*/) -> const Eigen::VectorXd& { return none; },
                               [](const GroupSharesQuestion& /*asked*/) -> const Eigen::VectorXd& { return none; }},
                    question);
}

Digest query_digest(const RunId& run, const Query& query) {
  const Eigen::VectorXd& point = point_of(query.question);
  ByteWriter writer;
  writer.text("undertone query 1");
  writer.text(run.bytes());
  writer.u64(query.round.value);
  writer.u64(static_cast<std::uint64_t>(kind_of(query.question)));
  writer.u64(static_cast<std::uint64_t>(point.size()));
  Sha256 digest;  // in pieces: a model is not copied to be hashed
  digest.update(writer.bytes());
  digest.update({reinterpret_cast<const char*>(point.data()), static_cast<std::size_t>(point.size()) * sizeof(double)});
  return digest.finish();
}

void round_to(PointType type, Eigen::Ref<Eigen::VectorXd> point) {
  switch (type) {
    case PointType::F32:
      point = point.cast<float>().cast<double>().eval();
      return;
    case PointType::F64:
      return;
  }
}

const std::vector<std::int64_t>& values_of(const Answer& answer) noexcept {
  return std::visit([](const auto& alternative) -> const std::vector<std::int64_t>& { return alternative.values; },
                    answer);
}

Digest reply_digest(const RunId& run, const Digest& query, ReplyType type, const Reply& reply) {
  ByteWriter writer;
  writer.text("undertone reply 2");
  writer.text(run.bytes());
  writer.text(as_bytes(query));
  writer.u64(reply.round.value);
  writer.u64(reply.answer.index());
  writer.i64(reply.step_log2);
  writer.u64(static_cast<std::uint64_t>(reply.noise));
  writer.u64(static_cast<std::uint64_t>(type));
  const std::vector<std::int64_t>& values = values_of(reply.answer);
  Sha256 digest;
  digest.update(writer.bytes());
  if (type == ReplyType::I64) {
    digest.update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)});
    return digest.finish();
  }
  std::array<std::int32_t, 4096> block{};  // in the wire's width: half of what there is to hash
  for (std::size_t at = 0; at < values.size(); at += block.size()) {
    const std::size_t count = std::min(block.size(), values.size() - at);
    for (std::size_t i = 0; i < count; ++i) block[i] = static_cast<std::int32_t>(values[at + i]);
    digest.update({reinterpret_cast<const char*>(block.data()), count * sizeof(std::int32_t)});
  }
  return digest.finish();
}

}  // namespace undertone::queries
