#include "shared/features/named_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/base/overloaded.hpp"

namespace undertone::statistics {

std::vector<NamedBlock> named_blocks(const FeatureMap& map) {
  using Blocks = std::vector<NamedBlock>;
  const Eigen::Index all = dimension(map);
  return std::visit(
      Overloaded{
          [](const CountMap& /*map*/) {
            return Blocks{{"count", 0, 1, 1.0}};
          },
          [&](const CellsMap& /*map*/) {
            return Blocks{{"cells", 0, all, 1.0}};
          },
          [](const SumMap& /*map*/) {
            return Blocks{{"numbers", 0, 1, 1.0}};
          },
          [](const CountedSumMap& /*map*/) {
            return Blocks{{"records", 0, 1, 1.0}, {"numbers", 1, 1, 1.0}};
          },
          [](const MomentsMap& own) {
            return Blocks{{"numbers", 0, 1, 1.0}, {"squares", 1, 1, own.laplace ? 0.5 : std::numbers::sqrt2}};
          },
          [](const CutMomentsMap& own) {
            return Blocks{{"numbers", 0, 1, 1.0}, {"squares", 1, 1, own.laplace ? 0.5 : std::numbers::sqrt2}};
          },
          [](const FourMomentsMap& /*map*/) {
            return Blocks{
                {"numbers", 0, 1, 1.0}, {"squares", 1, 1, 1.2}, {"cubes", 2, 1, 0.5}, {"fourth powers", 3, 1, 0.8}};
          },
          [&](const GroupMomentsMap& /*map*/) {
            return Blocks{{"groups", 0, all, 1.0}};
          },
          [&](const VectorMomentsMap& own) {
            const auto d = static_cast<Eigen::Index>(own.coordinates.size());
            const double square = static_cast<double>(d);  // R^2
            return Blocks{{"numbers", 0, d, 1.0 / std::sqrt(square)},
                          {"products", d, all - d, 1.0 / (std::numbers::sqrt2 * square)}};
          },
          [&](const TreeMap& /*map*/) {
            return Blocks{{"nodes", 0, all, 1.0}};
          },
          [&](const ConjunctionsMap& /*map*/) {
            return Blocks{{"conjunctions", 0, all, 1.0}};
          },
          [&](const CosinesMap& /*map*/) {
            return Blocks{{"cosines", 0, all, 1.0}};
          },
          [&](const LossesMap& /*map*/) {
            return Blocks{{"losses", 0, all, 1.0}};
          },
          [&](const BallMap& own) {
            const Eigen::Index p = own.length();
            Blocks out{{"numbers", 0, p, 1.0 / own.radius}};
            const double square = own.radius * own.radius;
            if (own.besides == BallMap::Besides::Square) out.push_back({"squared length", p, 1, 1.0 / square});
            if (own.besides == BallMap::Besides::Products)
              out.push_back({"products", p, all - p, 1.0 / (std::numbers::sqrt2 * square)});
            return out;
          }},
      map);
}

NamedBlock block_named(const FeatureMap& map, std::string_view name) {
  const std::vector<NamedBlock> blocks = named_blocks(map);
  const auto found =
      std::find_if(blocks.begin(), blocks.end(), [name](const NamedBlock& one) { return one.name == name; });
  UNDERTONE_CHECK(found != blocks.end());
  return *found;
}

}  // namespace undertone::statistics
