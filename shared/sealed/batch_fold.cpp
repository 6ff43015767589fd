#include "shared/sealed/batch_fold.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/sealed/sealed_reply.hpp"

namespace undertone::sealed {
namespace {

using Form = RoundLayout::Form;

/// What every fold knows of its round.
struct Context {
  Context(const RoundLayout& of, const FoldedRound& folded)
      : layout(of),
        run(folded.run),
        round(folded.query.round),
        query(queries::query_digest(folded.run, folded.query)),
        clip(of.clip_of(folded.query.question)),
        noise(folded.noise),
        plausible(folded.plausible) {}

  [[nodiscard]] Error malformed(std::string_view why) const {
    return Error{ErrorCode::Malformed, fmt::format("round {}: {}", round.value, why)};
  }
  [[nodiscard]] Status check(std::uint64_t replies, std::uint64_t bytes, std::uint64_t bytes_expected) const {
    if (bytes == bytes_expected) return {};
    return malformed(fmt::format("a batch of {} replies has {} bytes, got {}", replies, bytes_expected, bytes));
  }
  [[nodiscard]] Status check_replies(std::uint64_t replies) const {
    if (replies >= 1 && replies <= layout.cohort()) return {};
    return malformed(fmt::format("a batch of 1 to {} replies expected, got {}", layout.cohort(), replies));
  }
  [[nodiscard]] std::int64_t most(std::uint64_t replies) const {
    return static_cast<std::int64_t>(replies) * layout.bits_of_coordinate();
  }
  [[nodiscard]] Result<folds::Gathered> gathered(std::uint64_t replies, std::span<const std::int64_t> counts) const {
    Result<mechanisms::BinomialEstimate> estimate = mechanisms::estimate_of(
        counts, layout.parameters(), clip, static_cast<std::int64_t>(replies) * layout.vectors());
    if (!estimate) return malformed(estimate.error().message);
    return folds::Gathered{round, static_cast<Eigen::Index>(replies), folds::Mean{std::move(estimate->mean)}};
  }
  [[nodiscard]] Digest digest(std::uint64_t replies, std::string_view content) const {
    ByteWriter writer;
    writer.text("undertone batch 1");
    writer.text(as_bytes(query));
    writer.u64(replies);
    writer.u64(content.size());
    Sha256 hash;
    hash.update(writer.bytes());
    hash.update(content);
    return hash.finish();
  }

  RoundLayout layout;
  RunId run;
  RoundIndex round;
  Digest query;
  releases::ClipNorm clip;
  crypto::NoiseKind noise;
  std::function<bool(const std::vector<std::int64_t>&)> plausible;
};

std::string_view bytes_of(const std::vector<std::int64_t>& counts) {
  return {reinterpret_cast<const char*>(counts.data()), counts.size() * sizeof(std::int64_t)};
}

/// Every unit of a mixed batch, opened: none twice. @param each a body of the layout's length
template <class Each>
Status open_units(const Context& context, const OpeningKeys& keys, std::uint64_t replies, std::string units,
                  const Each& each) {
  UNDERTONE_TRY(context.check_replies(replies));
  const RoundLayout& layout = context.layout;
  UNDERTONE_TRY(context.check(replies, units.size(), replies * layout.message_bytes()));
  const sealed::RoundTerms terms = layout.terms(context.run, context.round, context.query);
  std::vector<sealed::Ticket> tickets;
  tickets.reserve(replies * layout.units());
  const std::size_t bytes = units.size();
  for (std::size_t at = 0; at < bytes; at += layout.unit_bytes()) {
    UNDERTONE_TRY(
        sealed::OpenedReply opened,
        sealed::open(keys.coordinator, keys.mac_key, terms,
                     bytes == layout.unit_bytes() ? std::exchange(units, {}) : units.substr(at, layout.unit_bytes())));
    if (opened.body().size() != layout.body_bytes())
      return context.malformed(fmt::format("a unit has {} bytes, got {}", layout.body_bytes(), opened.body().size()));
    tickets.push_back(opened.ticket());
    UNDERTONE_TRY(each(opened.body()));
  }
  std::sort(tickets.begin(), tickets.end());
  if (std::adjacent_find(tickets.begin(), tickets.end()) != tickets.end())
    return context.malformed("a unit is in the batch twice: two have one ticket");
  return {};
}

class BitsFold final : public BatchFold {
 public:
  BitsFold(Context context, const OpeningKeys& keys) : context_(std::move(context)), keys_(keys) {}

