#include "shared/jobs/public_records.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "shared/base/byte_stream.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::jobs {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{256} << 20U;
constexpr double kLeastRidge = 1e-6;
constexpr double kLeastPerWeight = 2.0;  // public records, where what they vary by is to be trusted: spec 0.2

/// This is sum_i p_i^2 / n_i, p_i a silo's share of the weights: the variance of the weighted mean over all silos'
/// records, where one record has variance 1.
double protected_share(const Job& job) {
  double weights = 0.0;
  for (const CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  double out = 0.0;
  for (const CohortMember& member : job.cohort) {
    const double share = static_cast<double>(member.weight) / weights;
    out += share * share / static_cast<double>(std::max<std::int64_t>(member.facts.records, 1));
  }
  return out;
}

/// The variance that noise adds to the weighted mean gradient of all silos.
double noise_of_mean(const Job& job, const GradientNoise& noise) {
  double weights = 0.0;
  for (const CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  double out = 0.0;
  for (const CohortMember& member : job.cohort) {
    const auto known = noise.find(planned_facts(member.facts));
    UNDERTONE_CHECK(known != noise.end());
    const double share = static_cast<double>(member.weight) / weights;
    out += share * share * known->second;
  }
  return out;
}

double gradient_rounds(const Job& job) {
  double out = 0.0;
  for (const planning::ScheduledRounds& part : schedule_of(job))
    if (part.ask.kind() == releases::QuestionKind::Gradient) out += static_cast<double>(part.rounds);
  return std::max(out, 1.0);
}

double warm_ridge(const Job& job, double records) {
  const PublicTerms& terms = *job.public_terms;
  if (terms.warm_ridge) return *terms.warm_ridge;
  double all = records;
  for (const CohortMember& member : job.cohort) all += static_cast<double>(member.facts.records);
  return job.algorithm->problem().regulariser.l2() * all / records;
}

/// The file is read for this alone, so that no record is made of another file.
Result<Digest> digest_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Sha256 digest;
  std::string block(std::size_t{1} << 20U, '\0');
  for (std::size_t read = 0; stream && read <= kFileBytesMax; read += block.size()) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    digest.update({block.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (!stream.eof())
    return Error{ErrorCode::StorageFailed,
                 fmt::format("public records \"{}\": cannot be read", file.filename().string())};
  return digest.finish();
}

/// An operator is not told where a service keeps its files.
std::string without(const std::string& folder, std::string text) {
  if (folder.empty()) return text;
  const std::string prefix = folder + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.erase(at, prefix.size());
  return text;
}

/// This holds V^2 of spec public-data 5.2, which is what one record's gradient varies by.
struct GradientVariance {
  double open = 0.0;      // of a public record, > 0
  double silos = 0.0;     // of a protected one, which is clipped, > 0
  std::string why_bound;  // says why the clip norm's square stands for both; empty where they were measured
};

/// Measures it, or takes the clip norm's square. That is the most that clipped gradients vary by, and a guess for raw
/// ones. A wrong guess costs accuracy alone, and no privacy. Spec 0.2 gives such public records no weight at all: on
/// the data of spec 0.4 and on wdbc, whose gradients are raw, this weight is no worse beyond noise, and much better
/// where epsilon is small (docs/experiments.md).
GradientVariance gradient_variance(const models::PublicLoss& loss, models::PublicGradients gradients, double clip,
                                   double ridge) {
  const double bound = clip * clip;
  const auto guessed = [&](std::string why) { return GradientVariance{bound, bound, std::move(why)}; };
  if (static_cast<double>(loss.records()) < kLeastPerWeight * static_cast<double>(loss.dimension()))
    return guessed(
        fmt::format("{} public records are fewer than two for each of {} weights", loss.records(), loss.dimension()));
  // A part of the records may be singular without a ridge where the whole is not.
  const Result<double> found = loss.cross_fitted_variance(gradients, clip, ridge > 0.0 ? ridge : kLeastRidge);
  if (!found) return guessed(found.error().message);
  if (!(*found > 0.0 && std::isfinite(*found))) return guessed("the public records' gradients do not vary");
  // The silos' gradients are clipped, whatever the public ones are.
  const double clipped = std::min(*found, bound);
  return {gradients == models::PublicGradients::Raw ? *found : clipped, clipped, {}};
}

/// Finds the weight of the silos' gradients in a job of mixed gradients, and says why it is that one.
void weigh(const Job& job, const algorithms::MixedGradients& how, const models::PublicLoss& loss, double ridge,
           const GradientNoise& noise, PublicSide& out) {
  double records = static_cast<double>(loss.records());  // public ones, wherever they are
  if (job.public_terms->at_silos)
    for (const CohortMember& member : job.cohort) records += static_cast<double>(member.facts.public_records);
  const double clip = job.clip().value();
  const GradientVariance variance = gradient_variance(loss, how.gradients, clip, ridge);
  const double sampling = variance.silos * protected_share(job);
  out.errors = {variance.open / records, noise_of_mean(job, noise) / gradient_rounds(job) + sampling, sampling,
                variance.open, variance.why_bound};
  if (how.weight) {
    out.weight = *how.weight;
    out.why = job.public_terms->counts_alike ? "every record counts alike" : "as the job says";
    return;
  }
  out.weight = algorithms::best_weight(out.errors->open, out.errors->silos);
  out.why = "what varies least";
  if (!variance.why_bound.empty())
    out.why += fmt::format(" if a gradient varies by as much as a clipped one can, since {}", variance.why_bound);
}

}  // namespace

bool brings_file(const JobTerms& job) { return job.public_terms && job.public_terms->file; }

Result<std::shared_ptr<const models::PublicGradientSource>> load_public_records(
    const Job& job, const std::optional<std::filesystem::path>& folder) {
  UNDERTONE_CHECK(job.public_terms && job.public_terms->file && job.model);
  const PublicFile& terms = *job.public_terms->file;
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("public records \"{}\": {}", terms.name, why)};
  };
  if (!folder)
    return refuse("no folder of public records is given: a coordinator's configuration names one as public_folder");
  const std::filesystem::path file = *folder / terms.name;
  std::error_code error;
  const std::uintmax_t bytes =
      std::filesystem::is_regular_file(file, error) ? std::filesystem::file_size(file, error) : 0;
  if (error || bytes == 0) return refuse("expected a file that is not empty in the folder of public records");
  if (bytes > kFileBytesMax)
    return Error{ErrorCode::LimitExceeded,
                 refuse(fmt::format("{} bytes, expected at most {}", bytes, kFileBytesMax)).message};
  const auto is_another = [&] {
    return refuse(fmt::format("expected the file that the job was written for, of SHA-256 {}: this one is another",
                              to_hex(terms.sha256)));
  };
  UNDERTONE_TRY(const Digest found, digest_of(file));
  if (found != terms.sha256) return is_another();
  Sha256 parsed;  // of the very bytes that become records: somebody may write meanwhile
  data::CsvOptions options;
  options.bytes = [&](std::string_view part) { parsed.update(part); };
  options.dialect = terms.dialect;
  options.records_max = terms.records;
  Result<data::TableRecords> read = data::read_csv(file, job.schema, options);
  if (!read) return refuse(without(folder->string(), read.error().message));
  if (parsed.finish() != terms.sha256) return is_another();
  data::Dataset dataset;
  dataset.public_records = std::move(read->records);
  if (dataset.public_records.targets.size() != terms.records)
    return refuse(fmt::format("the job says {} records, the file holds {}", terms.records,
                              dataset.public_records.targets.size()));
  if (job.projection) dataset = job.projection->project(dataset);
  using Source = std::shared_ptr<const models::PublicGradientSource>;
  if (const models::Network* network = job.model->network()) {
    auto made = models::PublicNetworkGradients::create(*network, std::move(dataset.public_records));
    if (!made) return refuse(made.error().message);
    return Source(std::make_shared<const models::PublicNetworkGradients>(*std::move(made)));
  }
  Result<models::PublicLoss> loss = models::PublicLoss::create(*job.model->linear(), std::move(dataset.public_records));
  if (!loss) return refuse(loss.error().message);
  return Source(std::make_shared<const models::PublicLoss>(*std::move(loss)));
}

