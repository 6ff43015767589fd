#include "shared/data/persons.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "shared/base/random_source.hpp"
#include "shared/base/signing_key.hpp"

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

/// Spec person-unit 2.2, Lemma 1 and PU4: whom a person is replaced by, under which id and where in the file, moves
/// nobody else, in law. Of 200 persons under 4,000 keys the others' blocks are counted, before and after.
TEST(PersonsTest, TheLawOfTheOthersBlocksDoesNotDependOnWhomOneIsReplacedBy) {
  constexpr int kPersons = 12;
  constexpr int kKeys = 4000;
  const auto hold_outs = [](bool replaced) {
    std::map<std::string, int> out;  // which of the first three others are held out together
    for (int k = 0; k < kKeys; ++k) {
      const SigningKey key = SigningKey::from_seed(std::string(28, static_cast<char>(replaced)) +
                                                   std::string(reinterpret_cast<const char*>(&k), sizeof k))
                                 .value();
      std::vector<PersonKey> keys;
      const auto add = [&](const std::string& id, int rows) {
        const Digest digest = key.keyed_digest("persons:1", id);
        PersonKey own{};
        std::copy_n(digest.begin(), own.size(), own.begin());
        keys.insert(keys.end(), static_cast<std::size_t>(rows), own);
      };
      if (replaced) add("another, first in the file and with many records", 9);
      for (int person = 1; person < kPersons; ++person) add(fmt::format("p{}", person), 1 + person % 3);
      if (!replaced) add("p0", 1);
      const Dataset all = split_persons(numbered_rows(keys.size()), keys, {0.5, 0, std::nullopt}).value();
      std::string held;
      for (int person = 1; person <= 3; ++person) {
        const Digest digest = key.keyed_digest("persons:1", fmt::format("p{}", person));
        bool here = false;
        for (Eigen::Index i = 0; i < all.holdout.rows(); ++i)
          here = here || std::equal(keys[static_cast<std::size_t>(all.holdout.targets[i])].begin(),
                                    keys[static_cast<std::size_t>(all.holdout.targets[i])].end(), digest.begin());
        held += here ? '1' : '0';
      }
      ++out[held];
    }
    return out;
  };
  const auto before = hold_outs(false);
  const auto after = hold_outs(true);
  double chi_square = 0.0;
  for (const auto& [held, count] : before) {
    const double other = after.contains(held) ? after.at(held) : 0.0;
    chi_square += (count - other) * (count - other) / (count + other);
  }
  EXPECT_LT(chi_square, 29.9);  // 7 degrees: 1e-4
}

TEST(PersonsTest, AnIdIsWhatIsBetweenBlanks) {
  EXPECT_EQ(id_in(" \t17 4\t "), "17 4");
  EXPECT_EQ(id_in("  "), "");
  EXPECT_EQ(id_in(""), "");
  EXPECT_EQ(id_in("017"), "017");
}

}  // namespace
}  // namespace undertone::data
