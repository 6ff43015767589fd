#include "silo/agent/encoded_column.hpp"

#include <gtest/gtest.h>

namespace undertone::silo {
namespace {

using Kind = EncodedColumn::Kind;

TEST(EncodedColumnTest, NamesEveryCoordinateAndTheLabelAfterThem) {
  data::Schema schema;
  schema.label = data::BinaryLabel{"outcome", "alive", "dead"};
  data::NumericColumn age{"age", 0.0, 120.0, data::Outside::Clamp, data::MissingRule{{""}, 60.0, true}, std::nullopt};
  schema.features = {age, data::CategoricalColumn{"sex", {"female", "male"}, false}};
  const auto column = [&](std::size_t coordinate) { return encoded_column(schema, coordinate); };
  EXPECT_EQ(column(0).name, "age");
  EXPECT_EQ(column(0).kind, Kind::Number);
  EXPECT_EQ(column(0).half_range(), 60.0);
  EXPECT_EQ(column(0).value_of(-1.0), 0.0);
  EXPECT_EQ(column(0).value_of(0.5), 90.0);
  EXPECT_EQ(column(1).name, "age missing");
  EXPECT_EQ(column(1).kind, Kind::Indicator);
  EXPECT_EQ(column(3).name, "sex=male");
  EXPECT_EQ(column(3).kind, Kind::Indicator);
  EXPECT_EQ(column(4).name, "outcome=dead");
  EXPECT_EQ(column(4).kind, Kind::Indicator);
  schema.label = data::NumericLabel{{"stay", 2.0, 4.0, data::Outside::Clamp, std::nullopt, std::nullopt}};
  EXPECT_EQ(column(4).name, "stay");
  EXPECT_EQ(column(4).value_of(1.0), 4.0);
  schema.label = data::ClassLabel{"grade", {"low", "high"}};
  EXPECT_EQ(column(4).kind, Kind::Class);
}

}  // namespace
}  // namespace undertone::silo