double noise_of_gradient(const std::vector<planning::Plan::Segment>& plan) {
  double rounds = 0.0;
  double sum = 0.0;
  for (const planning::Plan::Segment& segment : plan) {
    const planning::Release& release = segment.release;
    if (release.ask.kind() != releases::QuestionKind::Gradient) continue;
    const double stddev = release.noise_stddev_of_mean();
    double square = stddev * stddev * static_cast<double>(release.ask.dimension);
    // Reports are no longer than they are, whatever their largest variance on one number is.
    if (const auto* reported = std::get_if<mechanisms::DirectionSum>(&release.mechanism))
      square = std::min(square, reported->clip * reported->clip * reported->direction().square_max() /
                                    static_cast<double>(release.records_drawn));
    rounds += static_cast<double>(segment.rounds);
    sum += static_cast<double>(segment.rounds) * square;
  }
  return rounds > 0.0 ? sum / rounds : 0.0;
}

Result<PublicSide> public_side_of(const Job& job, const models::PublicGradientSource& records,
                                  const GradientNoise& noise) {
  UNDERTONE_CHECK(job.public_terms && job.public_terms->file);
  const PublicTerms& terms = *job.public_terms;
  if (records.linear() == nullptr) {  // of a network the job says all: no minimiser, and no variance at it
    PublicSide out;
    out.weight = std::get<algorithms::MixedGradients>(terms.use).weight.value();
    out.why = terms.counts_alike
                  ? "every record counts alike"
                  : "of a network nobody knows beforehand what gradients vary by, so the weight is the job's";
    return out;
  }
  const models::PublicLoss& loss = *records.linear();
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("public records \"{}\": {}", terms.file->name, why)};
  };
  PublicSide out;
  const double ridge = warm_ridge(job, static_cast<double>(loss.records()));
  if (terms.warm_start) {
    Result<models::Minimiser> minimiser =
        terms.solver == PublicTerms::Solver::Minimiser
            ? loss.minimiser(ridge)
            : models::Minimiser{loss.one_pass(std::get<geometry::L2Ball>(job.algorithm->problem().domain.set()),
                                              job.clip().value(), ridge)};
    if (!minimiser)
      return refuse("where the run would start: " + minimiser.error().message + ", a warm_ridge, or no warm_start");
    algorithms::Problem problem = job.algorithm->problem();
    // Such weights are no point of a model, and a projection of them would end the process.
    const double largest = minimiser->weights.allFinite() ? minimiser->weights.cwiseAbs().maxCoeff() : INFINITY;
    if (largest > geometry::kParameterMax || !problem.representable(minimiser->weights))
      return refuse(fmt::format(
          "where the run would start: the records' minimiser has a weight of {:.3g}, which is more than a point may "
          "have: expected a larger warm_ridge, or \"warm_start\": false",
          largest));
    problem.settle(minimiser->weights);
    if (const auto made = job.algorithm->make_at(minimiser->weights); !made)
      return refuse("where the run would start: " + made.error().message + ": expected \"warm_start\": false");
    out.start = std::move(minimiser->weights);
  }
  if (const auto* how = std::get_if<algorithms::MixedGradients>(&terms.use)) {
    weigh(job, *how, loss, ridge, noise, out);
  } else if (const auto made = algorithms::mirror_matrix(loss, std::get<algorithms::PublicMirror>(terms.use)); !made) {
    return refuse(made.error().message);
  }
  return out;
}

