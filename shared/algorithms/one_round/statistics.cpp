#include "shared/algorithms/one_round/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {
namespace {

Status check_bounds(const StatisticAsked& asked, double low, double high) {
  if (low < high && std::isfinite(high - low)) return {};
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format("the {}: expected bounds with a finite difference > 0, got {} and {}", asked.name, low, high)};
}

Status check_columns(const StatisticAsked& asked, const std::vector<NumberColumn>& columns) {
  for (const NumberColumn& column : columns)
    if (Status sound = check_bounds(asked, column.low, column.high); !sound) return sound;
  return {};
}

Status check_question(const StatisticAsked& asked, statistics::NoiseKind noise) {
  Status sound = std::visit(
      Overloaded{
          [](const CountAsked& /*what*/) { return Status(); }, [](const TableAsked& /*what*/) { return Status(); },
          [](const HistogramAsked& /*what*/) { return Status(); },
          [](const SurvivalAsked& /*what*/) { return Status(); },
          [&](const QuantilesAsked& what) {
            for (const double p : what.probabilities) {
              if (!(p > 0.0 && p < 1.0))
                return Status(Error{ErrorCode::InvalidArgument,
                                    fmt::format("the {}: expected probabilities in (0, 1), got {}", asked.name, p)});
            }
            return Status();
          },
          [&](const CovarianceAsked& what) { return check_columns(asked, what.columns); },
          [&](const ReportsAsked& what) {
            if (what.columns.empty() || (what.indicator && what.columns.size() != 1))
              return Status(Error{ErrorCode::InvalidArgument,
                                  fmt::format("the {}: reports on {} numbers", asked.name, what.columns.size())});
            return check_columns(asked, what.columns);
          },
          [&](const FunctionAsked& what) {
            if (is_settled(what)) return statistics::check(features_of(what), SIZE_MAX);
            return Status(Error{ErrorCode::Internal, fmt::format("the {}: its degree is not chosen", asked.name)});
          },
          [](const SelectedQuantileAsked& /*what*/) { return Status(); },
          [&](const LeastLossAsked& what) {
            return what.of.degree != 0 ? Status()
                                       : Status(Error{ErrorCode::Internal,
                                                      fmt::format("the {}: its degree is not chosen", asked.name)});
          },
          [&](const VectorMeanAsked& what) { return check_columns(asked, what.columns); },
          [&](const LinearModelAsked& what) {
            std::vector<NumberColumn> all = what.columns;
            all.push_back(what.response);
            return check_columns(asked, all);
          },
          [&](const RegressionAsked& what) {
            std::vector<NumberColumn> all = what.columns;
            all.push_back(what.response);
            return check_columns(asked, all);
          },
          [&](const auto& ranged) { return check_bounds(asked, ranged.low, ranged.high); }},
      asked.what);
  if (!sound) return sound;
  sound = Statistics::check_form(asked, noise);
  const std::optional<statistics::FeatureMap> features = features_of(asked, noise);
  if (!sound || !features) return sound;
  sound = statistics::check(*features, SIZE_MAX);
  if (!sound) return Error{sound.error().code, fmt::format("the {}: {}", asked.name, sound.error().message)};
  return {};
}

/// What the silos' totals say. @param total of one number, in real units of the release @param whole counts are
/// integers
Estimate estimate_of(const StatisticAsked& asked, double total, bool whole, const folds::Gathered& gathered) {
  Estimate out;
  out.name = asked.name;
  out.replies = gathered.replies;
  out.records = gathered.records;
  out.round = gathered.round.value;
  out.answers = gathered.each;
  const auto records = static_cast<double>(gathered.records);
  std::visit(Overloaded{[&](const CountAsked& count) {
                          // Of Laplace noise an integer but for the fold's division.
                          const double held = whole ? std::nearbyint(total) : total;
                          out.value = count.complement ? records - held : held;
                        },
                        [&](const MeanAsked& mean) {
                          const double half_width = (mean.high - mean.low) / 2.0;
                          out.mean = true;
                          out.per_unit = half_width / records;
                          out.value = mean.low + half_width * (1.0 + total / records);
                        },
                        [](const auto& /*of the answers*/) {}},
             asked.what);
  return out;
}

}  // namespace

