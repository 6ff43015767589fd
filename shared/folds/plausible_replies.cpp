#include "shared/folds/plausible_replies.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>

#include "shared/base/overloaded.hpp"
#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"
#include "shared/releases/canonical_ask.hpp"

namespace undertone::folds {
namespace {

constexpr std::size_t kShapesMax = 256;
constexpr double kFailureBits = 80.0;          // p = 2^-80
constexpr double kOtherAccountants = 1.05;     // times the noise
constexpr double kRelativeRounding = 0x1p-40;  // of sums of squares in double precision, with much to spare
constexpr double kIterateRounding = 0x1p-52;   // of an iterate, at each step

/// What releases have in common that plans can tell apart, but for where in the permutation equal slices lie.
auto key_of(const releases::Ask& ask) {
  const std::optional<releases::Slice>& slice = ask.records.slice;
  using Cut = releases::Slice::Cut;
  // Parts of one size are alike.
  const std::uint64_t unlike = !slice || slice->cut == Cut::Equal ? 0
                               : slice->cut == Cut::HalfThenEqual ? std::min<std::uint64_t>(slice->index, 1)
                                                                  : slice->index;
  const releases::LocalSteps* local = ask.local();
  // Of statistics, as far as their replies' sizes can differ for it; a feature map by its kind, dimension and share.
  std::vector<std::size_t> read;
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&ask.map)) read = statistic->coordinates;
  if (const auto* features = std::get_if<releases::FeaturesMap>(&ask.map)) read = {features->features.index()};
  return std::tuple(
      ask.kind(), ask.records.block, ask.records.draw_fraction, ask.dimension, releases::canonical_text(ask.bound),
      slice.has_value(), slice ? slice->cut : Cut::Equal, slice ? slice->of : 0, slice ? slice->span : 0, unlike,
      ask.smoothness(), local != nullptr ? local->steps : 0, local != nullptr ? local->step_size : 0.0,
      local != nullptr ? local->records : 0, local != nullptr ? local->proximal : 0.0, ask.records.with_replacement,
      ask.selects() ? ask.candidate_count() : 0, std::move(read), ask.map.index(), ask.share,
      ask.reports() != nullptr ? static_cast<int>(ask.reports()->randomiser) : 0, ask.noise_norm().value_or(0.0),
      ask.beside_public, ask.summed_reports() != nullptr);
}

double clamped(double units, queries::ReplyType type) {
  const double bound = queries::largest(type);
  return std::clamp(units, -bound, bound);
}

}  // namespace

AskedShapes::AskedShapes(const planning::Schedule& schedule) {
  std::map<decltype(key_of(schedule.front().ask)), std::size_t> known;
  of_entries_.reserve(schedule.size());
  for (const planning::ScheduledRounds& entry : schedule) {
    if (entry.rounds == 0) continue;  // plans have no segment for it
    const std::size_t next = std::min(known.size(), kShapesMax - 1);
    const std::size_t shape = known.try_emplace(key_of(entry.ask), next).first->second;
    of_entries_.push_back(shape);
    // Where shapes have to share a place: the norm in which points are farther apart.
    distance_exponents_.resize(std::max(distance_exponents_.size(), shape + 1), 2.0);
    distance_exponents_[shape] = std::min(distance_exponents_[shape], entry.ask.distance_exponent());
    count_ = std::max(count_, shape + 1);
    if (!parts_.empty() && parts_.back().shape == shape && parts_.back().beside_public == entry.ask.beside_public) {
      parts_.back().rounds += entry.rounds;
    } else {
      parts_.push_back({entry.rounds, shape, entry.ask.beside_public});
    }
  }
}

const AskedShapes::Part* AskedShapes::part_of(RoundIndex round) const {
  std::uint64_t left = round.value;
  for (const Part& part : parts_) {
    if (left < part.rounds) return &part;
    left -= part.rounds;
  }
  return nullptr;
}

std::optional<std::size_t> AskedShapes::of_round(RoundIndex round) const {
  const Part* part = part_of(round);
  return part == nullptr ? std::nullopt : std::optional(part->shape);
}

