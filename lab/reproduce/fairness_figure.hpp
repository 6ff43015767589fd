#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/reproduce/grouped_table.hpp"
#include "lab/reproduce/reproduce_command.hpp"
#include "shared/fairness/fermi.hpp"

namespace undertone::lab {

/// One line of a figure: FERMI with this notion, so many records a step and so many groups known.
struct FairnessCurve {
  std::string name;
  fairness::Notion notion = fairness::Notion::DemographicParity;
  std::size_t batch = 0;      // records of a step; 0: all
  double known_groups = 1.0;  // in (0, 1]: the share of training records whose group is known
};

/// Test error against violation over values of lambda. NOT PRIVATE: as in the source's chapter 5, nothing is noised.
struct FairnessFigure {
  std::string name;  // "fig5.1"
  std::string title;
  GroupedTable table;
  std::vector<FairnessCurve> curves;
  std::vector<double> lambdas;  // the first is 0: the model without a regulariser
  std::uint64_t steps = 1500;   // of all records; of batches `batch_steps`
  std::uint64_t batch_steps = 60'000;
  std::size_t records_max = 0;  // of each file; 0: all
  std::size_t repetitions = 1;  // of draws, of masks, and of splits where there is no file of test records
  bool judged = true;
};

inline constexpr std::string_view kFairnessFigures[] = {"fig5.1", "fig5.1-compas", "fig5.2", "fig5.3"};

/// @param name one of kFairnessFigures
[[nodiscard]] FairnessFigure fairness_figure(std::string_view name, FigureSize size);

/// Computes what NAME.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads. @return an error where the data are missing, before anything is trained
[[nodiscard]] Status reproduce_fairness(const FairnessFigure& figure, const ReproduceRequest& request);

}  // namespace undertone::lab