std::string_view StatisticsSettings::name() const { return Statistics::kName; }

std::string StatisticsSettings::source() const {
  const auto chosen = [](const StatisticAsked& asked) {
    return std::holds_alternative<SelectedQuantileAsked>(asked.what) ||
           std::holds_alternative<LeastLossAsked>(asked.what);
  };
  const auto selected = std::count_if(questions.begin(), questions.end(), chosen);
  std::string out = "one-round statistics: ";
  if (static_cast<std::size_t>(selected) < questions.size())
    out += noise == statistics::NoiseKind::Gaussian
               ? "totals with rounded Gaussian noise"
               : "totals with discrete Laplace noise (Ghosh, Roughgarden and Sundararajan 2009)";
  if (selected > 0)
    out += fmt::format("{}choices by the exponential mechanism (McSherry and Talwar 2007)",
                       static_cast<std::size_t>(selected) < questions.size() ? "; " : "");
  if (std::any_of(questions.begin(), questions.end(),
                  [](const StatisticAsked& asked) { return reports_of(asked).has_value(); }))
    out +=
        "; reports of single records (Warner 1965; Bhowmick and others 2018; Duchi, Jordan and Wainwright 2018; Wang, "
        "Gaboardi, Smith and Xu, "
        "Algorithm 1)";
  return out;
}

MethodNumbers StatisticsSettings::numbers() const { return {{"questions", static_cast<double>(questions.size())}}; }

MethodTraits StatisticsSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.bounded_in = MethodTraits::BoundedIn::ItsMap;
  return traits;
}

Result<std::unique_ptr<Statistics>> Statistics::create(const StatisticsSettings& settings) {
  if (settings.questions.empty() || settings.questions.size() > kQuestionsMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("statistics: expected 1 to {} questions, got {}",
                                                         kQuestionsMax, settings.questions.size())};
  }
  if (!settings.shares.empty() && settings.shares.size() != settings.questions.size())
    return Error{ErrorCode::Internal, "statistics: as many shares as questions"};
  if (!settings.strengths.empty() && settings.strengths.size() != settings.questions.size())
    return Error{ErrorCode::Internal, "statistics: as much noise as questions"};
  for (const StatisticAsked& asked : settings.questions) {
    if (Status sound = check_question(asked, settings.noise); !sound) return sound.error();
    if (Status sound = check_unit(asked, settings.unit); !sound) return sound.error();
  }
  return std::unique_ptr<Statistics>(new Statistics(settings));
}

Status Statistics::check_unit(const StatisticAsked& asked, releases::Unit unit) {
  const bool of_persons = asked.one_record || asked.persons != releases::PersonContribution::Form::Mean;
  if (unit == releases::Unit::Record && of_persons)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the {}: expected no \"persons\": the unit is a record", asked.name)};
  if (unit == releases::Unit::Person && !takes_persons(asked)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the {}: {} of persons is not served{}", asked.name, kind_of(asked),
                             asked.persons != releases::PersonContribution::Form::Mean
                                 ? " as \"any\" or \"total\", which are of counts, histograms and tables, total also "
                                   "of means and sums; a count of a label's negative value is asked for as a table"
                             : std::holds_alternative<CovarianceAsked>(asked.what) ||
                                     std::holds_alternative<SelectedQuantileAsked>(asked.what)
                                 ? " with intervals for the population: the records of a person are not independent"
                                 : "")};
  }
  return {};
}