bool AskedShapes::beside_public(RoundIndex round) const {
  const Part* part = part_of(round);
  return part != nullptr && part->beside_public;
}

PlausibleReplies::Bound PlausibleReplies::bound_of(const planning::Release& release, const queries::WireLattice& wire) {
  const releases::Ask& ask = release.ask;
  const double root = std::sqrt(static_cast<double>(ask.dimension));
  Bound bound;
  // Of a selection the candidate's number itself: as long as the wire's step makes of it.
  if (ask.selects()) {
    bound.reach = std::ldexp(static_cast<double>(ask.candidate_count() - 1), wire.step_log2);
    return bound;
  }
  // A point of the vertices' hull, as is where the choices began.
  if (const auto* choices = std::get_if<releases::LocalChoicesMap>(&ask.map)) {
    bound.reach = 2.0 * choices->vertices.norm_l1_max();
    bound.rounding = std::ldexp(root, wire.step_log2);
    bound.steps = static_cast<double>(choices->steps);
    return bound;
  }
  if (const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&release.mechanism)) {
    const mechanisms::ObjectivePerturbation& ideal = objective->ideal;
    // How far from its start the minimiser can be, with ln 2 + r ||start|| the loss there. @see ObjectivePerturbation
    const double loss = std::numbers::ln2 + ideal.facts().record_norm * ideal.facts().start_norm;
    const double far = ideal.noise_norm_max() / ideal.regularisation() + std::sqrt(loss / ideal.regularisation());
    const double tail = std::sqrt(2.0 * kFailureBits * std::numbers::ln2);
    bound.reach = kOtherAccountants * (far + ideal.accuracy() + ideal.output().noise_stddev() * (root + tail));
    bound.rounding = std::ldexp(root, wire.step_log2);
    bound.steps = 1.0;
    bound.noise = ideal.output().noise_stddev();
    return bound;
  }
  // What a report can be at all, its form says.
  if (ask.reports() != nullptr) {
    const double most = static_cast<double>(mechanisms::report_values(ask.reports()->randomiser).high);
    bound.reach = std::ldexp(most * std::sqrt(static_cast<double>(release.answer_size())), wire.step_log2);
    return bound;
  }
  // Each coordinate's Laplace noise is beyond b (ln d + 80 ln 2) with probability at most 2^-80 / d.
  const auto laplace_reach = [&](const mechanisms::LaplaceLattice& laplace) {
    const double scale =
        static_cast<double>(laplace.noise.scale().numerator) / static_cast<double>(laplace.noise.scale().denominator);
    return kOtherAccountants * root * (scale * (kFailureBits * std::numbers::ln2 + 2.0 * std::log(root)) + 1.0);
  };
  const auto* laplace = std::get_if<mechanisms::LaplaceLattice>(&release.mechanism);
  if (ask.answers_in_totals()) {
    // In units of its own lattice; with Laplace noise those cross the wire, at whatever step the wire has.
    const double sum = root * static_cast<double>(release.lattice().clip) *
                       static_cast<double>(release.records_drawn * releases::units_of_one(ask));
    if (laplace != nullptr) {
      bound.reach = std::ldexp(sum + laplace_reach(*laplace), wire.step_log2);
    } else {
      // Those of Gaussian noise are brought to the lattice that all silos share.
      const double shared = std::ldexp(release.lattice().step, -mechanisms::kValueStepLog2);
      const double tail = std::sqrt(2.0 * kFailureBits * std::numbers::ln2);
      const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism);
      const double noise = gaussian == nullptr ? 0.0 : std::ldexp(1.0, gaussian->log2_stddev);  // none: exact
      if (gaussian != nullptr) bound.noise = gaussian->noise_stddev();
      bound.reach =
          std::ldexp((sum + kOtherAccountants * noise * (root + tail) + root) * shared + root, wire.step_log2);
    }
    return bound;
  }
  const auto steps = static_cast<double>(release.draws());
  const double scale = ask.local() != nullptr ? ask.local()->step_size : 1.0;
  // Of bins a sum may hold more records than it is divided by.
  const double most = static_cast<double>(release.records_max()) / static_cast<double>(release.records_drawn);
  // An answer of groups has a block for each of them, and every block is within the same length.
  const double blocks = std::sqrt(static_cast<double>(ask.groups()));
  bound.reach = steps * scale * ask.reach() * most * blocks;
  if (const auto* noise = std::get_if<mechanisms::GeneralisedGaussianLattice>(&release.mechanism)) {
    // ||z||_2 <= d^(1/2 - 1/r) ||z||_r, and that over the scale is chi of d degrees; then each number is rounded.
    const double tail = std::sqrt(2.0 * kFailureBits * std::numbers::ln2);
    const double spread = std::pow(root, 1.0 - 2.0 / noise->noise.norm()) * noise->noise.scale() * (root + tail);
    bound.reach +=
        kOtherAccountants * (spread + root) * noise->lattice.step / static_cast<double>(release.records_drawn);
  }
  if (const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism)) {
    const double tail = std::sqrt(2.0 * kFailureBits * std::numbers::ln2);
    // The noise of all steps is one Gaussian vector, each step's rounded to its lattice.
    bound.reach +=
        kOtherAccountants * scale * release.noise_stddev_of_answer() * std::sqrt(steps) * (blocks * root + tail) +
        steps * scale * gaussian->lattice.step * blocks * root;
  }
  // A mean of reports is no longer than the longest of them. Of a Gaussian one the half space's chance is at least
  // PrivUnit::kCapMin, and the rest of it is chi of d degrees; then each number is rounded.
  if (const auto* sum = std::get_if<mechanisms::DirectionSum>(&release.mechanism)) {
    const double bits =
        kFailureBits - std::log2(mechanisms::PrivUnit::kCapMin) + std::log2(static_cast<double>(release.records_drawn));
    const double tail = std::sqrt(2.0 * bits * std::numbers::ln2);
    const bool sphere = sum->direction().law() == mechanisms::PrivUnit::Law::Sphere;
    bound.reach = kOtherAccountants * sum->longest(sphere ? 1.0 : root + tail) + root * sum->lattice.step;
  }
  if (laplace != nullptr)
    bound.reach +=
        (laplace_reach(*laplace) + root) * laplace->lattice.step / static_cast<double>(release.records_drawn);
  if (const std::optional<double> smoothness = ask.smoothness()) {
    const auto* dual = std::get_if<releases::DualBound>(&ask.bound);
    bound.slope = *smoothness / (dual == nullptr ? ask.clip() : dual->clip()).value();
  }
  bound.rounding = std::ldexp(blocks * root, wire.step_log2);
  // What its exact sum is rounded to, record by record, stays below the wire's own step or a 2^-30 of the clip.
  if (release.beside) bound.open = ask.clip().value() * (1.0 + root * 0x1p-30);
  if (ask.local() != nullptr) bound.steps = steps;
  if (!release.is_public()) bound.noise = scale * std::sqrt(steps) * release.noise_stddev_of_answer();
  return bound;
}

