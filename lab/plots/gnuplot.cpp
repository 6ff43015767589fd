#include "lab/plots/gnuplot.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "lab/plots/process_files.hpp"
#include "shared/base/files.hpp"
#include "shared/service/spawn.hpp"

namespace undertone::lab {
namespace {

constexpr std::chrono::milliseconds kPoll{5};
constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kPictureBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kComplaintBytesMax = 2000;
constexpr std::size_t kPanelWidth = 520;  // pixels of the SVG; the PNG has twice as many
constexpr std::size_t kPanelHeight = 380;

// Okabe and Ito 2008: told apart by people who see colours in any of the common ways.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

/// A gnuplot string in which nothing but letters and spaces stands for itself: gnuplot reads quotes at the edge
/// of a string, backquotes and macros in ways of its own, but octal escapes in one (with every digit that follows).
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char character : figure_text(text)) {
    const bool plain = character == ' ' || std::isalpha(static_cast<unsigned char>(character)) != 0;
    out += plain ? std::string(1, character) : fmt::format("\\{:03o}", static_cast<unsigned char>(character));
  }
  return out + "\"";
}

std::string datablock(std::size_t panel, std::size_t series) { return fmt::format("$panel{}_{}", panel, series); }

std::string drawn(const Series& series, const std::string& data, std::size_t number) {
  const std::string_view style = series.style == SeriesStyle::Points           ? "points"
                                 : series.style == SeriesStyle::LineWithPoints ? "linespoints"
                                                                               : "lines";
  const std::string_view dash = series.style == SeriesStyle::DashedLine ? " dashtype 2" : "";
  const char* colour = kColours[number % kColours.size()];
  const bool bars = std::any_of(series.points.begin(), series.points.end(),
                                [](const Point& point) { return point.interval.has_value(); });
  const std::size_t mark = style == "lines" ? 0 : number % 7 + 4;  // 0: no more than a dot
  const std::string shape = style == "lines" ? "" : fmt::format(" pointtype {} pointsize 0.6", mark);
  std::string out = fmt::format("{} using 1:2 with {} linecolor rgb '{}'{}{} title {}", data, style, colour, dash,
                                shape, quoted(series.name.empty() ? " " : series.name));
  if (bars)
    out += fmt::format(", {} using 1:2:3:4 with yerrorbars linecolor rgb '{}' pointtype {} pointsize 0.6 notitle", data,
                       colour, mark);
  return out;
}

void add_data(std::string& script, const Panel& panel, std::size_t number) {
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    script += datablock(number, s) + " << END\n";
    for (const Point& point : panel.series[s].points) {
      const Interval interval = point.interval.value_or(Interval{point.value, point.value});
      script += fmt::format("{} {} {} {}\n", point.x, point.value, interval.low, interval.high);
    }
    script += "END\n";
  }
}

void add_panel(std::string& script, const Panel& panel, std::size_t number) {
  script += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\nunset logscale\n", quoted(panel.title),
                        quoted(panel.x.label), quoted(panel.y.label));
  for (const auto& [name, axis] : {std::pair("x", &panel.x), std::pair("y", &panel.y)}) {
    const bool logarithmic = axis->scale == AxisScale::Logarithmic;
    script += fmt::format("set format {} '{}'\n", name, logarithmic ? "%g" : "%h");
    if (logarithmic) script += fmt::format("set logscale {}\n", name);
  }
  // Room beside the first and the last error bar; gnuplot has none to give on a logarithmic axis.
  script += panel.x.scale == AxisScale::Linear ? "set offsets graph 0.03, graph 0.03, 0, 0\n" : "unset offsets\n";
  script += "plot ";
  for (std::size_t s = 0; s < panel.series.size(); ++s)
    script += (s == 0 ? "" : ", ") + drawn(panel.series[s], datablock(number, s), s);
  script += "\n";
}