Status Statistics::check_form(const StatisticAsked& asked, statistics::NoiseKind noise) {
  if (has_form(asked, noise)) return {};
  if (reports_of(asked) == releases::Randomiser::Gaussian) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the {} is from reports with Gaussian noise: every silo needs a delta above 0, and nothing "
                    "else may be asked for that needs a pure epsilon",
                    asked.name)};
  }
  if (noise == statistics::NoiseKind::Gaussian)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the {} is from reports of single records, each of a pure epsilon: noise may not be "
                             "\"gaussian\", and nothing else may be asked for that needs it",
                             asked.name)};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("the {} is asked for with Gaussian noise alone: every silo needs a delta above 0, and "
                           "noise may not be \"laplace\"",
                           asked.name)};
}

planning::Schedule Statistics::schedule(const StatisticsSettings& settings, const GradientShape& /*shape*/) {
  planning::Schedule out;
  out.reserve(settings.questions.size());
  for (std::size_t q = 0; q < settings.questions.size(); ++q) {
    const StatisticAsked& asked = settings.questions[q];
    releases::Ask ask = ask_of(asked, settings.noise, settings.unit);
    if (settings.unit == releases::Unit::Person && settings.person_records_max > 0)
      ask.records.persons =
          releases::PersonContribution{takes_one_record(asked) ? 1 : settings.person_records_max, asked.persons};
    if (!settings.shares.empty() && !reads_public(settings.questions[q])) ask.share = settings.shares[q];
    if (!settings.strengths.empty() && settings.noise == statistics::NoiseKind::Gaussian)
      ask.shift = *releases::GaussianShift::create(settings.strengths[q]);
    if (!settings.strengths.empty() && settings.noise == statistics::NoiseKind::Laplace)
      ask.epsilon = *releases::Epsilon::create(settings.strengths[q]);
    out.push_back({std::move(ask), 1});
  }
  return out;
}

Step Statistics::current() const {
  if (estimates_.size() < settings_.questions.size())
    return queries::Query{RoundIndex{estimates_.size()}, queries::StatisticQuestion{}};
  Outcome outcome;
  outcome.statistics = estimates_;
  return Finished{std::move(outcome)};
}

Result<Step> Statistics::advance(const folds::Gathered& gathered) {
  const std::size_t round = estimates_.size();
  const Eigen::VectorXd chosen = Eigen::VectorXd::Zero(1);  // what silos chose is in what each of them said
  const Eigen::VectorXd* totals = round >= settings_.questions.size()                    ? nullptr
                                  : !selects(settings_.questions[round])                 ? totals_in(gathered)
                                  : std::holds_alternative<folds::Tally>(gathered.value) ? &chosen
                                                                                         : nullptr;
  const Eigen::Index told = totals == nullptr ? 0 : totals->size();
  if (gathered.round.value != round || totals == nullptr || told != numbers_of(round) || gathered.replies < 1) {
    return Error{ErrorCode::Internal,
                 fmt::format("statistics stand at round {} of {}, were told of {} numbers of {} silos in round {}",
                             round, settings_.questions.size(), told, gathered.replies, gathered.round.value)};
  }
  if (gathered.records < 1) {
    return Error{ErrorCode::Internal,
                 fmt::format("statistics: nobody knows how many records round {} was over", round)};
  }
  if (!totals->allFinite())
    return Error{ErrorCode::Internal, fmt::format("statistics: the total of round {} is not finite", round)};
  const bool keeps_all = keeps_reports(round);
  for (const auto& [silo, said] : gathered.each)
    if (!keeps_all && static_cast<Eigen::Index>(said.size()) != numbers_of(round))
      return Error{ErrorCode::Internal,
                   fmt::format("statistics: silo {} said {} numbers in round {}, {} were asked for", silo.name(),
                               said.size(), round, numbers_of(round))};
  const double total = (*totals)[0] * static_cast<double>(gathered.replies);  // of single numbers, which are means
  const bool whole = settings_.noise == statistics::NoiseKind::Laplace && settings_.unit == releases::Unit::Record;
  estimates_.push_back(estimate_of(settings_.questions[round], total, whole, gathered));
  return current();
}

