#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include "lab/account/account_command.hpp"
#include "lab/audit/audit_command.hpp"
#include "lab/draft/draft_command.hpp"
#include "lab/sweep/sweep_runs.hpp"
#include "operator/schema_command.hpp"
#include "python_calls.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/metric_values.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/preview/job_preview.hpp"
#include "shared/service/program.hpp"
#include "simulation/simulate.hpp"
#include "simulation/table_partition.hpp"
#include "verifier/findings_json.hpp"

/// undertone._core: texts of JSON and arrays in, texts of JSON and arrays out. The package around it makes objects of
/// them; nobody else calls it.
namespace undertone::python {
namespace {

namespace py = pybind11;
using Json = nlohmann::ordered_json;
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Places = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

/// A table of the interpreter's: the arrays stay alive as long as this does.
struct Table {
  struct Column {
    std::string name;
    std::optional<Numbers> numbers;  // one of the two
    std::optional<Places> places;
    std::vector<std::string> different;
  };
  std::vector<Column> columns;

  void add_numbers(std::string name, Numbers values) {
    check_length(name, values.ndim(), values.size());
    columns.push_back({std::move(name), std::move(values), std::nullopt, {}});
  }
  void add_texts(std::string name, Places places, std::vector<std::string> different) {
    check_length(name, places.ndim(), places.size());
    const auto known = static_cast<std::int64_t>(different.size());
    const std::int32_t* first = places.data();
    if (std::any_of(first, first + places.size(), [&](std::int32_t place) { return place >= known; }))
      raise({ErrorCode::InvalidArgument, fmt::format("column \"{}\": a place is beyond its list of texts", name)});
    columns.push_back({std::move(name), std::nullopt, std::move(places), std::move(different)});
  }
  [[nodiscard]] py::ssize_t rows() const { return columns.empty() ? 0 : length_of(columns.front()); }
  [[nodiscard]] data::Frame frame() const {
    data::Frame out;
    for (const Column& column : columns) {
      if (column.numbers) {
        out.columns.push_back({column.name, data::Frame::Numbers(column.numbers->data(),
                                                                 static_cast<std::size_t>(column.numbers->size()))});
      } else {
        out.columns.push_back(
            {column.name, data::Frame::Texts{{column.places->data(), static_cast<std::size_t>(column.places->size())},
                                             column.different}});
      }
    }
    return out;
  }