/// @return the wait status; an error where the process had to be killed
Result<int> wait_for(pid_t process, const GnuplotOptions& options) {
  const auto deadline = std::chrono::steady_clock::now() + options.time_max;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return Error{ErrorCode::Internal,
                   fmt::format("{}: did not end within {} ms", options.program, options.time_max.count())};
    }
    std::this_thread::sleep_for(kPoll);
  }
  return status;
}

std::string complaint_of(const MemoryFile& errors) {
  const Result<std::string> text = errors.content(kPictureBytesMax);
  if (!text) return "";
  std::string shown = text->substr(0, kComplaintBytesMax);
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  return figure_text(shown);
}

/// The picture that a script draws. No shell, no file: the script is standard input, the picture standard output.
Result<std::string> draw(const std::string& script, const GnuplotOptions& options) {
  UNDERTONE_TRY(MemoryFile input, MemoryFile::with(script));
  UNDERTONE_TRY(MemoryFile picture, MemoryFile::with(""));
  UNDERTONE_TRY(MemoryFile errors, MemoryFile::with(""));
  service::SpawnFiles files;
  files.redirect(input.descriptor(), STDIN_FILENO);
  files.redirect(picture.descriptor(), STDOUT_FILENO);
  files.redirect(errors.descriptor(), STDERR_FILENO);
  // --default-settings: nobody's ~/.gnuplot
  const Result<pid_t> process = service::spawn({options.program, "--default-settings", "-"}, files);
  if (!process) return Error{process.error().code, process.error().message + "; Debian's package is gnuplot-nox"};
  UNDERTONE_TRY(const int status, wait_for(*process, options));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{ErrorCode::Internal, fmt::format("{} failed: {}", options.program, complaint_of(errors))};
  Result<std::string> bytes = picture.content(kPictureBytesMax);
  if (bytes && bytes->empty())
    return Error{ErrorCode::Internal, fmt::format("{} drew nothing: {}", options.program, complaint_of(errors))};
  return bytes;
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), [](char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '_' || character == '-';
  });
}

}  // namespace

std::string gnuplot_script(const Figure& figure, const std::string& terminal) {
  std::string script = "set encoding utf8\n" + terminal + "\n";
  script +=
      "set grid linecolor rgb '#cccccc'\nset border 3\nset tics nomirror out\nset key below height 1 noenhanced\n";
  for (std::size_t p = 0; p < figure.panels.size(); ++p) add_data(script, figure.panels[p], p);
  script += fmt::format("set multiplot layout {},{}", figure.rows, figure.columns);
  if (!figure.title.empty()) script += " title " + quoted(figure.title);
  script += "\n";
  for (std::size_t p = 0; p < figure.panels.size(); ++p) add_panel(script, figure.panels[p], p);
  return script + "unset multiplot\n";
}

Status write_figure(const Figure& figure, const std::filesystem::path& folder, const std::string& name,
                    const GnuplotOptions& options) {
  if (!is_file_name(name)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("figure: expected a name of 1 to {} letters, digits, _ and -", kNameBytesMax)};
  }
  if (Status checked = check_figure(figure); !checked) return checked;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  if (Status written = write_file_atomically(folder / (name + ".csv"), figure_csv(figure)); !written) return written;
  const std::size_t width = kPanelWidth * figure.columns;
  const std::size_t height = kPanelHeight * figure.rows + 20;
  const std::pair<const char*, std::string> pictures[] = {
      {".svg", fmt::format("set terminal svg noenhanced size {},{} background rgb '#ffffff' font 'sans-serif,13'",
                           width, height)},
      {".png", fmt::format("set terminal pngcairo noenhanced size {},{} fontscale 2 linewidth 2 pointscale 2",
                           2 * width, 2 * height)}};
  for (const auto& [ending, terminal] : pictures) {
    UNDERTONE_TRY(const std::string picture, draw(gnuplot_script(figure, terminal), options));
    if (Status written = write_file_atomically(folder / (name + ending), picture); !written) return written;
  }
  return {};
}

}  // namespace undertone::lab
