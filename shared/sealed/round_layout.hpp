#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shared/base/ids.hpp"
#include "shared/base/result.hpp"
#include "shared/jobs/shuffle_section.hpp"
#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/sealed/additive_shares.hpp"
#include "shared/sealed/sealed_reply.hpp"

namespace undertone::sealed {

/// What a layout is a function of: of a planned release what no schedule says.
struct MixedSum {
  releases::Ask ask;
  std::int64_t records_drawn = 0;                            // K: of a silo's sum
  std::optional<mechanisms::BinomialParameters> binomial{};  // without it, a sum with Gaussian noise
};

/// What the messages of a shuffled round look like: the same for all silos, whatever they hold. A silo's message for a
/// shuffler is a concatenation of sealed units of equal length, whose bodies are
///   bits:     coordinate (u32), bit (u8); d K (g + b) units, K (g + b) of each coordinate
///   reports:  form (u8, always 1: noised sums), noise kind (u8), d wire values (i32 or i64); one unit
///   counts:   d words modulo 2^(8 w), w the fewest bytes that hold a total of the whole cohort; one unit
///   shares:   the same, one share for each of two shufflers
/// all little-endian.
class RoundLayout {
 public:
  using Form = jobs::Shuffle::Form;
  static constexpr std::uint64_t kMessageBytesMax = std::uint64_t{1} << 30U;
  /// Of all silos of a batch: whoever reads them opens one after the other, each in some 60 us.
  static constexpr std::uint64_t kUnitsMax = std::uint64_t{1} << 16U;
  static constexpr std::size_t kCohortMax = 4096;  // silos that a batch can expect
  static constexpr char kNoisedForm = 1;           // of a report

  /// @param sum a private one of the job's plan @param cohort how many silos may reply, 1 .. kCohortMax
  /// @return an error for a release that has no such form, a total that cannot be counted, coins or records that a silo
  /// cannot draw or add up at once, and a message that is too long: then it says what would be shorter
  [[nodiscard]] static Result<RoundLayout> create(const jobs::Shuffle& shuffle, const MixedSum& sum,
                                                  const queries::WireLattice& wire, std::size_t cohort);
  [[nodiscard]] static Result<RoundLayout> create(const jobs::Shuffle& shuffle, const planning::Release& release,
                                                  const queries::WireLattice& wire, std::size_t cohort);

  [[nodiscard]] Form form() const noexcept { return form_; }
  [[nodiscard]] const MixedSum& sum() const noexcept { return sum_; }
  /// Whether shufflers open units and add them up.
  [[nodiscard]] bool adds() const noexcept { return form_ == Form::Counts || form_ == Form::Shares; }
  /// How many shufflers a silo sends to.
  [[nodiscard]] std::size_t shufflers() const noexcept { return form_ == Form::Shares ? 2 : 1; }
  [[nodiscard]] std::size_t cohort() const noexcept { return cohort_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return sum_.ask.dimension; }
  /// K: records of a silo's sum.
  [[nodiscard]] std::int64_t vectors() const noexcept { return sum_.records_drawn; }
  [[nodiscard]] const queries::WireLattice& wire() const noexcept { return wire_; }
  /// Of a report's value in wire steps: what to_wire clamps to. A report beyond it is no silo's.
  [[nodiscard]] std::int64_t largest_value() const noexcept {
    return wire_.type == queries::ReplyType::I32 ? std::int64_t{0x7fffffff} : std::int64_t{1} << 62U;
  }
  /// What a record's gradient is clipped to where the question's points are as far apart as these.
  [[nodiscard]] releases::ClipNorm clip_of(const queries::Question& question) const;

  /// Of the binomial sum. @pre not reports
  [[nodiscard]] const mechanisms::BinomialParameters& parameters() const;
  /// K (g + b): the bits of a silo's coordinate, and the largest count of one. @pre not reports
  [[nodiscard]] std::int64_t bits_of_coordinate() const { return vectors() * parameters().bits(); }
  /// Of a total over the whole cohort. @pre not reports
  [[nodiscard]] const sealed::ShareModulus& modulus() const;
  /// Bytes of a word where shufflers add, else 0.
  [[nodiscard]] std::uint32_t word_bytes() const noexcept;

  /// Of a unit before sealing.
  [[nodiscard]] std::size_t body_bytes() const noexcept { return length_.body_bytes_max(); }
  [[nodiscard]] std::uint64_t unit_bytes() const noexcept { return length_.sealed_bytes(); }
  [[nodiscard]] std::uint64_t units() const noexcept { return units_; }
  /// Of a silo for one shuffler.
  [[nodiscard]] std::uint64_t message_bytes() const noexcept { return units_ * unit_bytes(); }
  /// What every unit of a round is sealed for. @param query queries::query_digest
  [[nodiscard]] sealed::RoundTerms terms(const RunId& run, RoundIndex round, const Digest& query) const {
    return {run, round, query, length_};
  }

 private:
  RoundLayout(Form form, const MixedSum& sum, const queries::WireLattice& wire, std::size_t cohort,
              std::optional<sealed::ShareModulus> modulus, std::uint64_t units, sealed::ReplyLength length)
      : form_(form), sum_(sum), wire_(wire), cohort_(cohort), modulus_(modulus), units_(units), length_(length) {}
  Form form_;
  MixedSum sum_;
  queries::WireLattice wire_;
  std::size_t cohort_;
  std::optional<sealed::ShareModulus> modulus_;  // of binomial sums
  std::uint64_t units_;
  sealed::ReplyLength length_;
};

/// Whether every private release of a shuffled plan has a layout: asked before anybody accepts the job.
/// @param cohort how many silos may reply
[[nodiscard]] Status check_layouts(const jobs::Shuffle& shuffle, const planning::Plan& plan,
                                   const queries::WireLattice& wire, std::size_t cohort);

}  // namespace undertone::sealed
