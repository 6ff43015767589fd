#include "lab/reproduce/resumable_figure.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "lab/plots/gnuplot.hpp"
#include "shared/base/files.hpp"
#include "simulation/resumable_lines.hpp"

namespace undertone::lab {
namespace {

std::string line_of_point(const ResumableFigure& figure, std::size_t point) {
  nlohmann::ordered_json line = figure.describe(point);
  if (const Result<std::vector<double>> numbers = figure.compute(point)) {
    line[figure.measure] = *numbers;
  } else {
    line["error"] = numbers.error().message;
  }
  return line.dump();
}

Result<std::vector<std::vector<double>>> read_points(const ResumableFigure& figure, const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string text, read_file(file, simulation::ResumableLines::kBytesMax));
  std::vector<std::vector<double>> out;
  std::size_t from = text.find('\n') + 1;
  for (std::size_t point = 0; point < figure.points; ++point) {
    const std::size_t to = text.find('\n', from);
    if (to == std::string::npos)
      return Error{ErrorCode::InvalidData,
                   fmt::format("{}: expected {} lines of points, found {}", file.string(), figure.points, point)};
    const auto line = nlohmann::ordered_json::parse(text.substr(from, to - from), nullptr, false);
    from = to + 1;
    if (!line.is_object() || !(line.contains(figure.measure) || line.contains("error")))
      return Error{ErrorCode::InvalidData, fmt::format("{}: line {}: expected an object with \"{}\"", file.string(),
                                                       point + 2, figure.measure)};
    if (line.contains("error")) return Error{ErrorCode::InvalidData, fmt::format("{}: {}", file.string(), line.dump())};
    out.push_back(line.at(figure.measure).get<std::vector<double>>());
  }
  return out;
}

}  // namespace

Status reproduce_resumably(const ResumableFigure& figure, const ReproduceRequest& request) {
  const std::filesystem::path lines = request.out / (figure.name + ".jsonl");
  if (Status made = make_folder_for(lines); !made) return made;
  UNDERTONE_TRY(const std::unique_ptr<simulation::ResumableLines> runs,
                simulation::ResumableLines::open(lines, figure.header.dump() + "\n", figure.points));
  const auto begin = std::chrono::steady_clock::now();
  if (Status made = runs->make(request.threads, [&](std::size_t point) { return line_of_point(figure, point); }); !made)
    return made;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  UNDERTONE_TRY(const std::vector<std::vector<double>> numbers, read_points(figure, lines));
  UNDERTONE_TRY(const FigureFiles files, figure.files(numbers));
  if (Status written = write_file_atomically(request.out / (figure.name + ".table.csv"), files.table); !written)
    return written;
  if (Status written = write_file_atomically(request.out / (figure.name + ".md"), files.text); !written) return written;
  std::string picture = figure.name;
  std::replace(picture.begin(), picture.end(), '.', '_');
  if (Status drawn = write_figure(files.picture, request.out, picture); !drawn) return drawn;
  fmt::print("{}\n{} points in {:.1f} s\n", files.text, figure.points - std::min(figure.points, runs->kept()), seconds);
  return {};
}

}  // namespace undertone::lab