 private:
  [[nodiscard]] static py::ssize_t length_of(const Column& column) {
    return column.numbers ? column.numbers->size() : column.places->size();
  }
  void check_length(const std::string& name, py::ssize_t dimensions, py::ssize_t size) const {
    if (dimensions != 1)
      raise({ErrorCode::InvalidArgument,
             fmt::format("column \"{}\": expected an array of one dimension, got {}", name, dimensions)});
    if (!columns.empty() && size != rows())
      raise({ErrorCode::InvalidArgument,
             fmt::format("column \"{}\": expected {} values as in the others, got {}", name, rows(), size)});
  }
};

struct SiloRecords {
  std::string silo;
  Table table;
  std::optional<Table> holdout;
  std::optional<Table> public_table;
  std::vector<std::string> persons;
};

Result<data::Schema> schema_of(const std::string& text) {
  UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(text, "schema"));
  config::Problems problems("schema");
  data::Schema schema = jobs::parse_schema(config::Section(document.root, "", problems));
  if (!problems.none()) return problems.error();
  return schema;
}

py::tuple encode(const Table& table, const std::string& schema_text) {
  const data::Frame frame = table.frame();
  const models::Records records = without_lock([&]() -> Result<models::Records> {
    UNDERTONE_TRY(const data::Schema schema, schema_of(schema_text));
    return data::to_records(frame, schema, "table");
  });
  const auto width = static_cast<py::ssize_t>(records.features.rows());
  const auto count = static_cast<py::ssize_t>(records.features.cols());
  Numbers features(std::vector<py::ssize_t>{count, width});
  std::copy_n(records.features.data(), records.features.size(), features.mutable_data());
  Numbers targets(std::vector<py::ssize_t>{count});
  std::copy_n(records.targets.data(), records.targets.size(), targets.mutable_data());
  return py::make_tuple(features, targets);
}

void check(const std::string& job, const std::string& name) {
  (void)without_lock([&]() -> Result<bool> {
    UNDERTONE_TRY(preview::check_job(job, name));
    return true;
  });
}

std::string full_job(const std::string& job, const std::string& name) {
  return without_lock([&] { return jobs::full_job(job, name); });
}

std::string plan(const std::string& job, const std::string& name) {
  return without_lock([&] { return preview::plan_of_job(job, name); });
}

/// @param kind "composition", "shuffled", "allocation" or "person"
/// @param mechanisms a text of the form of `undertone account FILE`; empty where no mechanism is asked for
std::string account(const std::string& kind, const std::string& mechanisms, const py::kwargs& options) {
  lab::AccountRequest request;
  request.shuffled = kind == "shuffled";
  request.allocation = kind == "allocation";
  request.person = kind == "person";
  const auto take = [&](const char* name, auto& value) {
    if (!options.contains(name) || options[name].is_none()) return;
    try {
      value = options[name].cast<std::remove_reference_t<decltype(value)>>();
    } catch (const py::cast_error&) {
      raise({ErrorCode::InvalidArgument, fmt::format("{}: not a value of its kind, or outside its range", name)});
    }
  };
  take("delta", request.delta);
  take("epsilon", request.target_epsilon);
  take("rho", request.target_rho);
  take("adjacency", request.adjacency);
  take("method", request.method);
  take("silos", request.silos);
  take("records", request.records);
  take("parts", request.parts);
  take("epochs", request.epochs);
  take("run", request.run);
  take("of_person", request.of_person);
  std::string ledger;
  take("ledger", ledger);
  request.ledger = ledger;
  return without_lock([&]() -> Result<std::string> {
    if (!mechanisms.empty()) {
      UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(mechanisms, "mechanisms"));
      config::Problems problems("mechanisms");
      UNDERTONE_TRY(std::vector<lab::MechanismText> parsed, lab::parse_mechanisms(document.root, problems));
      if (parsed.size() == 1) {
        request.mechanism = parsed.front();
      } else {
        request.several = std::move(parsed);
      }
    }
    return lab::account_of(request);
  });
}

/// @param cohort of each silo "NAME=RECORDS+HOLDOUT" or "NAME=RECORDS+HOLDOUT+PUBLIC"
py::tuple draft(const std::string& schema, std::vector<std::string> cohort, double epsilon,
                const std::optional<double>& delta, bool holdout_public, bool persons, std::int64_t records_max,
                std::string name, std::uint64_t seed, const std::string& public_records, bool may_buy,
                py::object watch) {
  lab::DraftRequest request;
  request.schema = "schema";
  request.cohort = std::move(cohort);
  request.open_records = public_records;
  request.epsilon = epsilon;
  request.delta = delta;
  request.holdout_public = holdout_public;
  request.persons = persons;
  request.person_records_max = records_max;
  request.name = std::move(name);
  Listener listener(std::move(watch));
  struct Stopped {};
  std::optional<lab::Draft> drafted;
  try {
    drafted = without_lock([&]() -> Result<lab::Draft> {
      UNDERTONE_TRY(lab::DraftFacts facts, lab::facts_of(request, schema));
      const auto told = [&](const std::string& stage) {
        listener.call([&] { return py::make_tuple(stage); });
        if (listener.stopped()) throw Stopped();
      };
      UNDERTONE_TRY(lab::Draft made, lab::draft_job(std::move(facts), seed, delta.has_value(), may_buy, told));
      if (made.idle && !made.regression) {
        made.reasons.push_back(lab::idle_draft_warning(
            made.facts, [&](const lab::DraftFacts& more) { return lab::tune(more, seed, false, told); }));
      }
      return made;
    });
  } catch (const Stopped&) {
    listener.raise_if_stopped();
  }
  return py::make_tuple(drafted->job, drafted->first, drafted->regression, drafted->reasons);
}

