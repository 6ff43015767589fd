#include "simulation/simulate.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/persons.hpp"
#include "shared/jobs/planner.hpp"
#include "simulation/dealt_data.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::simulation {
namespace {

constexpr std::size_t kJobBytesMax = 16U << 20U;

/// A simulated institution allows what the job asks for, once.
silo::Policy policy_for(const jobs::Job& job, const jobs::CohortMember& member) {
  return {job.model ? std::vector<std::string>{std::string(job.model->name())} : std::vector<std::string>{},
          {std::string(job.algorithm->name())},
          {std::string(releases::to_string(job.unit))},
          1,
          1,
          member.facts.epsilon(),
          *releases::Delta::create(std::max(member.facts.delta(), std::numeric_limits<double>::min())),
          {*releases::EpsilonAmount::rounded_up(member.facts.epsilon().value()),
           *releases::DeltaAmount::rounded_up(member.facts.delta())},
          silo::Approval::Automatic,
          std::chrono::milliseconds(1),  // of virtual time: selections are answered at no other interval than one
          std::nullopt,
          true,
          silo::ExplainRefusals::Full,
          true,
          true};
}

/// The failure with what the silos said of it, each in full: a simulated owner has nothing to hide.
Error explained(Error failure, const std::optional<coordinator::RunRecord>& record) {
  if (!record) return failure;
  for (const auto& [silo, explanation] : record->explanations) {
    if (!explanation.empty()) failure.message += fmt::format("\n  {} refused: {}", silo.name(), explanation);
  }
  return failure;
}

Status write_out(const std::filesystem::path& out, const coordinator::RunReport& report, const std::string& job_bytes) {
  if (Status written = coordinator::write_results(out, report); !written) return written;
  return write_file_atomically(out / "job.json", job_bytes);
}

Error stopped_error() { return {ErrorCode::Cancelled, "the simulation was stopped"}; }

Result<coordinator::RunReport> run_directly(const jobs::Job& job, const std::string& bytes,
                                            const std::filesystem::path& folder,
                                            const std::vector<SimulatedSilo>& silos, const SimulationSettings& settings,
                                            const SimulationWatch& watch) {
  const RunId run{sha256(bytes), settings.nonce.value_or(simulated_nonce(settings.seed))};
  UNDERTONE_TRY(PlannedCohort planned, plan_cohort(job, silos));
  UNDERTONE_TRY(const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, algorithm_of(job, planned, folder));
  UNDERTONE_TRY(DirectCohort cohort,
                DirectCohort::create({job.model, job.reply_lattice, run, settings.seed, settings.noise,
                                      settings.answering, settings.threads, job.aggregation, settings.stop},
                                     std::move(planned.members)));
  std::uint64_t rounds = 0;
  for (const planning::ScheduledRounds& part : jobs::schedule_of(job)) rounds += part.rounds;
  std::size_t rows_seen = 0;
  Result<algorithms::Outcome> outcome =
      cohort.train(*algorithm, [&](RoundIndex round, const algorithms::FederatedAlgorithm& running) {
        const std::vector<algorithms::MetricsRow> rows = running.metrics();
        SimulatedRound over{round, rounds, std::nullopt};
        if (rows.size() > rows_seen) {
          over.metrics = rows.back();
          over.metrics->noise_stddev = cohort.metrics_noise();
        }
        rows_seen = rows.size();
        if (watch) watch(over, job);
      });
  if (!outcome && outcome.error().code == ErrorCode::Cancelled) return outcome.error();
  std::map<SiloId, std::optional<wire::Refusal>> answers;
  for (const SimulatedSilo& silo : silos) answers.emplace(silo.id, std::nullopt);
  return coordinator::RunReport{job,
                                run,
                                "direct simulation",
                                settings.noise == SimulatedNoise::None,
                                std::move(outcome),
                                {},
                                std::move(answers)};
}

Result<coordinator::RunReport> run_federation(const jobs::Job& job, const std::string& bytes, const std::string& name,
                                              const std::filesystem::path& folder, std::vector<SimulatedSilo> silos,
                                              const SimulationSettings& settings, const SimulationWatch& watch) {
  SimulatedFederation federation({.jobs = {{bytes, name, settings.nonce}},
                                  .silos = std::move(silos),
                                  .seed = settings.seed,
                                  .noise = settings.noise,
                                  .public_folder = folder,
                                  .stop = settings.stop});
  SimulatedFederation::Watch seen;
  seen.of_run = [&](const coordinator::JobService::OfRun& said) {
    const auto* closed = std::get_if<coordinator::RunMachine::RoundClosed>(&said.what);
    if (closed != nullptr && watch) watch({closed->round, closed->rounds, closed->metrics}, job);
  };
  federation.run(seen);
  if (settings.stop && settings.stop()) return stopped_error();
  if (!federation.violations().empty()) return Error{ErrorCode::Internal, federation.violations().front()};
  Result<algorithms::Outcome> outcome = federation.outcome();
  const Result<std::optional<coordinator::RunRecord>> record = federation.store().find(federation.run_id());
  if (!record || !*record) return Error{ErrorCode::Internal, "the simulated store cannot be read"};
  if (!outcome) outcome = explained(outcome.error(), *record);
  const Result<std::vector<coordinator::RoundRecord>> rounds = federation.store().rounds(federation.run_id());
  if (!rounds) return Error{ErrorCode::Internal, "the simulated store cannot be read"};
  return coordinator::RunReport{
      job,     federation.run_id(), "simulation", settings.noise == SimulatedNoise::None, std::move(outcome),
      *rounds, (*record)->answers};
}

/// The places of a job that a pointer means: a segment `*` stands for every element of an array. Where it names nothing
/// there is none.
std::vector<nlohmann::json::json_pointer> places_of(const nlohmann::json& job, const std::string& pointer) {
  const std::size_t star = pointer.find("/*");
  const bool is_segment = star != std::string::npos && (star + 2 == pointer.size() || pointer[star + 2] == '/');
  nlohmann::json::json_pointer above(is_segment ? pointer.substr(0, star) : pointer);
  if (!job.contains(above)) return {};
  if (!is_segment || !job.at(above).is_array()) {
    nlohmann::json::json_pointer whole(pointer);
    if (!job.contains(whole)) return {};
    return {std::move(whole)};
  }
  std::vector<nlohmann::json::json_pointer> out;
  for (std::size_t i = 0; i < job.at(above).size(); ++i) {
    const std::vector<nlohmann::json::json_pointer> of_one =
        places_of(job, fmt::format("{}/{}{}", pointer.substr(0, star), i, pointer.substr(star + 2)));
    if (of_one.empty()) return {};
    out.insert(out.end(), of_one.begin(), of_one.end());
  }
  return out;
}

/// Whether a pointer is into a section that the job has left out, such as the simulation of a draft. A section that no
/// job has is refused where the job is parsed.
bool is_of_new_section(const nlohmann::json& job, const std::string& pointer) {
  if (pointer.size() < 2 || pointer.front() != '/' || pointer.find('*') != std::string::npos || !job.is_object())
    return false;
  return !job.contains(pointer.substr(1, pointer.find('/', 1) - 1));
}

}  // namespace

