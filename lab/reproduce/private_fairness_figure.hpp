#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/reproduce/reproduce_command.hpp"
#include "shared/fairness/notion.hpp"
#include "shared/releases/unit.hpp"

namespace undertone::lab {

/// One line of a figure: a consortium that protects this unit with this epsilon.
struct PrivateFairnessCurve {
  std::string name;
  releases::Unit unit = releases::Unit::Record;
  std::size_t silos = 1;
  double epsilon = 1.0;
  bool skewed = false;  // records are dealt in the order of their groups, so that most silos have one alone
};

/// A point that a curve has to reach: no more errors at no more of a gap.
struct FairnessBar {
  std::string curve;
  double error = 0.0;
  double gap = 0.0;
};

/// Test error against violation over values of lambda, of jobs of dp_fermi that are planned and run as any others: each
/// silo with delta 1 / n^2 of its n records, calibrated by the accountant, features scaled by public bounds. The noise
/// is seeded, so that what this prints protects nobody.
struct PrivateFairnessFigure {
  std::string name;  // "fig6.2"
  std::string title;
  fairness::Notion notion = fairness::Notion::DemographicParity;
  std::vector<PrivateFairnessCurve> curves;
  std::vector<double> lambdas;
  std::vector<FairnessBar> bars;
  std::uint64_t rounds = 150;
  std::size_t records_max = 0;  // of each file; 0: all
  std::size_t repetitions = 15;
  bool judged = true;
};

inline constexpr std::string_view kPrivateFairnessFigures[] = {"fig6.2", "fig6.4"};

/// @param name one of kPrivateFairnessFigures
[[nodiscard]] PrivateFairnessFigure private_fairness_figure(std::string_view name, FigureSize size);

/// Computes what NAME.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads. @return an error where the data are missing, before anything is trained
[[nodiscard]] Status reproduce_private_fairness(const PrivateFairnessFigure& figure, const ReproduceRequest& request);

}  // namespace undertone::lab