  [[nodiscard]] Status take(std::size_t shuffler, std::uint64_t replies, std::string units) override {
    UNDERTONE_CHECK(shuffler == 0 && replies_ == 0);
    const auto dimension = static_cast<std::size_t>(context_.layout.dimension());
    std::vector<std::int64_t> ones(dimension, 0);
    std::vector<std::int64_t> bits(dimension, 0);
    Status opened = open_units(context_, keys_, replies, std::move(units), [&](std::string_view body) -> Status {
      std::uint32_t coordinate = 0;
      std::memcpy(&coordinate, body.data(), sizeof coordinate);
      const auto bit = static_cast<unsigned char>(body[sizeof coordinate]);
      if (coordinate >= dimension || bit > 1) {
        return context_.malformed(fmt::format("expected a bit of coordinate 0 .. {}, got {} of coordinate {}",
                                              dimension - 1, unsigned{bit}, coordinate));
      }
      ++bits[coordinate];
      ones[coordinate] += bit;
      return {};
    });
    if (!opened) return opened;
    for (std::size_t j = 0; j < dimension; ++j) {
      if (bits[j] != context_.most(replies))
        return context_.malformed(fmt::format("coordinate {}: {} replies have {} bits of it, got {}", j, replies,
                                              context_.most(replies), bits[j]));
    }
    ones_ = std::move(ones);
    replies_ = replies;
    return {};
  }
  [[nodiscard]] Result<folds::Gathered> gathered() const override {
    UNDERTONE_CHECK(replies_ > 0);
    return context_.gathered(replies_, ones_);
  }
  [[nodiscard]] Digest digest() const override {
    UNDERTONE_CHECK(replies_ > 0);
    return context_.digest(replies_, bytes_of(ones_));
  }

 private:
  Context context_;
  OpeningKeys keys_;
  std::uint64_t replies_ = 0;
  std::vector<std::int64_t> ones_;
};

/// @return within the layout's range, or nothing
template <class Value>
std::optional<std::vector<std::int64_t>> values_of(std::string_view bytes, std::int64_t largest) {
  std::vector<std::int64_t> values(bytes.size() / sizeof(Value));
  bool beyond = false;
  for (std::size_t j = 0; j < values.size(); ++j) {
    Value value = 0;
    std::memcpy(&value, bytes.data() + j * sizeof value, sizeof value);
    values[j] = value;
    beyond |= values[j] < -largest || values[j] > largest;
  }
  if (beyond) return std::nullopt;
  return values;
}

class ReportsFold final : public BatchFold {
 public:
  ReportsFold(Context context, const OpeningKeys& keys) : context_(std::move(context)), keys_(keys), fold_(empty()) {}

  [[nodiscard]] Status take(std::size_t shuffler, std::uint64_t replies, std::string units) override {
    UNDERTONE_CHECK(shuffler == 0 && reports_.empty());
    folds::LatticeFold fold = empty();
    std::vector<Digest> reports;
    std::uint64_t refused = 0;
    Status opened = open_units(context_, keys_, replies, std::move(units), [&](std::string_view body) -> Status {
      const auto noise = static_cast<std::uint8_t>(body[1]);
      if (body[0] != RoundLayout::kNoisedForm || noise != static_cast<std::uint8_t>(context_.noise)) {
        return context_.malformed(fmt::format("expected a report of form {} with noise {}, got {} and {}",
                                              int{RoundLayout::kNoisedForm},
                                              int{static_cast<std::uint8_t>(context_.noise)},
                                              unsigned{static_cast<unsigned char>(body[0])}, unsigned{noise}));
      }
      const std::int64_t largest = context_.layout.largest_value();
      const std::string_view numbers = body.substr(2);
      const std::optional<std::vector<std::int64_t>> values = context_.layout.wire().type == queries::ReplyType::I32
                                                                  ? values_of<std::int32_t>(numbers, largest)
                                                                  : values_of<std::int64_t>(numbers, largest);
      reports.push_back(sha256(body));
      // Its code is under a key of the silos: one of them made it, and no shuffler is to blame.
      if (!values || (context_.plausible && !context_.plausible(*values))) {
        ++refused;
      } else {
        fold.add(*values, 1);
      }
      return {};
    });
    if (!opened) return opened;
    std::sort(reports.begin(), reports.end());
    fold_ = std::move(fold);
    reports_ = std::move(reports);
    refused_ = refused;
    return {};
  }
  [[nodiscard]] Result<folds::Gathered> gathered() const override {
    UNDERTONE_CHECK(!reports_.empty());
    if (fold_.replies() == 0) return context_.malformed("no report of the batch is one that an honest silo sends");
    return folds::Gathered{context_.round, fold_.replies(), folds::Mean{fold_.mean()}};
  }
  [[nodiscard]] Digest digest() const override {
    UNDERTONE_CHECK(!reports_.empty());
    std::string all;
    for (const Digest& report : reports_) all.append(as_bytes(report));
    return context_.digest(reports_.size(), all);
  }