Result<std::string> job_for_simulation(const std::string& bytes, const std::string& file,
                                       const std::vector<std::string>& set) {
  UNDERTONE_TRY(config::JsonDocument document, config::parse_json(bytes, file));
  nlohmann::json changed = document.root;
  try {
    for (const std::string& assignment : set) {
      const std::size_t equals = assignment.find('=');
      if (equals == std::string::npos) {
        return Error{ErrorCode::InvalidArgument, fmt::format("--set {}: expected /json/pointer=value", assignment)};
      }
      const std::string text = assignment.substr(equals + 1);
      nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
      if (value.is_discarded()) value = text;
      const std::string pointer = assignment.substr(0, equals);
      std::vector<nlohmann::json::json_pointer> places = places_of(changed, pointer);
      if (places.empty() && is_of_new_section(changed, pointer)) places.emplace_back(pointer);
      if (places.empty()) {
        return Error{ErrorCode::InvalidArgument, fmt::format("--set {}: the job has no such value", assignment)};
      }
      for (const nlohmann::json::json_pointer& place : places) changed[place] = value;
    }
    if (changed.is_object() && changed.contains("privacy") && changed["privacy"].is_object())
      changed["privacy"]["noise"] = "test";
  } catch (const nlohmann::json::exception& /*a library's words*/) {
    return Error{
        ErrorCode::InvalidArgument,
        "--set: expected /json/pointer=value with the place of a value in the job, such as /cohort/0/epsilon=2"};
  }
  return changed == document.root ? bytes : changed.dump(2) + "\n";
}