Result<PublicSide> public_side(const Job& job, const std::optional<std::filesystem::path>& folder,
                               const Planner& planner) {
  UNDERTONE_TRY(const std::shared_ptr<const models::PublicGradientSource> loss, load_public_records(job, folder));
  GradientNoise noise;
  for (const CohortMember& member : job.cohort) {
    const PlannedFacts facts = planned_facts(member.facts);
    if (noise.contains(facts)) continue;
    UNDERTONE_TRY(const planning::Plan plan, planner(job, member));
    noise.emplace(facts, noise_of_gradient(plan.segments()));
  }
  return public_side_of(job, *loss, noise);
}

std::string save(const std::optional<PublicSide>& side) {
  if (!side) return {};
  ByteWriter writer;
  writer.f64(side->weight);
  writer.text(side->why);
  writer.u64(side->start ? 1 : 0);
  if (side->start) writer.doubles(side->start->data(), static_cast<std::size_t>(side->start->size()));
  return std::move(writer).bytes();
}

Result<std::optional<PublicSide>> read_public_side(std::string_view bytes, const Job& job) {
  if (bytes.empty() && !brings_file(job)) return std::optional<PublicSide>();
  const Error damaged{ErrorCode::Malformed, "what is kept of the public records is not of this job"};
  if (bytes.empty() || !brings_file(job)) return damaged;
  ByteReader reader(bytes);
  PublicSide out;
  UNDERTONE_TRY(out.weight, reader.f64());
  UNDERTONE_TRY(out.why, reader.text());
  UNDERTONE_TRY(const std::uint64_t started, reader.u64());
  if (started == 1) {
    UNDERTONE_TRY(const std::vector<double> start, reader.doubles());
    out.start = Eigen::Map<const Eigen::VectorXd>(start.data(), static_cast<Eigen::Index>(start.size()));
  }
  if (const Status end = reader.end(); !end) return end.error();
  if (!(out.weight >= 0.0 && out.weight <= 1.0) || started > 1 ||
      (out.start && (out.start->size() != job.algorithm->problem().dimension || !job.algorithm->make_at(*out.start))))
    return damaged;
  return std::optional(std::move(out));
}

AlgorithmMaker algorithms_with(std::optional<std::filesystem::path> folder) {
  return [folder = std::move(folder)](const Job& job) {
    if (!brings_file(job)) return make_algorithm(job);
    return make_algorithm_with(job, [job, folder] { return load_public_records(job, folder); });
  };
}

}  // namespace undertone::jobs
