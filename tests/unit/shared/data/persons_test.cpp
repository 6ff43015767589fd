#include "shared/data/persons.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "shared/base/random_source.hpp"
#include "shared/base/signing_key.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone::data {
namespace {

/// One number a record, by which it is known again.
models::Records numbered_rows(std::size_t rows) {
  models::Records out{Eigen::MatrixXd(1, static_cast<Eigen::Index>(rows)),
                      Eigen::VectorXd(static_cast<Eigen::Index>(rows))};
  for (Eigen::Index i = 0; i < out.rows(); ++i) out.features(0, i) = out.targets[i] = static_cast<double>(i);
  return out;
}

/// A key that orders persons as their number says.
PersonKey key_of(std::uint8_t first, std::uint8_t last = 0) {
  PersonKey out{};
  out.front() = first;
  out.back() = last;
  return out;
}

std::vector<double> rows_of(const models::Records& block, Eigen::Index person) {
  std::vector<double> out;
  for (std::int64_t row = block.starts[static_cast<std::size_t>(person)];
       row < block.starts[static_cast<std::size_t>(person) + 1]; ++row)
    out.push_back(block.targets[row]);
  return out;
}

TEST(PersonsTest, RowsOfAPersonStandTogetherInTheOrderOfTheFile) {
  const std::vector<PersonKey> keys = {key_of(2), key_of(1), key_of(2), key_of(3), key_of(1)};
  const Dataset all = split_persons(numbered_rows(5), keys, {0.0, 0, std::nullopt}).value();
  ASSERT_EQ(all.training.count(), 3);
  EXPECT_EQ(all.training.rows(), 5);
  EXPECT_EQ(rows_of(all.training, 0), (std::vector<double>{1, 4}));
  EXPECT_EQ(rows_of(all.training, 1), (std::vector<double>{0, 2}));
  EXPECT_EQ(rows_of(all.training, 2), (std::vector<double>{3}));
  EXPECT_EQ(all.holdout.count(), 0);
  EXPECT_TRUE(all.holdout.of_persons());
}

TEST(PersonsTest, BlocksAreCutByPersonsAndTheLastOnesSitOut) {
  std::vector<PersonKey> keys;
  for (std::uint8_t person = 0; person < 10; ++person)
    for (int row = 0; row <= person; ++row) keys.push_back(key_of(person));
  const Dataset all = split_persons(numbered_rows(keys.size()), keys, {0.34, 0, 9}).value();
  EXPECT_EQ(all.holdout.count(), 3);  // floor(.34 * 9), however many records
  EXPECT_EQ(all.training.count(), 6);
  EXPECT_EQ(all.holdout.rows(), 1 + 2 + 3);
  EXPECT_EQ(all.training.rows(), 4 + 5 + 6 + 7 + 8 + 9);
  EXPECT_FALSE(split_persons(numbered_rows(keys.size()), keys, {0.34, 0, 11}));
}

/// Spec person-unit, PU5.
TEST(PersonsTest, NobodyIsInTwoBlocksWhateverTheFile) {
  RandomSource random(5);
  for (int file = 0; file < 1000; ++file) {
    const std::size_t rows = 1 + random.below(60);
    std::vector<PersonKey> keys;
    for (std::size_t i = 0; i < rows; ++i) keys.push_back(key_of(static_cast<std::uint8_t>(random.below(20))));
    const Dataset all = split_persons(numbered_rows(rows), keys, {0.4, 0, std::nullopt}).value();
    std::set<PersonKey> held_out;
    for (Eigen::Index i = 0; i < all.holdout.rows(); ++i)
      held_out.insert(keys[static_cast<std::size_t>(all.holdout.targets[i])]);
    for (Eigen::Index i = 0; i < all.training.rows(); ++i)
      EXPECT_FALSE(held_out.contains(keys[static_cast<std::size_t>(all.training.targets[i])]));
    EXPECT_EQ(all.training.rows() + all.holdout.rows(), static_cast<Eigen::Index>(rows));
  }
}

/// Counts, for many keys, who of three persons is held out, and in which order the three stand.
/// @param replaced whether another person, first in the file and with many records, stands in for the one who goes
/// @param hashed whether persons stand in the order of a keyed hash, as they do, or of their first appearance
const int kKeys = tests::repetitions(25'000, 100'000);

std::map<std::string, int> arrangements(bool replaced, bool hashed) {
  constexpr int kPersons = 12;
  const SigningKey secret = SigningKey::from_seed(std::string(32, replaced ? 'r' : 's')).value();
  std::map<std::string, int> out;
  for (int k = 0; k < kKeys; ++k) {
    const std::string label = fmt::format("persons:{}", k);  // each label is a key of its own
    std::vector<PersonKey> keys;
    std::map<std::string, PersonKey> known;
    const auto add = [&](const std::string& id, int rows) {
      PersonKey own = key_of(static_cast<std::uint8_t>(known.size()));
      if (hashed) {
        const Digest digest = secret.keyed_digest(label, id);
        std::copy_n(digest.begin(), own.size(), own.begin());
      }
      known[id] = own;
      keys.insert(keys.end(), static_cast<std::size_t>(rows), own);
    };
    if (replaced) add("another", 9);
    for (int person = 1; person < kPersons; ++person) add(fmt::format("p{}", person), 1 + person % 3);
    if (!replaced) add("p0", 1);
    const Dataset all = split_persons(numbered_rows(keys.size()), keys, {0.5, 0, std::nullopt}).value();
    const auto place_of = [&](const std::string& id) {
      int place = 0;
      for (const models::Records* block : {&all.holdout, &all.training}) {
        for (Eigen::Index person = 0; person < block->count(); ++person, ++place)
          if (keys[static_cast<std::size_t>(rows_of(*block, person).front())] == known.at(id)) return place;
      }
      return place;
    };
    const int places[] = {place_of("p1"), place_of("p2"), place_of("p6")};
    std::string said;
    for (const int place : places) said += place < kPersons / 2 ? 'h' : 't';
    said += fmt::format(" {}{}{}", places[0] < places[1], places[0] < places[2], places[1] < places[2]);
    ++out[said];
  }
  return out;
}

/// Compares two samples of one size, over the cells that either of them has.
double chi_square(const std::map<std::string, int>& one, const std::map<std::string, int>& other) {
  std::set<std::string> cells;
  for (const auto* sample : {&one, &other})
    for (const auto& [cell, count] : *sample) cells.insert(cell);
  double out = 0.0;
  for (const std::string& cell : cells) {
    const double a = one.contains(cell) ? one.at(cell) : 0.0;
    const double b = other.contains(cell) ? other.at(cell) : 0.0;
    out += (a - b) * (a - b) / (a + b);
  }
  return out;
}

/// Spec person-unit 2.2, Lemma 1 and PU4: whom a person is replaced by, under which id and where in the file, moves
/// nobody else, in law: neither the others' blocks nor their places. In the order of the file it would.
TEST(PersonsTest, TheLawOfTheOthersPlacesDoesNotDependOnWhomOneIsReplacedBy) {
  const std::map<std::string, int> before = arrangements(false, true);
  EXPECT_EQ(before.size(), 24U);                                  // six orders of three, and where they are divided
  EXPECT_LT(chi_square(before, arrangements(true, true)), 61.0);  // 23 degrees: 3e-5
  // By first appearance whoever comes first shifts all others, and p6 into the other block.
  EXPECT_GT(chi_square(arrangements(false, false), arrangements(true, false)), kKeys);
}

TEST(PersonsTest, AnIdIsWhatIsBetweenBlanks) {
  EXPECT_EQ(id_in(" \t17 4\t "), "17 4");
  EXPECT_EQ(id_in("  "), "");
  EXPECT_EQ(id_in(""), "");
  EXPECT_EQ(id_in("017"), "017");
}

}  // namespace
}  // namespace undertone::data