PlausibleReplies PlausibleReplies::of(const planning::Plan& plan, const AskedShapes& shapes,
                                      const queries::WireLattice& wire) {
  UNDERTONE_CHECK(plan.segments().size() == shapes.of_entries().size());
  PlausibleReplies out(wire);
  out.bounds_.resize(shapes.count());
  for (std::size_t i = 0; i < plan.segments().size(); ++i) {
    const Bound found = bound_of(plan.segments()[i].release, wire);
    Bound& loosest = out.bounds_[shapes.of_entries()[i]];
    loosest.slope = loosest.reach > 0.0 && (loosest.slope == 0.0 || found.slope == 0.0)
                        ? 0.0
                        : std::max(loosest.slope, found.slope);
    loosest.reach = std::max(loosest.reach, found.reach);
    loosest.rounding = std::max(loosest.rounding, found.rounding);
    loosest.steps = std::max(loosest.steps, found.steps);
    loosest.noise = std::max(loosest.noise, found.noise);
    loosest.open = std::max(loosest.open, found.open);
  }
  return out;
}

PlausibleReplies::Asked::Asked(const queries::Query& query, const AskedShapes& shapes)
    : shape(shapes.of_round(query.round)),
      distance(queries::distance_of(query.question, shape ? shapes.distance_exponent(*shape) : 2.0)) {
  beside_public = shapes.beside_public(query.round);
  if (queries::kind_of(query.question) == releases::QuestionKind::LocalRun) start = queries::point_of(query.question);
}

