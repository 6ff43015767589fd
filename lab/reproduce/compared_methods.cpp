#include "lab/reproduce/compared_methods.hpp"

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "lab/reproduce/dimension_figure.hpp"
#include "lab/reproduce/resumable_figure.hpp"

namespace undertone::lab {
namespace {

using ComparedJson = nlohmann::ordered_json;

constexpr double kComparedBand = 0.9;  // of error bars

std::vector<ComparedMethods::Cell> compared_cells(const ComparedMethods& figure) {
  std::vector<ComparedMethods::Cell> out;
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel)
    for (const double value : figure.values)
      for (std::size_t repetition = 0; repetition < figure.repetitions; ++repetition)
        for (std::size_t method = 0; method < figure.methods.size(); ++method)
          out.push_back({panel, value, method, repetition});
  return out;
}

/// All numbers of a figure, by panel, value and method.
class ComparedTables {
 public:
  void add(const ComparedMethods::Cell& cell, const std::vector<double>& by_setting) {
    tables_[{cell.panel, cell.value, cell.method}].push_back(by_setting);
  }
  [[nodiscard]] std::vector<double> of(std::size_t panel, double value, std::size_t method) const {
    return excess_of_others_best(tables_.at({panel, value, method}));
  }
  [[nodiscard]] Result<ComparedMethods::Reached> reached(const ComparedMethods& figure, std::size_t panel,
                                                         double value) const {
    ComparedMethods::Reached out;
    for (std::size_t method = 0; method < figure.methods.size(); ++method) {
      out.values.push_back(of(panel, value, method));
      UNDERTONE_TRY(const MeanInterval mean, mean_interval(out.values.back(), kComparedBand));
      out.means.push_back(mean);
    }
    return out;
  }

 private:
  std::map<std::tuple<std::size_t, double, std::size_t>, ExcessTable> tables_;
};

Result<std::string> compared_text(const ComparedMethods& figure, const ComparedTables& tables) {
  std::string out = fmt::format("# {}\n\n{}\n", figure.name, figure.introduction);
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    out += fmt::format("\n## {}\n\n| {} |", figure.panels[panel], figure.axis);
    std::string rule = "| --- |";
    for (const std::string& method : figure.methods) {
      out += fmt::format(" {} |", method);
      rule += " --- |";
    }
    out += fmt::format(" {} |\n{} --- |\n", figure.claim, rule);
    for (const double value : figure.values) {
      UNDERTONE_TRY(const ComparedMethods::Reached reached, tables.reached(figure, panel, value));
      out += fmt::format("| {:g} |", value);
      for (const MeanInterval& mean : reached.means) out += fmt::format(" {:.4f} |", mean.mean);
      UNDERTONE_TRY(const std::string said, figure.verdict(panel, value, reached));
      out += fmt::format(" {} |\n", said);
    }
  }
  return out;
}

Result<Figure> compared_picture(const ComparedMethods& figure, const ComparedTables& tables) {
  Figure picture;
  picture.title = figure.title;
  picture.columns = figure.panels.size();
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    Panel drawn{
        figure.panels[panel], {figure.axis, AxisScale::Logarithmic}, {figure.measure, AxisScale::Logarithmic}, {}};
    for (const std::string& method : figure.methods) drawn.series.push_back({method, {}, SeriesStyle::LineWithPoints});
    for (const double value : figure.values) {
      UNDERTONE_TRY(const ComparedMethods::Reached reached, tables.reached(figure, panel, value));
      const std::vector<MeanInterval>& means = reached.means;
      for (std::size_t method = 0; method < means.size(); ++method) {
        Point point{value, means[method].mean, {}};
        if (means[method].low > 0.0) point.interval = Interval{means[method].low, means[method].high};
        drawn.series[method].points.push_back(point);
      }
    }
    picture.panels.push_back(std::move(drawn));
  }
  return picture;
}

std::string compared_table(const ComparedMethods& figure, const ComparedTables& tables) {
  std::string out = fmt::format("panel,{},method,repetition,value\n", figure.axis);
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel)
    for (const double value : figure.values)
      for (std::size_t method = 0; method < figure.methods.size(); ++method) {
        const std::vector<double> best = tables.of(panel, value, method);
        for (std::size_t r = 0; r < best.size(); ++r)
          out += fmt::format("\"{}\",{:g},{},{},{:.6g}\n", figure.panels[panel], value, figure.methods[method], r,
                             best[r]);
      }
  return out;
}

}  // namespace

Result<Versus> versus(const std::vector<double>& own, const std::vector<double>& other) {
  RandomSource flips(7);
  UNDERTONE_TRY(const PairedFinding finding, judge_paired(own, other, 0.0, flips));
  const auto count = static_cast<double>(own.size());
  double squares = 0.0;
  for (std::size_t i = 0; i < own.size(); ++i) squares += std::pow(other[i] - own[i] - finding.difference.mean, 2);
  return Versus{finding.difference, std::sqrt(squares / (count - 1.0) / count), finding.verdict};
}

Status reproduce_compared(const ComparedMethods& figure, const ReproduceRequest& request) {
  const std::vector<ComparedMethods::Cell> cells = compared_cells(figure);
  ResumableFigure out{figure.name, figure.header, cells.size(), {}, "by_setting", {}, {}};
  out.describe = [&](std::size_t point) -> ComparedJson {
    const ComparedMethods::Cell& cell = cells[point];
    return {{"panel", figure.panels[cell.panel]},
            {figure.axis, cell.value},
            {"method", figure.methods[cell.method]},
            {"repetition", cell.repetition}};
  };
  out.compute = [&](std::size_t point) { return figure.compute(cells[point]); };
  out.files = [&](const std::vector<std::vector<double>>& points) -> Result<FigureFiles> {
    ComparedTables tables;
    for (std::size_t i = 0; i < cells.size(); ++i) tables.add(cells[i], points[i]);
    UNDERTONE_TRY(std::string text, compared_text(figure, tables));
    UNDERTONE_TRY(Figure picture, compared_picture(figure, tables));
    return FigureFiles{compared_table(figure, tables), std::move(text), std::move(picture)};
  };
  return reproduce_resumably(out, request);
}

}  // namespace undertone::lab