 private:
  [[nodiscard]] folds::LatticeFold empty() const {
    const queries::WireLattice& wire = context_.layout.wire();
    return {context_.layout.dimension(), wire.step_log2, wire.type};
  }
  Context context_;
  OpeningKeys keys_;
  folds::LatticeFold fold_;
  [[nodiscard]] std::uint64_t refused() const override { return refused_; }

  std::vector<Digest> reports_;  // ascending
  std::uint64_t refused_ = 0;
};

/// One total of each shuffler: the counts themselves, or two shares of them.
class TotalsFold final : public BatchFold {
 public:
  explicit TotalsFold(Context context) : context_(std::move(context)), totals_(context_.layout.shufflers()) {}

  [[nodiscard]] Status take(std::size_t shuffler, std::uint64_t replies, std::string units) override {
    UNDERTONE_CHECK(shuffler < totals_.size() && !totals_[shuffler]);
    UNDERTONE_TRY(context_.check_replies(replies));
    UNDERTONE_TRY(context_.check(replies, units.size(), context_.layout.body_bytes()));
    Total total{replies, std::vector<std::uint64_t>(static_cast<std::size_t>(context_.layout.dimension()), 0)};
    const std::span<const std::uint8_t> words(reinterpret_cast<const std::uint8_t*>(units.data()), units.size());
    if (const Status added = sealed::add_share(words, context_.layout.modulus(), total.words); !added)
      return context_.malformed(added.error().message);
    if (totals_.size() == 1) {
      if (const Result<folds::Gathered> good = context_.gathered(replies, counts_of(total.words)); !good)
        return good.error();
    }
    totals_[shuffler] = std::move(total);
    return {};
  }
  [[nodiscard]] Result<folds::Gathered> gathered() const override {
    UNDERTONE_TRY(const std::vector<std::int64_t> counts, combined());
    return context_.gathered(totals_.front()->replies, counts);
  }
  [[nodiscard]] Digest digest() const override {
    const Result<std::vector<std::int64_t>> counts = combined();
    UNDERTONE_CHECK(counts.has_value());
    return context_.digest(totals_.front()->replies, bytes_of(*counts));
  }

 private:
  struct Total {
    std::uint64_t replies = 0;
    std::vector<std::uint64_t> words;  // [dimension]
  };
  /// A word that is no count wraps below zero, which no total is.
  static std::vector<std::int64_t> counts_of(const std::vector<std::uint64_t>& words) {
    return {words.begin(), words.end()};
  }
  [[nodiscard]] Result<std::vector<std::int64_t>> combined() const {
    for (const std::optional<Total>& total : totals_) UNDERTONE_CHECK(total.has_value());
    const Total& first = *totals_.front();
    if (totals_.size() == 1) return counts_of(first.words);
    const Total& second = *totals_.back();
    if (first.replies != second.replies) {
      return context_.malformed(
          fmt::format("the two shufflers added up {} and {} replies", first.replies, second.replies));
    }
    Result<std::vector<std::int64_t>> counts =
        sealed::combine_shares(first.words, second.words, context_.layout.modulus());
    if (!counts) return context_.malformed(counts.error().message);
    return counts;
  }
  Context context_;
  std::vector<std::optional<Total>> totals_;
};

}  // namespace

std::unique_ptr<BatchFold> make_mixed_fold(const RoundLayout& layout, const FoldedRound& round,
                                           const OpeningKeys& keys) {
  UNDERTONE_CHECK(!layout.adds());
  if (layout.form() == Form::Bits) return std::make_unique<BitsFold>(Context(layout, round), keys);
  return std::make_unique<ReportsFold>(Context(layout, round), keys);
}

std::unique_ptr<BatchFold> make_added_fold(const RoundLayout& layout, const FoldedRound& round) {
  UNDERTONE_CHECK(layout.adds());
  return std::make_unique<TotalsFold>(Context(layout, round));
}

}  // namespace undertone::sealed
