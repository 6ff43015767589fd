#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/base/ids.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/projection.hpp"
#include "shared/data/schema.hpp"
#include "shared/folds/aggregation.hpp"
#include "shared/jobs/initial_section.hpp"
#include "shared/jobs/noise_choice.hpp"
#include "shared/jobs/public_section.hpp"
#include "shared/jobs/shuffle_section.hpp"
#include "shared/jobs/simulation_section.hpp"
#include "shared/jobs/statistics_noise.hpp"
#include "shared/models/model.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/releases/unit.hpp"
#include "shared/theorems/theorem_choice.hpp"

namespace undertone::jobs {

/// A silo as the job counts on it, and its public weight p_i in the global objective (normalised over who answers).
struct CohortMember {
  releases::SiloFacts facts;
  std::uint64_t weight = 1;
};

/// Who must answer, until when.
struct Participation {
  std::size_t quorum = 1;
  std::chrono::milliseconds join_deadline{0};  // from the start of the run to the first round
  std::chrono::milliseconds round_deadline{0};
  std::chrono::milliseconds resend{0};  // how often an unanswered message is sent again
  std::chrono::milliseconds grace{0};   // how long a silo may be disconnected and still be waited for; 0: for ever
};

/// The clip norm of a job that says how heavy the tails of records' gradients are. @see theorems::MomentBound
struct MomentClip {
  theorems::MeanOracle oracle;
  std::string source;     // where the bound comes from, for people
  double clip = 0.0;      // a norm, or the threshold of every coordinate
  double shortest = 0.0;  // of the clips of phases, which may differ
  double bias =
      0.0;  // a round's mean is off by so much at most for being clipped to the shortest, if the bound is true
};
/// This is a sentence for people, and it says that no promise rests on the bound.
[[nodiscard]] std::string described(const MomentClip& moments);

/// What the operator asks for, but for what follows from it. Public as a whole, and the same bytes for everybody: their
/// SHA-256 is its identity.
struct JobTerms {
  std::string name;
  data::Schema schema;
  std::optional<data::Projection> projection;      // of the encoded features, to what the model reads
  std::optional<models::Model> model;              // none of a job of statistics
  std::optional<theorems::TheoremChoice> theorem;  // where one chose the algorithm and its numbers
  double draw_fraction = 1.0;
  bool with_replacement = false;                                                 // the draws: @see releases::RecordSet
  releases::Slice::Assignment parts = releases::Slice::Assignment::Permutation;  // of a method that reads records so
  releases::Bound bound;                         // of a record's gradient; of statistics that of an encoded number
  releases::Unit unit = releases::Unit::Record;  // what is protected
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;
  NoiseChoice noise_choice;
  std::optional<Shuffle> shuffle;    // of mode "shuffle"
  std::vector<CohortMember> cohort;  // in SiloId order
  Participation participation;
  std::uint64_t evaluation_every = 0;  // of a job with a model
  queries::PointType point_type = queries::PointType::F64;
  queries::WireLattice reply_lattice;
  folds::Aggregation aggregation;  // of answers; evaluations are always averaged
  std::optional<SimulationData> simulation;
  std::optional<Initial> initial;         // without one a run starts at 0, a network at its seed's weights
  std::optional<double> noise_norm = {};  // r of generalised Gaussian noise in l_r; nothing of any other
  std::optional<releases::PersonContribution> person = {};  // of unit person
  bool one_record_evaluated = false;                        // of unit person: @see Evaluation
  std::optional<std::size_t> silos_per_person = {};         // of unit person: without it, all of the cohort
  std::optional<PublicTerms> public_terms = {};             // records that the operator brings
  std::optional<MomentClip> moments = {};                   // where the clip follows from a moment
  bool standardised = false;  // the projection is each feature's own shift and scale: names stay the features'

  [[nodiscard]] const CohortMember* member(const SiloId& silo) const;
  /// @pre the bound is one in l2
  [[nodiscard]] const releases::ClipNorm& clip() const;
};

/// This is what the coordinator's public records tell before a job's first round.
struct PublicSide {
  double weight = 1.0;                        // of the silos' gradients, in [0, 1]
  std::string why;                            // it is this one, for people
  std::optional<Eigen::VectorXd> start = {};  // where the run starts: [d]
  /// The mean squared error of each side's mean gradient over a whole run, against what endless records would say. It
  /// is empty for a network, whose minimiser nobody knows.
  struct Errors {
    double open = 0.0;      // of the public records alone
    double silos = 0.0;     // of the silos' records and their noise
    double sampling = 0.0;  // of it, without the noise
    double variance = 0.0;  // V^2, of one record's gradient
    std::string why_bound;  // says why V^2 is the clip norm's square, unmeasured; empty where it was measured
    [[nodiscard]] double mixed() const { return open * silos / (open + silos); }  // at the best weight
  };
  std::optional<Errors> errors = {};
};

/// A job in its settled form: nothing is left to be chosen, so that it can be planned and run.
struct Job : JobTerms {
  algorithms::Method algorithm;  // of a job of statistics what asks for them
  /// It is empty for a job without public records, and where these are not at hand, as at a silo.
  std::optional<PublicSide> public_side = {};
};

/// A job in the form in which it was read: found in time and memory in proportion to its text, whatever the text says.
/// This is all that a thread may look at which others wait for. What a job of statistics leaves open - degrees, laws
/// and shares of noise - is chosen for a whole cohort by `settle`, which takes longer.
class ReadJob {
 public:
  /// @param open of a job of statistics: what says how its noise is chosen
  ReadJob(JobTerms terms, algorithms::Method asked, std::optional<StatisticsNoise> open, std::string file)
      : terms_(std::move(terms)), asked_(std::move(asked)), open_(open), file_(std::move(file)) {}
  [[nodiscard]] const JobTerms& terms() const noexcept { return terms_; }
  /// The algorithm's name, as policies name it.
  [[nodiscard]] std::string_view algorithm_name() const { return asked_->name(); }

