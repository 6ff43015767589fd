#include "shared/data/packed_encoding.hpp"

namespace undertone::data {
namespace {

constexpr std::array<double, 19> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                                 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
static_assert(kPowersOfTen.size() == kPackedDigitsMax + 1);

}  // namespace

bool exactly_computed(const PackedCells& cells) {
  constexpr std::int64_t kExactMax = std::int64_t{1} << 53U;
  return cells.least >= -kExactMax && cells.least <= kExactMax && cells.most <= std::uint64_t{kExactMax} * 2 &&
         cells.digits(cells.most) <= kExactMax;
}

double decimal_value(const PackedCells& cells, std::uint64_t value) {
  return static_cast<double>(cells.digits(value)) / kPowersOfTen[cells.scale];
}

PackedEncoding::PackedEncoding(std::vector<Put> puts, bool indicates)
    : how_(How::ByTable), puts_(std::move(puts)), indicators_(indicates) {}

PackedEncoding::PackedEncoding(NumericColumn numeric, Put nothing)
    : how_(How::Computed), numeric_(std::move(numeric)), nothing_(nothing) {}

template <class Visit>
void PackedEncoding::write_each(const PackedCells& cells, const Visit& visit, double* out, std::size_t stride) const {
  if (how_ == How::Nothing) return;
  if (how_ == How::Computed) {
    const std::uint64_t nothing = cells.nothing();
    return visit([&](std::size_t row, std::uint64_t value) {
      double* const at = out + row * stride;
      if (value == nothing) {
        *at = nothing_.value;
        if (nothing_.indicator) at[1] = 1.0;
      } else {
        *at = scaled(numeric_, decimal_value(cells, value));
      }
    });
  }
  // The cells were checked when they were read first. Those of a mapped file may be read from the disk again.
  visit([&](std::size_t row, std::uint64_t value) {
    UNDERTONE_CHECK(value < puts_.size());
    const Put& put = puts_[value];
    out[row * stride + put.place] = put.value;
  });
  if (!indicators_) return;
  visit([&](std::size_t row, std::uint64_t value) {
    if (puts_[value].indicator) out[row * stride + 1] = 1.0;
  });
}

void PackedEncoding::write(const PackedCells& cells, std::size_t from, std::size_t count, double* out,
                           std::size_t stride) const {
  write_each(
      cells, [&](const auto& each) { each_value(cells, from, count, each); }, out, stride);
}

void PackedEncoding::write_at(const PackedCells& cells, std::span<const std::uint32_t> rows,
                              std::span<const std::uint32_t> slots, double* out, std::size_t stride) const {
  const auto visit = [&](const auto& each) {
    each_value_at(cells, rows, [&](std::size_t i, std::uint64_t value) { each(slots[i], value); });
  };
  write_each(cells, visit, out, stride);
}

}  // namespace undertone::data