namespace {

/// As a silo divides its persons, by a hash of their ids, which here is nobody's secret.
/// @param ids of each record whose it is
Result<data::Dataset> split_by_person(const models::Records& records, const std::vector<std::string>& ids,
                                      const data::SplitRule& rule) {
  std::vector<data::PersonKey> persons;
  for (const std::string& id : ids) {
    const Digest digest = sha256("simulated person " + std::string(data::id_in(id)));
    data::PersonKey& key = persons.emplace_back();
    std::copy_n(digest.begin(), key.size(), key.begin());
  }
  return data::split_persons(records, persons, rule);
}

Result<data::Dataset> split_dealt_persons(const data::CsvTable& file, const models::Records& records,
                                          const jobs::Job& job, const jobs::CohortMember& member) {
  const auto column = std::find(file.header.begin(), file.header.end(), job.simulation->person_column);
  UNDERTONE_CHECK(column != file.header.end());  // they were dealt by it
  std::vector<std::string> ids;
  for (const std::vector<std::string>& row : file.rows)
    ids.push_back(row[static_cast<std::size_t>(column - file.header.begin())]);
  return split_by_person(records, ids, split_of(job, member));
}

/// A silo that allows what the job asks for.
SimulatedSilo willing_silo(const jobs::Job& job, const jobs::CohortMember& member, data::Dataset dataset) {
  silo::DatasetFacts own{job.schema,
                         dataset.training.count(),
                         dataset.holdout.count(),
                         member.facts.holdout_public,
                         dataset.public_records.count(),
                         job.unit};
  return {member.facts.silo, policy_for(job, member), std::move(own), std::move(dataset)};
}

}  // namespace

Result<std::vector<SimulatedSilo>> silos_of(const jobs::Job& job, const std::filesystem::path& job_file) {
  UNDERTONE_TRY(const DealtData dealt, DealtData::deal(job, job_file));
  std::vector<SimulatedSilo> silos;
  for (std::size_t i = 0; i < job.cohort.size(); ++i) {
    const releases::SiloFacts& facts = job.cohort[i].facts;
    UNDERTONE_TRY(
        const models::Records records,
        data::to_records(dealt.file_of(i), job.schema, fmt::format("{}, silo {}", dealt.name(), facts.silo.name())));
    UNDERTONE_TRY(data::Dataset dataset, job.unit == releases::Unit::Person
                                             ? split_dealt_persons(dealt.file_of(i), records, job, job.cohort[i])
                                             : data::split(records, split_of(job, job.cohort[i])));
    if (facts.public_records > 0) {
      UNDERTONE_TRY(dataset.public_records,
                    data::to_records(dealt.public_file_of(i), job.schema,
                                     fmt::format("{}, public records of {}", dealt.name(), facts.silo.name())));
    }
    silos.push_back(willing_silo(job, job.cohort[i], std::move(dataset)));
  }
  return silos;
}

Result<std::vector<SimulatedSilo>> silos_with(const jobs::Job& job, const std::vector<SiloTable>& tables) {
  std::vector<SimulatedSilo> silos;
  for (const jobs::CohortMember& member : job.cohort) {
    const releases::SiloFacts& facts = member.facts;
    const auto wrong = [&](const std::string& what) {
      return Error{ErrorCode::InvalidArgument, fmt::format("silo {}: {}", facts.silo.name(), what)};
    };
    const auto table =
        std::find_if(tables.begin(), tables.end(), [&](const SiloTable& one) { return one.silo == facts.silo; });
    if (table == tables.end()) return wrong("expected its table, found none");
    UNDERTONE_TRY(const models::Records records,
                  data::to_records(table->records, job.schema, fmt::format("silo {}", facts.silo.name())));
    const data::SplitRule rule =
        job.simulation ? split_of(job, member) : data::SplitRule{jobs::holdout_fraction_of(facts), 0, std::nullopt};
    const bool persons = job.unit == releases::Unit::Person;
    if (persons && table->persons.size() != static_cast<std::size_t>(records.count()))
      return wrong("the job protects persons: expected of every record whose it is");
    if (persons && table->holdout) return wrong("the job protects persons: expected those held out in its own table");
    data::Dataset dataset{records, {}};
    if (table->holdout) {
      UNDERTONE_TRY(dataset.holdout, data::to_records(*table->holdout, job.schema,
                                                      fmt::format("holdout of silo {}", facts.silo.name())));
    } else {
      UNDERTONE_TRY(dataset, persons ? split_by_person(records, table->persons, rule) : data::split(records, rule));
    }
    if (table->public_records) {
      UNDERTONE_TRY(dataset.public_records,
                    data::to_records(*table->public_records, job.schema,
                                     fmt::format("public records of silo {}", facts.silo.name())));
    }
    if (dataset.training.count() != facts.records || dataset.holdout.count() != facts.holdout_records ||
        dataset.public_records.count() != facts.public_records) {
      return wrong(fmt::format(
          "the job counts on {} {} to train on, {} held out and {} public ones, its table gives {}, {} and {}",
          facts.records, releases::plural_of(job.unit), facts.holdout_records, facts.public_records,
          dataset.training.count(), dataset.holdout.count(), dataset.public_records.count()));
    }
    silos.push_back(willing_silo(job, member, std::move(dataset)));
  }
  return silos;
}