/// @param silos none: what the job's simulation section says
/// @param watch called after every round with a text of JSON; None: nobody listens
py::tuple simulate(const std::string& text, const std::string& name, const std::vector<std::string>& set,
                   const std::optional<std::vector<SiloRecords>>& silos, std::uint64_t seed, bool noise, bool direct,
                   std::size_t answering, std::size_t threads, py::object watch) {
  std::vector<simulation::SiloTable> tables;
  for (const SiloRecords& one : silos ? *silos : std::vector<SiloRecords>()) {
    const Result<SiloId> id = SiloId::create(one.silo);
    if (!id) raise({id.error().code, fmt::format("silo \"{}\": {}", one.silo, id.error().message)});
    tables.push_back({*id, one.table.frame(), std::nullopt, std::nullopt, one.persons});
    if (one.holdout) tables.back().holdout = one.holdout->frame();
    if (one.public_table) tables.back().public_records = one.public_table->frame();
  }
  Listener listener(std::move(watch));
  simulation::SimulationSettings settings;
  settings.seed = seed;
  settings.noise = noise ? simulation::SimulatedNoise::Seeded : simulation::SimulatedNoise::None;
  settings.direct = direct;
  settings.answering = answering;
  settings.threads = threads;
  settings.stop = [&] { return listener.stopped(); };
  const auto seen = [&](const simulation::SimulatedRound& over, const jobs::Job& job) {
    listener.call([&] {
      Json said = {{"round", over.round.value}, {"rounds", over.rounds}, {"metrics", nullptr}};
      if (over.metrics) {
        said["metrics"] = Json::object();
        for (const jobs::MetricValue& metric : jobs::metric_values(job, *over.metrics))
          said["metrics"][metric.name] = metric.value;
      }
      return py::make_tuple(said.dump());
    });
  };
  struct Texts {
    std::string job;
    coordinator::ResultTexts run;
  };
  std::optional<Texts> texts;
  try {
    texts = without_lock([&]() -> Result<Texts> {
      const std::filesystem::path file = name;
      UNDERTONE_TRY(std::string bytes, simulation::job_for_simulation(text, name, set));
      UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(bytes, name));
      if (const Result<jobs::PlausibleCohort> planned = jobs::PlausibleCohort::of(job, name); !planned)
        return planned.error();
      UNDERTONE_TRY(std::vector<simulation::SimulatedSilo> members,
                    silos ? simulation::silos_with(job, tables) : simulation::silos_of(job, file));
      UNDERTONE_TRY(const coordinator::RunReport report,
                    simulation::run_job(job, bytes, name, file.parent_path(), std::move(members), settings, seen));
      UNDERTONE_TRY(coordinator::ResultTexts written, coordinator::result_texts(report));
      return Texts{std::move(bytes), std::move(written)};
    });
  } catch (const py::error_already_set&) {
    listener.raise_if_stopped();  // what stopped it, and not that it was stopped
    throw;
  }
  listener.raise_if_stopped();
  return py::make_tuple(texts->job, texts->run.result, texts->run.model);
}

std::vector<std::vector<std::size_t>> deal(std::size_t rows, const std::vector<std::string>& cells,
                                           const std::string& by, std::size_t silos, double concentration,
                                           std::uint64_t seed) {
  using By = simulation::TablePartition::By;
  simulation::TablePartition how;
  how.silos = silos;
  how.concentration = concentration;
  how.seed = seed;
  how.column = "column";
  how.disjoint = true;
  const std::vector<std::pair<const char*, By>> kinds = {{"iid", By::Iid},
                                                         {"label", By::Label},
                                                         {"label-pair", By::LabelPair},
                                                         {"sorted", By::Sorted},
                                                         {"dirichlet", By::Dirichlet}};
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return by == one.first; });
  if (kind == kinds.end())
    raise({ErrorCode::InvalidArgument,
           fmt::format("by: expected iid, label, label-pair, sorted or dirichlet, got \"{}\"", by)});
  how.by = kind->second;
  return without_lock([&] { return simulation::deal_rows(rows, cells, how); });
}

std::string audit(const std::string& job, const std::string& name, const std::string& silo, std::size_t trials,
                  double delta, bool canaries, std::uint64_t coins) {
  lab::AuditRequest request;
  request.silo = silo;
  request.settings.trials = trials;
  request.settings.delta = delta;
  request.canaries = canaries;
  request.coins = coins;
  return without_lock([&] { return lab::audit_of(request, job, name); });
}

