#include "lab/reproduce/rate_maps.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "tests/unit/lab/reproduce/twice_alike.hpp"

namespace undertone::lab {
namespace {

TEST(RateMapsTest, NoBoundIsBelowTheLowerBoundsOrderAndMoreRecordsAreNeverWorse) {
  std::set<std::string> names;
  for (const RateMap& map : rate_maps(FigureSize::Quick)) {
    names.insert(map.name);
    std::size_t bounds = 0;
    for (const RatePanel& panel : map.panels) {
      for (const RateLine& line : panel.lines) {
        SCOPED_TRACE(map.name + " " + panel.title + " " + line.name);
        double before = INFINITY;
        for (const double value : map.values) {
          const RateAndBound here = line.at(value).value();
          if (here.rate) {
            EXPECT_GT(*here.rate, 0.0);
            EXPECT_LE(*here.rate, before * (1.0 + 1e-9));
            before = *here.rate;
          }
          if (!here.bound) continue;
          ++bounds;
          EXPECT_TRUE(std::isfinite(*here.bound));
          if (map.name == "fig2.1") continue;  // its errors are exact, and constants of rates are on either side
          EXPECT_GE(*here.bound, 0.5 * *panel.lines.back().at(value).value().rate);
        }
      }
    }
    EXPECT_GT(bounds, 0U);
  }
  EXPECT_EQ(names, (std::set<std::string>{"fig2.1", "fig3.3", "fig3.4", "fig4.1"}));
  EXPECT_FALSE(reproduce_rates("fig9.9", {}));
}

TEST(RateMapsTest, AreMadeTwiceAlike) {
  expect_twice_alike("fig2.1", [](ReproduceRequest request) {
    request.size = FigureSize::Quick;
    return reproduce_rates("fig2.1", request);
  });
}

}  // namespace
}  // namespace undertone::lab
