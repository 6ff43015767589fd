#include "lab/sweep/sweep_command.hpp"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

#include "lab/exit_code.hpp"
#include "lab/simulate.hpp"
#include "lab/simulation/direct_cohort.hpp"
#include "lab/sweep/sweep_plan.hpp"
#include "shared/base/files.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/csv_table.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kLinesBytesMax = std::size_t{4} << 30U;
constexpr const char* kWarning =
    "not private: noise is seeded, and whoever picks settings by these numbers has looked at the silos' records; that "
    "choice is charged to nobody";

/// What every run of a sweep shares. Read-only while runs are made.
struct Sweep {
  SweepPlan plan;
  std::string job_bytes;
  nlohmann::json job;
  std::vector<SimulatedSilo> silos;
  std::vector<std::string> metrics;
};

Result<Sweep> load_sweep(const std::filesystem::path& file) {
  const Result<std::string> bytes = read_file(file, kFileBytesMax);
  if (!bytes) return bytes.error();
  Result<SweepPlan> plan = parse_sweep(*bytes, file);
  if (!plan) return plan.error();
  const Result<std::string> job_bytes = read_file(plan->job, config::kJobBytesMax);
  if (!job_bytes) return job_bytes.error();
  Result<std::string> tested = job_for_simulation(*job_bytes, plan->job.string(), {});
  if (!tested) return tested.error();
  const Result<config::Job> job = config::parse_job(*tested, plan->job.string());
  if (!job) return job.error();
  Result<std::vector<SimulatedSilo>> silos = silos_of(*job, plan->job);
  if (!silos) return silos.error();
  Sweep sweep{*std::move(plan), *std::move(tested), {}, *std::move(silos), {}};
  sweep.job = nlohmann::json::parse(sweep.job_bytes);
  for (const std::string_view name : job->model.metric_names()) sweep.metrics.emplace_back(name);
  return sweep;
}

/// What a run says of itself.
struct RunNumbers {
  Json json;
};

Result<RunNumbers> outcome_of(const Sweep& sweep, const SweepCell& cell) {
  const Result<std::vector<std::string>> set = assignments_of(sweep.plan, cell, sweep.job);
  if (!set) return set.error();
  const Result<std::string> bytes = job_for_simulation(sweep.job_bytes, sweep.plan.job.string(), *set);
  if (!bytes) return bytes.error();
  const Result<config::Job> job = config::parse_job(*bytes, sweep.plan.job.string());
  if (!job) return job.error();
  Result<DirectCohort> cohort =
      DirectCohort::create({*job,
                            sweep.silos,
                            {sha256(*bytes), simulated_nonce(cell.seed)},
                            cell.seed,
                            sweep.plan.noiseless ? SimulatedNoise::None : SimulatedNoise::Seeded,
                            sweep.plan.answering,
                            1});
  if (!cohort) return cohort.error();
  double epsilon = 0.0;
  for (std::size_t i = 0; i < sweep.silos.size(); ++i)
    epsilon = std::max(epsilon, cohort->plan(i).epsilon().value_rounded_up());
  const Result<algorithms::Outcome> outcome = cohort->train(*config::make_algorithm(*job));
  if (!outcome) return outcome.error();
  RunNumbers out;
  out.json["epsilon"] = sweep.plan.noiseless ? Json(nullptr) : Json(epsilon);
  const algorithms::MetricsRow& last = outcome->metrics.back();
  for (std::size_t m = 0; m < last.values.size(); ++m) out.json[sweep.metrics[m]] = last.values[m];
  return out;
}

Json line_of(const Sweep& sweep, const SweepCell& cell) {
  Json line{{"run", cell.index}};
  for (std::size_t a = 0; a < sweep.plan.axes.size(); ++a) line["set"][sweep.plan.axes[a].pointer] = cell.values[a];
  line["seed"] = cell.seed;
  const Result<RunNumbers> outcome = outcome_of(sweep, cell);
  if (outcome) {
    line["result"] = outcome->json;
  } else {
    line["error"] = outcome.error().message;
  }
  return line;
}

/// The first line of sweep.jsonl: what the others are of.
std::string header_of(const Sweep& sweep, const std::string& file_bytes) {
  return Json{{"format", "undertone.sweep-results/1"},
              {"sweep", to_hex(sha256(file_bytes))},
              {"job", to_hex(sha256(sweep.job_bytes))},
              {"note", kWarning}}
             .dump() +
         "\n";
}

/// Lines that are whole; what a killed process left of the next one is dropped.
struct Lines {
  std::string kept;
  std::size_t runs = 0;
};
Result<Lines> lines_so_far(const std::filesystem::path& file, const std::string& header) {
  if (!std::filesystem::exists(file)) return Lines{header, 0};
  const Result<std::string> text = read_file(file, kLinesBytesMax);
  if (!text) return text.error();
  if (text->compare(0, header.size(), header) != 0) {
    if (header.compare(0, text->size(), *text) == 0) return Lines{header, 0};
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: of another sweep, or its job has changed: choose another folder", file.string())};
  }
  Lines lines{text->substr(0, text->rfind('\n') + 1), 0};
  for (const char c : lines.kept) lines.runs += c == '\n' ? 1 : 0;
  lines.runs -= 1;  // the header
  return lines;
}