  /// Chooses what is left open. A pure function, computed by both ends.
  /// @return an error where something that is asked for has no choice, or choosing takes more than `kSettleWorkMax`
  [[nodiscard]] Result<Job> settle() &&;
  /// What `settle` chose, from what `settled_choices` made of it: in time linear in the text. @return an error where
  /// the bytes are not of this job
  [[nodiscard]] Result<Job> settled_as(std::string_view choices) &&;

 private:
  JobTerms terms_;
  algorithms::Method asked_;
  std::optional<StatisticsNoise> open_;
  std::string file_;
};
/// What choosing may take, in operations of a WorkMeter.
inline constexpr std::uint64_t kSettleWorkMax = std::uint64_t{1} << 28U;
/// What was chosen for the job, for whoever keeps it with its run. Empty where nothing was left open.
[[nodiscard]] std::string settled_choices(const Job& job);

/// Of a job's file: a silo keeps it for every run it accepts.
inline constexpr std::size_t kJobBytesMax = std::size_t{1} << 20U;

/// @param bytes the exact bytes of the job file
/// @param file its name, for errors: file, JSON pointer, expected, found, for every problem
[[nodiscard]] Result<ReadJob> read_job(std::string_view bytes, const std::string& file);
/// Reads and settles. It may take a second: not on a thread that others wait for.
[[nodiscard]] Result<Job> parse_job(std::string_view bytes, const std::string& file);

/// The whole job: the file with what the parser takes for whatever it leaves out, in their places.
[[nodiscard]] Result<std::string> full_job(std::string_view bytes, const std::string& file);

/// The parser behind it. @param problems may be a recording one
[[nodiscard]] Result<ReadJob> read_job(const nlohmann::json& document, config::Problems& problems);

/// Whether the job's model is evaluated on what silos hold out: every model is, but one whose outcome says by itself
/// how sure it is and of which no silo holds records out.
[[nodiscard]] bool is_evaluated(const Job& job);

/// The covariates of a regression on a schema's features, which stay independent beside a constant: all but the first
/// value of each list in which no other value is allowed, since the indicators of its values add up to 1.
[[nodiscard]] std::vector<statistics::Covariate> covariates_of(const data::Schema& schema);
/// The features of a schema that are numbers and no dates.
[[nodiscard]] std::vector<algorithms::Problem::Number> numbers_of(const data::Schema& schema);

/// A bound on the norm of what a model reads of a record: encoded numbers lie in [-1, 1], of a category's at most one
/// is 1, and an intercept is a 1 beside them. Of projected records nothing is known.
[[nodiscard]] double record_norm(const models::Model& model, const data::Schema& schema);

/// Of the numbers that the model reads: the encoded features, or "component 1" and so on of a projection.
[[nodiscard]] std::vector<std::string> feature_names(const JobTerms& job);

/// What the job asks of every silo, in order.
[[nodiscard]] planning::Schedule schedule_of(const Job& job);

/// What hides a member's replies among others', if anything does.
[[nodiscard]] std::optional<planning::Shuffling> shuffling_of(const JobTerms& job);

/// The plan of one member: the same pure function at both ends.
[[nodiscard]] Result<planning::Plan> plan_of(const Job& job, const CohortMember& member);

/// The algorithm of a job with public records refuses its first `advance`. @see algorithms_with
[[nodiscard]] std::unique_ptr<algorithms::FederatedAlgorithm> make_algorithm(const Job& job);
/// @param load reads a job's public records; may be empty
[[nodiscard]] std::unique_ptr<algorithms::FederatedAlgorithm> make_algorithm_with(
    const Job& job, const algorithms::WithPublicRecords::Load& load);
/// What makes a job's algorithm: `make_algorithm`, or what gives one that asks and answers the same.
using AlgorithmMaker = std::function<std::unique_ptr<algorithms::FederatedAlgorithm>(const Job& job)>;

}  // namespace undertone::jobs