bool shares_records(const std::filesystem::path& job_file) {
  const Result<std::string> bytes = read_file(job_file, kJobBytesMax);
  const Result<jobs::Job> job = bytes ? jobs::parse_job(*bytes, job_file.string()) : Result<jobs::Job>(bytes.error());
  return job && job->simulation && job->simulation->shared;
}

Result<coordinator::RunReport> run_job(const jobs::Job& job, const std::string& bytes, const std::string& name,
                                       const std::filesystem::path& folder, std::vector<SimulatedSilo> silos,
                                       const SimulationSettings& settings, const SimulationWatch& watch) {
  if (settings.direct || job.shuffle || job.algorithm->traits().simulated_only)
    return run_directly(job, bytes, folder, silos, settings, watch);
  return run_federation(job, bytes, name, folder, std::move(silos), settings, watch);
}

Result<algorithms::Outcome> simulate(const SimulateOptions& options, const std::optional<std::filesystem::path>& out,
                                     const SimulationWatch& watch) {
  const std::string name = options.job.string();
  UNDERTONE_TRY(const std::string file, read_file(options.job, kJobBytesMax));
  UNDERTONE_TRY(const std::string bytes, job_for_simulation(file, name, options.set));
  UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(bytes, name));
  if (const Result<jobs::PlausibleCohort> planned = jobs::PlausibleCohort::of(job, name); !planned)
    return planned.error();
  UNDERTONE_TRY(std::vector<SimulatedSilo> silos, silos_of(job, options.job));
  UNDERTONE_TRY(const coordinator::RunReport report,
                run_job(job, bytes, name, options.job.parent_path(), std::move(silos), options, watch));
  if (out) UNDERTONE_TRY(write_out(*out, report, bytes));
  return report.outcome;
}

Result<algorithms::MetricsRow> simulate_without_privacy(const std::filesystem::path& job) {
  SimulateOptions plain;
  plain.job = job;
  plain.noise = SimulatedNoise::None;
  plain.direct = true;
  // Of a label that is a number a step of 1 / beta at most: its loss grows without bound.
  double step = 0.5;
  nlohmann::json privacy = {{"mode", "isrl"}, {"unit", "record"}, {"noise", "test"}, {"clip_norm", 100}};
  if (const Result<std::string> bytes = read_file(job, kJobBytesMax)) {
    const Result<jobs::Job> parsed = jobs::parse_job(*bytes, job.string());
    if (parsed && parsed->person) {
      privacy["unit"] = "person";
      privacy["person"] = {{"contribution", std::string(releases::to_string(parsed->person->form))},
                           {"records_max", parsed->person->records_max}};
    }
    if (parsed && parsed->model && !parsed->model->classifies()) {
      const double norm = jobs::record_norm(*parsed->model, parsed->schema);
      if (const auto smoothness = parsed->model->constants(norm).smoothness) step = std::min(step, 1.0 / *smoothness);
    }
  }
  // The whole section, so that a shuffled job's silos answer with means, too, and not with counts on its coarse grid.
  plain.set = {
      fmt::format(R"(/algorithm={{"kind":"noisy_minibatch_sgd","rounds":1500,"step_size":{},"averaging":"last",)"
                  R"("draw_fraction":1}})",
                  step),
      R"(/regulariser={"kind":"l2","strength":0.001})", "/privacy=" + privacy.dump(), "/evaluation/every=0",
      "/wire/replies=i64"};
  UNDERTONE_TRY(const algorithms::Outcome outcome, simulate(plain, std::nullopt, nullptr));
  return outcome.metrics.back();
}

Result<std::vector<std::filesystem::path>> partition(const std::filesystem::path& job_file,
                                                     const std::filesystem::path& out) {
  UNDERTONE_TRY(const std::string bytes, read_file(job_file, kJobBytesMax));
  UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(bytes, job_file.string()));
  UNDERTONE_TRY(const DealtData dealt, DealtData::deal(job, job_file));
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", out.string(), error.message())};
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < job.cohort.size(); ++i) {
    const auto write = [&](const data::CsvTable& table, const char* suffix) -> Status {
      std::string text = data::csv_line(table.header);
      for (const std::vector<std::string>& row : table.rows) text += data::csv_line(row);
      files.push_back(out / (job.cohort[i].facts.silo.name() + suffix));
      return write_file_atomically(files.back(), text);
    };
    UNDERTONE_TRY(write(dealt.file_of(i), ".csv"));
    if (job.cohort[i].facts.public_records > 0) UNDERTONE_TRY(write(dealt.public_file_of(i), "-public.csv"));
  }
  return files;
}

}  // namespace undertone::simulation