/// Appends lines in the order of their runs, whatever order they come in.
class OrderedLines {
 public:
  OrderedLines(int file, std::size_t next, std::size_t total) : file_(file), next_(next), total_(total) {}
  void add(std::size_t run, std::string line) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(run, std::move(line));
    std::string ready;
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; first = waiting_.begin()) {
      ready += first->second;
      waiting_.erase(first);
      ++next_;
    }
    const char* data = ready.data();
    for (std::size_t left = ready.size(); left > 0;) {
      const ssize_t wrote = ::write(file_, data, left);
      if (wrote <= 0) {
        failed_ = true;
        return;
      }
      data += wrote;
      left -= static_cast<std::size_t>(wrote);
    }
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{} of {} runs", next_, total_);
  }
  [[nodiscard]] bool failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  std::mutex mutex_;
  int file_;
  std::size_t next_;
  std::size_t total_;
  bool failed_ = false;
  std::map<std::size_t, std::string> waiting_;
};

bool is_line(const nlohmann::json& line, const SweepPlan& plan) {
  if (!line.is_object() || !line.contains("run") || !line.contains("seed") || !line.contains("set")) return false;
  const bool good = line.contains("result") && line["result"].is_object();
  const bool failed = line.contains("error") && line["error"].is_string();
  return good != failed && std::all_of(plan.axes.begin(), plan.axes.end(), [&](const SweepPlan::Axis& axis) {
           return line["set"].is_object() && line["set"].contains(axis.pointer);
         });
}

Status write_table(const Sweep& sweep, const std::filesystem::path& lines, const std::filesystem::path& csv) {
  const Result<std::string> text = read_file(lines, kLinesBytesMax);
  if (!text) return text.error();
  std::string out = "run";
  for (const SweepPlan::Axis& axis : sweep.plan.axes) out += "," + data::csv_cell(axis.pointer);
  out += ",seed,epsilon";
  for (const std::string& metric : sweep.metrics) out += "," + metric;
  out += ",error\n";
  std::size_t from = text->find('\n') + 1;
  while (from < text->size()) {
    const std::size_t to = text->find('\n', from);
    const nlohmann::json line = nlohmann::json::parse(text->substr(from, to - from), nullptr, false);
    from = to + 1;
    if (!is_line(line, sweep.plan)) {
      return Error{
          ErrorCode::InvalidData,
          fmt::format("{}: expected lines as a sweep writes them, found another at byte {}", lines.string(), from)};
    }
    out += line.at("run").dump();
    for (const SweepPlan::Axis& axis : sweep.plan.axes)
      out += "," + data::csv_cell(line.at("set").at(axis.pointer).dump());
    out += "," + line.at("seed").dump();
    const bool good = line.contains("result");
    const auto cell = [&](const std::string& key) {
      return "," + (good && line["result"].contains(key) && !line["result"][key].is_null() ? line["result"][key].dump()
                                                                                           : std::string());
    };
    out += cell("epsilon");
    for (const std::string& metric : sweep.metrics) out += cell(metric);
    out += "," + (good ? std::string() : data::csv_cell(line.at("error").get<std::string>())) + "\n";
  }
  return write_file_atomically(csv, out);
}

}  // namespace

int run_sweep(const SweepRequest& request) {
  const Result<std::string> file_bytes = read_file(request.file, kFileBytesMax);
  if (!file_bytes) return fail(file_bytes.error());
  const Result<Sweep> sweep = load_sweep(request.file);
  if (!sweep) return fail(sweep.error());
  const std::filesystem::path lines = request.out / "sweep.jsonl";
  if (Status made = make_folder_for(lines); !made) return fail(made.error());
  const Result<Lines> before = lines_so_far(lines, header_of(*sweep, *file_bytes));
  if (!before) return fail(before.error());
  if (Status written = write_file_atomically(lines, before->kept); !written) return fail(written.error());
  const int file = ::open(lines.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return fail({ErrorCode::StorageFailed, fmt::format("{}: cannot be written", lines.string())});
  const std::size_t total = sweep->plan.cells();
  OrderedLines ordered(file, before->runs, total);
  std::atomic<std::size_t> next{before->runs};
  const auto work = [&] {
    for (std::size_t run = next++; run < total && !ordered.failed(); run = next++)
      ordered.add(run, line_of(*sweep, cell_of(sweep->plan, run)).dump() + "\n");
  };
  const std::size_t threads =
      request.threads != 0 ? request.threads : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, 1024); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  (void)::close(file);
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
  if (ordered.failed()) return fail({ErrorCode::StorageFailed, fmt::format("{}: cannot be written", lines.string())});
  const std::filesystem::path csv = request.out / "sweep.csv";
  if (Status written = write_table(*sweep, lines, csv); !written) return fail(written.error());
  fmt::print("{} runs, {} of them new: {}, {}\n{}\n", total, total - std::min(total, before->runs), lines.string(),
             csv.string(), kWarning);
  return kDone;
}

}  // namespace undertone::lab
