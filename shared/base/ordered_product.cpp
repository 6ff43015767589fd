#include "shared/base/ordered_product.hpp"

#include <algorithm>
#include <cstring>

#include "shared/base/result.hpp"

namespace undertone {
namespace {

// Tiles of kTileRows x kTileColumns sums stay in registers while kDepth products are added to each; parts of a and b
// are copied together first, so that a tile reads memory in order. How sums are cut into tiles and depths changes none:
// each is added up in the same order, and a double that is stored and loaded again is the same double.
constexpr Eigen::Index kTileRows = 8;
constexpr Eigen::Index kTileColumns = 4;
constexpr Eigen::Index kDepth = 128;
constexpr Eigen::Index kColumnsTogether = 64;

using Four [[gnu::vector_size(32), gnu::may_alias]] = double;

/// Copies Width of a's rows, from a row and an inner index on, row by row within each inner index. Rows that a does not
/// have are zero.
template <int Width>
void pack(const MatrixView& a, Eigen::Index row, Eigen::Index from, Eigen::Index depth, double* packed) {
  const double* source = a.data + row * a.row_step + from * a.column_step;
  const Eigen::Index rows = a.rows - row;
  if (rows < Width) {
    for (Eigen::Index k = 0; k < depth; ++k, source += a.column_step, packed += Width)
      for (Eigen::Index i = 0; i < Width; ++i) packed[i] = i < rows ? source[i * a.row_step] : 0.0;
    return;
  }
  if (a.row_step == 1) {
    for (Eigen::Index k = 0; k < depth; ++k, source += a.column_step, packed += Width)
      std::memcpy(packed, source, sizeof(double) * Width);
    return;
  }
  const Eigen::Index step = a.row_step;
  for (Eigen::Index k = 0; k < depth; ++k, source += a.column_step, packed += Width) {
#pragma GCC unroll 8
    for (Eigen::Index i = 0; i < Width; ++i) packed[i] = source[i * step];
  }
}

/// sums(i, j) += products of one depth in ascending order, for kTileColumns columns and as many rows as 4 * Fours.
/// @param a, sums of the tile's first row @param sums [8, 4], column by column
template <int Fours>
[[gnu::always_inline]] inline void add_depth(const double* a, const double* b, Eigen::Index depth, double* sums) {
  Four tile[kTileColumns][Fours];
#pragma GCC unroll 4
  for (Eigen::Index j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 2
    for (Eigen::Index i = 0; i < Fours; ++i) std::memcpy(&tile[j][i], sums + j * kTileRows + 4 * i, sizeof(Four));
  }
  for (Eigen::Index k = 0; k < depth; ++k, a += kTileRows, b += kTileColumns) {
    Four left[Fours];
#pragma GCC unroll 2
    for (Eigen::Index i = 0; i < Fours; ++i) std::memcpy(&left[i], a + 4 * i, sizeof(Four));
#pragma GCC unroll 4
    for (Eigen::Index j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 2
      for (Eigen::Index i = 0; i < Fours; ++i) tile[j][i] += left[i] * b[j];
    }
  }
#pragma GCC unroll 4
  for (Eigen::Index j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 2
    for (Eigen::Index i = 0; i < Fours; ++i) std::memcpy(sums + j * kTileRows + 4 * i, &tile[j][i], sizeof(Four));
  }
}

using AddDepth = void (*)(const double* a, const double* b, Eigen::Index depth, double* sums);

void add_depth_portable(const double* a, const double* b, Eigen::Index depth, double* sums) {
  add_depth<1>(a, b, depth, sums);
  add_depth<1>(a + 4, b, depth, sums + 4);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void add_depth_avx2(const double* a, const double* b, Eigen::Index depth,
                                                    double* sums) {
  add_depth<2>(a, b, depth, sums);
}
#endif

AddDepth add_depth_by([[maybe_unused]] VectorUnits units) {
#if defined(__x86_64__)
  if (may_use_avx2(units)) return add_depth_avx2;
#endif
  return add_depth_portable;
}

/// Copies a tile's first rows and columns between memory and its sums.
void load_tile(const double* corner, const MatrixTarget& out, Eigen::Index tall, Eigen::Index wide, double* sums) {
  for (Eigen::Index j = 0; j < wide; ++j, corner += out.column_step, sums += kTileRows)
    for (Eigen::Index i = 0; i < tall; ++i) sums[i] = corner[i * out.row_step];
}

void store_tile(const double* sums, const MatrixTarget& out, Eigen::Index tall, Eigen::Index wide, double* corner) {
  for (Eigen::Index j = 0; j < wide; ++j, corner += out.column_step, sums += kTileRows)
    for (Eigen::Index i = 0; i < tall; ++i) corner[i * out.row_step] = sums[i];
}

}  // namespace

void add_ordered_product(const MatrixView& a, const MatrixView& b, const MatrixTarget& out, VectorUnits units) {
  UNDERTONE_CHECK(a.columns == b.rows);
  // The transpose has the same products, added up in the same order, and wastes less of its tiles.
  if (a.rows < kTileRows && b.columns > a.rows)
    return add_ordered_product(b.transposed(), a.transposed(), {out.data, out.column_step, out.row_step}, units);
  const AddDepth add = add_depth_by(units);
  alignas(64) double columns[kColumnsTogether * kDepth];
  alignas(64) double rows[kTileRows * kDepth];
  alignas(64) double sums[kTileRows * kTileColumns] = {};
  for (Eigen::Index left = 0; left < b.columns; left += kColumnsTogether) {
    const Eigen::Index right = std::min(left + kColumnsTogether, b.columns);
    for (Eigen::Index from = 0; from < a.columns; from += kDepth) {
      const Eigen::Index depth = std::min(kDepth, a.columns - from);
      for (Eigen::Index j = left; j < right; j += kTileColumns)
        pack<kTileColumns>(b.transposed(), j, from, depth, columns + (j - left) * kDepth);
      for (Eigen::Index i = 0; i < a.rows; i += kTileRows) {
        const Eigen::Index tall = std::min(kTileRows, a.rows - i);
        pack<kTileRows>(a, i, from, depth, rows);
        for (Eigen::Index j = left; j < right; j += kTileColumns) {
          const Eigen::Index wide = std::min(kTileColumns, right - j);
          double* corner = out.data + i * out.row_step + j * out.column_step;
          load_tile(corner, out, tall, wide, sums);
          add(rows, columns + (j - left) * kDepth, depth, sums);
          store_tile(sums, out, tall, wide, corner);
        }
      }
    }
  }
}

void ordered_product(const MatrixView& a, const MatrixView& b, const MatrixTarget& out, VectorUnits units) {
  for (Eigen::Index j = 0; j < b.columns; ++j)
    for (Eigen::Index i = 0; i < a.rows; ++i) out.data[i * out.row_step + j * out.column_step] = 0.0;
  add_ordered_product(a, b, out, units);
}

}  // namespace undertone