std::string verify_ledger(const std::string& ledger, const std::optional<std::string>& head,
                          const std::optional<std::string>& dataset, const std::optional<std::string>& public_key) {
  return without_lock([&]() -> Result<std::string> {
    verifier::LedgerExpectations expected;
    if (head) expected.head = *head;
    expected.dataset = dataset;
    expected.public_key = public_key;
    return verifier::to_json(verifier::verify_ledger(ledger, expected)).dump();
  });
}

/// A sweep's file, opened once for many of its runs.
class Sweep {
 public:
  explicit Sweep(const std::string& file) : runs_(without_lock([&] { return lab::SweepRuns::open(file); })) {}
  [[nodiscard]] std::string header() const { return runs_.header(); }
  [[nodiscard]] std::size_t total() const { return runs_.total(); }
  [[nodiscard]] std::string warning() const { return runs_.warning(); }
  [[nodiscard]] std::string line(std::size_t run) const {
    if (run >= total())
      raise({ErrorCode::InvalidArgument, fmt::format("run: expected less than {}, got {}", total(), run)});
    return without_lock([&]() -> Result<std::string> { return runs_.line(run); });
  }
  [[nodiscard]] std::vector<std::string> finish(const std::string& out) const {
    return without_lock([&] { return runs_.finish(out); });
  }

 private:
  lab::SweepRuns runs_;
};

std::string schema_text(const std::string& kind) {
  for (const operators::SchemaText& one : operators::schema_texts())
    if (kind == one.kind) return std::string(one.text);
  raise({ErrorCode::InvalidArgument, fmt::format("no schema is called \"{}\"", kind)});
}

}  // namespace
}  // namespace undertone::python

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  using namespace undertone::python;
  py::class_<Table>(module, "Table")
      .def(py::init<>())
      .def("add_numbers", &Table::add_numbers)
      .def("add_texts", &Table::add_texts)
      .def_property_readonly("rows", &Table::rows);
  py::class_<SiloRecords>(module, "SiloRecords")
      .def(py::init([](std::string silo, Table table, std::optional<Table> holdout, std::optional<Table> public_table,
                       std::vector<std::string> persons) {
             return SiloRecords{std::move(silo), std::move(table), std::move(holdout), std::move(public_table),
                                std::move(persons)};
           }),
           py::arg("silo"), py::arg("table"), py::arg("holdout"), py::arg("public_table"), py::arg("persons"));
  py::class_<Sweep>(module, "Sweep")
      .def(py::init<const std::string&>(), py::arg("file"))
      .def_property_readonly("header", &Sweep::header)
      .def_property_readonly("total", &Sweep::total)
      .def_property_readonly("warning", &Sweep::warning)
      .def("line", &Sweep::line, py::arg("run"))
      .def("finish", &Sweep::finish, py::arg("out"));
  module.def("version", [] { return std::string(undertone::service::kUndertone.build()); });
  module.def("drafted_delta", &undertone::lab::drafted_delta, py::arg("records"));
  module.def("schema_text", &schema_text, py::arg("kind"));
  module.def("encode", &encode, py::arg("table"), py::arg("schema"));
  module.def("check", &check, py::arg("job"), py::arg("name"));
  module.def("full_job", &full_job, py::arg("job"), py::arg("name"));
  module.def("plan", &plan, py::arg("job"), py::arg("name"));
  module.def("account", &account);
  module.def("draft", &draft, py::arg("schema"), py::arg("cohort"), py::arg("epsilon"), py::arg("delta"),
             py::arg("holdout_public"), py::arg("persons"), py::arg("records_max"), py::arg("name"), py::arg("seed"),
             py::arg("public_records"), py::arg("may_buy"), py::arg("watch"));
  module.def("simulate", &simulate, py::arg("job"), py::arg("name"), py::arg("set"), py::arg("silos"), py::arg("seed"),
             py::arg("noise"), py::arg("direct"), py::arg("answering"), py::arg("threads"), py::arg("watch"));
  module.def("deal", &deal, py::arg("rows"), py::arg("cells"), py::arg("by"), py::arg("silos"),
             py::arg("concentration"), py::arg("seed"));
  module.def("audit", &audit, py::arg("job"), py::arg("name"), py::arg("silo"), py::arg("trials"), py::arg("delta"),
             py::arg("canaries"), py::arg("coins"));
  module.def("verify_ledger", &verify_ledger, py::arg("ledger"), py::arg("head"), py::arg("dataset"),
             py::arg("public_key"));
}
