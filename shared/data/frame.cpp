#include "shared/data/frame.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "shared/data/record_encoder.hpp"

namespace undertone::data {
namespace {

std::size_t rows_of(const Frame::Column& column) {
  const auto* numbers = std::get_if<Frame::Numbers>(&column.cells);
  return numbers != nullptr ? numbers->size() : std::get<Frame::Texts>(column.cells).places.size();
}

RecordEncoder::Expected encode_cell(RecordEncoder& encoder, const Frame::Column& column, std::size_t place,
                                    std::size_t row, const RecordEncoder::Row& out) {
  if (const auto* numbers = std::get_if<Frame::Numbers>(&column.cells)) {
    const double value = (*numbers)[row];
    if (std::isnan(value)) return encoder.encode_missing(place, out);
    // A whole number as people write one, 100000 and not 1e+05: it may be one of a list's texts.
    constexpr double kWholeMost = 9007199254740992.0;  // 2^53
    std::array<char, 32> text{};                       // the longest takes 24
    const bool whole = std::abs(value) <= kWholeMost && value == std::trunc(value);
    const auto [end, code] =
        whole ? std::to_chars(text.data(), text.data() + text.size(), static_cast<std::int64_t>(value))
              : std::to_chars(text.data(), text.data() + text.size(), value);
    UNDERTONE_CHECK(code == std::errc());
    return encoder.encode(place, {text.data(), static_cast<std::size_t>(end - text.data())}, out);
  }
  const auto& texts = std::get<Frame::Texts>(column.cells);
  const std::int32_t text = texts.places[row];
  if (text < 0) return encoder.encode_missing(place, out);
  UNDERTONE_CHECK(static_cast<std::size_t>(text) < texts.different.size());
  return encoder.encode(place, texts.different[static_cast<std::size_t>(text)], out);
}

}  // namespace

std::size_t Frame::rows() const noexcept { return columns.empty() ? 0 : rows_of(columns.front()); }

Result<models::Records> to_records(const Frame& frame, const Schema& schema, const std::string& name) {
  std::vector<std::string> header;
  for (const Frame::Column& column : frame.columns) {
    UNDERTONE_CHECK(rows_of(column) == frame.rows());
    header.push_back(column.name);
  }
  Result<RecordEncoder> encoder = RecordEncoder::create(header, schema, true);
  if (!encoder) return Error{encoder.error().code, fmt::format("{}: {}", name, encoder.error().message)};
  const auto rows = static_cast<Eigen::Index>(frame.rows());
  models::Records out{Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(encoder->width()), rows),
                      Eigen::VectorXd::Zero(rows)};
  if (encoder->groups()) out.groups.assign(frame.rows(), 0);
  for (Eigen::Index i = 0; i < rows; ++i) {  // record after record, as the encoder asks
    for (std::size_t c = 0; c < frame.columns.size(); ++c) {
      if (!encoder->reads(c)) continue;
      const RecordEncoder::Expected expected =
          encode_cell(*encoder, frame.columns[c], c, static_cast<std::size_t>(i), RecordEncoder::row_of(out, i));
      if (expected != nullptr) {
        return Error{ErrorCode::InvalidData, fmt::format("{}: record {}, column \"{}\": expected {}", name, i + 1,
                                                         frame.columns[c].name, *expected)};
      }
    }
  }
  return out;
}

}  // namespace undertone::data