const Eigen::VectorXd* Statistics::totals_in(const folds::Gathered& gathered) const {
  if (!reports_of(settings_.questions[estimates_.size()])) {
    const auto* mean = std::get_if<folds::Mean>(&gathered.value);
    return mean == nullptr ? nullptr : &mean->values;
  }
  const auto* reports = std::get_if<folds::Reports>(&gathered.value);
  return reports == nullptr || reports->reports != gathered.records ? nullptr : &reports->totals;
}

bool Statistics::keeps_reports(std::size_t round) const {
  return reports_of(settings_.questions[round]) == releases::Randomiser::Gaussian;
}

Eigen::Index Statistics::numbers_of(std::size_t round) const {
  return ask_of(settings_.questions[round], settings_.noise, settings_.unit).answer_size();
}

void Statistics::save(ByteWriter& state) const {
  state.u64(estimates_.size());
  for (const Estimate& estimate : estimates_) {
    state.f64(estimate.value);
    state.f64(estimate.per_unit);
    state.i64(estimate.replies);
    state.i64(estimate.records);
  }
  // States of versions that kept nothing of what single silos said end here.
  const bool kept =
      std::any_of(estimates_.begin(), estimates_.end(), [](const Estimate& e) { return !e.answers.empty(); });
  if (!kept) return;
  for (const Estimate& estimate : estimates_) {
    state.u64(estimate.answers.size());
    for (const auto& [silo, totals] : estimate.answers) {
      state.text(silo.name());
      if (keeps_reports(estimate.round)) state.u64(totals.size());
      for (const std::int64_t total : totals) state.i64(total);
    }
  }
}

Status Statistics::restore_answers(ByteReader& state, std::size_t round) {
  constexpr std::uint64_t kSilosMax = 1'000'000;
  constexpr std::uint64_t kReportNumbersMax = std::uint64_t{1} << 24U;  // of a silo
  const Error cut{ErrorCode::Malformed, "the saved answers to the statistics are cut short"};
  const Result<std::uint64_t> silos = state.u64();
  if (!silos || *silos > kSilosMax) return cut;
  std::map<SiloId, std::vector<std::int64_t>>& answers = estimates_[round].answers;
  for (std::uint64_t i = 0; i < *silos; ++i) {
    const Result<std::string> name = state.text();
    if (!name) return cut;
    const Result<SiloId> silo = SiloId::create(*name);
    if (!silo) return cut;
    std::vector<std::int64_t>& totals = answers[*silo];
    auto numbers = static_cast<std::uint64_t>(numbers_of(round));
    if (keeps_reports(round)) {
      const Result<std::uint64_t> kept = state.u64();
      if (!kept || *kept > kReportNumbersMax) return cut;
      numbers = *kept;
    }
    for (std::uint64_t n = 0; n < numbers; ++n) {
      const Result<std::int64_t> total = state.i64();
      if (!total) return cut;
      totals.push_back(*total);
    }
  }
  return {};
}

Status Statistics::restore(ByteReader& state) {
  std::uint64_t count = 0;
  if (Status read = restore_count(state, settings_.questions.size(), count); !read) return read;
  estimates_.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<double> value = state.f64();
    const Result<double> per_unit = state.f64();
    const Result<std::int64_t> replies = state.i64();
    const Result<std::int64_t> records = state.i64();
    if (!value || !per_unit || !replies || !records)
      return Error{ErrorCode::Malformed, "the saved state of the statistics is cut short"};
    const StatisticAsked& asked = settings_.questions[i];
    Estimate& estimate = estimates_.emplace_back();
    estimate.name = asked.name;
    estimate.value = *value;
    estimate.per_unit = *per_unit;
    estimate.mean = std::holds_alternative<MeanAsked>(asked.what);
    estimate.replies = *replies;
    estimate.records = *records;
    estimate.round = i;
  }
  if (state.end()) return {};
  for (std::uint64_t i = 0; i < count; ++i)
    if (Status read = restore_answers(state, i); !read) return read;
  return {};
}

}  // namespace undertone::algorithms