double PlausibleReplies::share_of(const Asked& asked) const {
  const Bound& bound = bounds_.at(*asked.shape);
  // A clip norm is never scaled to less than 2^-30 of itself. @see planning::Release::scaled_to
  return bound.slope > 0.0 ? std::clamp(bound.slope * asked.distance, 0x1p-30, 1.0) : 1.0;
}

double PlausibleReplies::reach(const Asked& asked) const {
  if (!asked.shape) return 0.0;
  const Bound& bound = bounds_.at(*asked.shape);
  const double share = share_of(asked);
  const double of_iterates = asked.start.size() > 0 ? bound.steps * kIterateRounding * asked.start.norm() : 0.0;
  return (bound.reach * share + bound.rounding + of_iterates) * (1.0 + kRelativeRounding);
}

double PlausibleReplies::noise_stddev(const Asked& asked) const {
  return asked.shape ? bounds_.at(*asked.shape).noise : 0.0;
}

bool PlausibleReplies::admits(const Asked& asked, const std::vector<std::int64_t>& values) const {
  if (!asked.shape) return false;
  if (asked.start.size() > 0 && static_cast<std::size_t>(asked.start.size()) != values.size()) return false;
  if (asked.beside_public && !(public_length(asked, values) <= public_reach(asked))) return false;
  return length(asked, values) <= reach(asked);
}

double PlausibleReplies::public_length(const Asked& asked, const std::vector<std::int64_t>& values) const {
  if (!asked.beside_public) return 0.0;
  double squares = 0.0;
  for (std::size_t j = values.size() / 2; j < values.size(); ++j) {
    const auto units = static_cast<double>(values[j]);
    squares += units * units;
  }
  return std::ldexp(std::sqrt(squares), wire_.step_log2);
}

double PlausibleReplies::public_reach(const Asked& asked) const {
  if (!asked.shape || !asked.beside_public) return 0.0;
  const Bound& bound = bounds_.at(*asked.shape);
  if (bound.open == 0.0) return 0.0;
  return (bound.open * share_of(asked) + bound.rounding) * (1.0 + kRelativeRounding);
}

double PlausibleReplies::length(const Asked& asked, const std::vector<std::int64_t>& values) const {
  const bool local = asked.start.size() > 0;
  double squares = 0.0;
  const std::size_t judged = asked.beside_public ? values.size() / 2 : values.size();
  for (std::size_t j = 0; j < judged; ++j) {
    double units = static_cast<double>(values[j]);
    // A run that began beyond the wire's range is as far off in it, or less.
    if (local) units -= clamped(std::ldexp(asked.start[static_cast<Eigen::Index>(j)], -wire_.step_log2), wire_.type);
    squares += units * units;
  }
  return std::ldexp(std::sqrt(squares), wire_.step_log2);
}

void PlausibleReplies::save(ByteWriter& writer) const {
  for (const Bound& bound : bounds_) {
    for (const double number : {bound.reach, bound.slope, bound.rounding, bound.steps, bound.noise, bound.open})
      writer.f64(number);
  }
}

Result<PlausibleReplies> PlausibleReplies::read(ByteReader& reader, std::size_t shapes,
                                                const queries::WireLattice& wire) {
  PlausibleReplies out(wire);
  out.bounds_.reserve(shapes);
  for (std::size_t i = 0; i < shapes; ++i) {
    Bound bound;
    for (double* number : {&bound.reach, &bound.slope, &bound.rounding, &bound.steps, &bound.noise, &bound.open}) {
      UNDERTONE_TRY(const double found, reader.f64());
      if (!(std::isfinite(found) && found >= 0.0))
        return Error{ErrorCode::Malformed, "what replies are plausible cannot be read"};
      *number = found;
    }
    out.bounds_.push_back(bound);
  }
  return out;
}

}  // namespace undertone::folds
