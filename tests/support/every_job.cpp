#include "tests/support/every_job.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

#include "shared/base/files.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/of_persons.hpp"

namespace undertone::tests {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

void add_statistics(const SmallFederation& federation, const std::string& name, Named& out) {
  out.emplace_back(name, federation.job());
}

void add_shuffled(Named& out) {
  for (const char* form : {"reports", "bits", "counts", "shares"}) {
    SmallFederation federation;
    federation.equal = true;
    federation.shuffle = FaultWorlds::shuffle(form);
    out.emplace_back(fmt::format("shuffled, {}", form), federation.job());
  }
}

/// Moments of coordinates, with either influence, in groups, of a theorem, of persons and shuffled.
void add_coordinates(Named& out) {
  SmallFederation federation;
  federation.loss = models::Loss::LeastSquares;
  const auto moments = [](const char* more) {
    return fmt::format(R"({{"of":"coordinates","order":4,"bound":0.5,"source":"a pilot"{}}})", more);
  };
  federation.moments = moments("");
  out.emplace_back("moments of coordinates", federation.job());
  out.emplace_back("persons, moments of coordinates", of_persons(federation).dump());
  SmallFederation groups = federation;
  groups.moments = moments(R"(,"influence":"smooth","groups":3)");
  out.emplace_back("moments of coordinates, smooth, in groups", groups.job());
  groups.algorithm = R"({"theorem":"heavy_tailed_convex","smoothness":10})";
  out.emplace_back("moments of coordinates, by a theorem", groups.job());
  federation.equal = true;
  federation.shuffle = FaultWorlds::shuffle("counts");
  out.emplace_back("shuffled, moments of coordinates", federation.job());
}

/// Of persons, where an ask, a bound or a form is of another kind than a worked job's.
void add_persons(Named& out) {
  const std::set<std::string> kinds = {"lp_sgd",
                                       "local_sgd",
                                       "private_frank_wolfe",
                                       "private_frank_wolfe, by scores",
                                       "private_tree_frank_wolfe",
                                       "one_shot_frank_wolfe",
                                       "noisy_frank_wolfe, generalised Gaussian noise",
                                       "noisy_minibatch_sgd, moments",
                                       "spider, network"};
  for (const auto& [name, federation] : federations_of_every_algorithm())
    if (kinds.contains(name)) out.emplace_back("persons, " + name, of_persons(federation).dump());
  for (const char* form : {"reports", "counts"}) {
    SmallFederation federation;
    federation.equal = true;
    federation.shuffle = FaultWorlds::shuffle(form);
    out.emplace_back(fmt::format("persons, shuffled, {}", form), of_persons(federation).dump());
  }
  for (const auto& [name, federation] : federations_of_every_algorithm()) {
    if (name != "noisy_minibatch_sgd" && name != "spider, network") continue;
    nlohmann::json job = of_persons(federation);
    job["privacy"]["person"]["contribution"] = "capped_sum";
    job["evaluation"]["persons"] = "one_record";
    out.emplace_back(fmt::format("persons, {}, capped sums", name), job.dump());
  }
  SmallFederation functions;
  functions.statistics = R"({"noise":"laplace","questions":[
    {"kind":"marginals","columns":["y"],"width":1},{"kind":"kernels","columns":["x0","x1"],"terms":3},
    {"kind":"loss","columns":["x2"],"response":"y","degree":3,"order":2}]})";
  out.emplace_back("persons, functions", of_persons(functions).dump());
  SmallFederation vectors;
  vectors.statistics = R"({"noise":"gaussian","questions":[
    {"kind":"vector_mean","columns":["x0","x1","x2"],"norm":1},
    {"kind":"linear_model","columns":["x0","x1"],"response":"y","intercept":true}]})";
  out.emplace_back("persons, vectors", of_persons(vectors).dump());
  out.emplace_back("persons, reports", of_persons(federation_of_reports()).dump());
  SmallFederation strings;
  strings.silos = 3;
  strings.statistics = R"({"noise":"laplace","questions":[
    {"kind":"marginals","columns":["y"],"width":1,"form":"reports","randomiser":"string_bit"},
    {"kind":"loss","columns":["x0"],"response":"x1","loss":"squared","intercept":false,"degree":1,"form":"reports"},
    {"kind":"vector_mean","columns":["x0","x1"],"form":"reports","adapter":"lift"}]})";
  out.emplace_back("persons, functions from reports", of_persons(strings).dump());
  SmallFederation records;
  records.statistics = R"({"noise":"laplace","sampling_intervals":true,"questions":[
    {"kind":"records_per_person","edges":[0,1,2,4,8]},{"kind":"mean","column":"x1","persons":"total"},
    {"kind":"sum","column":"x2","persons":"total"},{"kind":"count","column":"y","value":"yes","persons":"any"}]})";
  out.emplace_back("persons, numbers of records", of_persons(records).dump());
  out.emplace_back("persons, choices", of_persons(federation_of_choices()).dump());
}

void add_worked(Named& out) {
  std::vector<std::filesystem::path> files;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(UNDERTONE_SOURCE_DIR) / "configs/jobs"))
    if (file.path().extension() == ".json") files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files)
    out.emplace_back(file.stem().string(), read_file(file, std::size_t{1} << 20U).value());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> every_job() {
  Named out;
  for (const auto& [name, federation] : federations_of_every_algorithm()) out.emplace_back(name, federation.job());
  int number = 0;
  for (const SmallFederation& federation : federations_of_vectors())
    add_statistics(federation, fmt::format("vectors, {}", ++number), out);
  add_statistics(federation_of_reports(), "reports", out);
  add_statistics(federation_of_functions(), "functions", out);
  add_statistics(federation_of_choices(), "choices", out);
  const std::string sums =
      R"({"kind":"variance","column":"x0"},{"kind":"sum","column":"x1"},{"kind":"mean","column":"x2"},
    {"kind":"histogram","column":"x0","bins":4},{"kind":"quantiles","column":"x1","bins":16,"probabilities":[0.5]},
    {"kind":"count","column":"y","value":"yes"})";
  const std::string products = R"(,{"kind":"covariance","columns":["x0","x1"]},
    {"kind":"regression","columns":["x0","x1"],"response":"x2"})";
  for (const auto& [noise, asked] : {std::pair("gaussian", sums + products), std::pair("laplace", sums)}) {
    SmallFederation questions;
    questions.statistics = fmt::format(R"({{"noise":"{}","questions":[{}]}})", noise, asked);
    add_statistics(questions, fmt::format("totals, {}", noise), out);
  }
  SmallFederation cut;
  cut.statistics = R"({"sampling_intervals":true,"questions":[{"kind":"mean","column":"x0","moments":
    {"order":4,"bound":0.02,"about":0.1,"source":"a pilot of last year"}}]})";
  add_statistics(cut, "totals, a mean by a moment", out);
  cut.statistics.replace(cut.statistics.find("\"source\""), 0, "\"influence\":\"smooth\",");
  add_statistics(cut, "totals, a mean by a moment, smooth", out);
  SmallFederation lengths;
  lengths.statistics = R"({"questions":[{"kind":"gradient_norms","loss":"logistic","bins":6}]})";
  add_statistics(lengths, "totals, lengths of gradients", out);
  add_shuffled(out);
  add_coordinates(out);
  add_persons(out);
  add_worked(out);
  return out;
}

}  // namespace undertone::tests
