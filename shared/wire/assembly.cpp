#include "shared/wire/assembly.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "shared/base/large_memory.hpp"
#include "shared/wire/from_proto.hpp"

namespace undertone::wire {
namespace {

/// Whether every bit of a coordinate's exponent is set. Written without a branch, so that a chunk is checked at the
/// speed at which it is copied.
bool any_not_finite(const double* values, std::size_t count) {
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, values + i, sizeof bits);
    constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000;
    bad |= static_cast<std::uint64_t>((bits & kExponent) == kExponent);
  }
  return bad != 0;
}

/// How much room to make for a vector of which `have` elements came and `coming` come now: all of it once an eighth was
/// really received, until then twice what was.
std::size_t room_for(std::size_t have, std::size_t coming, std::uint64_t dimension) {
  const std::size_t needed = have + coming;
  if (needed >= dimension / 8) return dimension;
  return std::max(needed, std::min<std::size_t>(2 * have, dimension));
}

}  // namespace

template <class Wire>
Status Decoder::Assembly::append_point(std::string_view more) {
  const std::size_t count = more.size() / sizeof(Wire);
  if (received + count > static_cast<std::uint64_t>(point.size())) {
    Eigen::VectorXd larger(static_cast<Eigen::Index>(room_for(received, count, dimension)));
    expect_much(larger.data(), static_cast<std::size_t>(larger.size()) * sizeof(double));
    larger.head(static_cast<Eigen::Index>(received)) = point.head(static_cast<Eigen::Index>(received));
    point = std::move(larger);
  }
  double* to = point.data() + received;
  for (std::size_t i = 0; i < count; ++i) {
    Wire element_value{};
    std::memcpy(&element_value, more.data() + i * sizeof(Wire), sizeof(Wire));
    to[i] = static_cast<double>(element_value);
  }
  if (any_not_finite(to, count)) return malformed("a point with a coordinate that is not finite");
  received += count;
  return {};
}

template <class Wire>
Status Decoder::Assembly::append_values(std::string_view more) {
  const std::size_t count = more.size() / sizeof(Wire);
  if (received + count > values.capacity()) {
    values.reserve(room_for(received, count, dimension));
    expect_much(values.data(), values.capacity() * sizeof(std::int64_t));
  }
  values.resize(received + count);
  std::int64_t* to = values.data() + received;
  bool beyond = false;
  for (std::size_t i = 0; i < count; ++i) {
    Wire element_value{};
    std::memcpy(&element_value, more.data() + i * sizeof(Wire), sizeof(Wire));
    to[i] = static_cast<std::int64_t>(element_value);
    beyond |= to[i] < -(std::int64_t{1} << 62) || to[i] > (std::int64_t{1} << 62);
  }
  if (beyond) return malformed("a reply with a value beyond 2^62");
  received += count;
  return {};
}

Status Decoder::Assembly::append_bytes(std::string_view more) {
  if (received + more.size() > bytes.capacity()) {
    bytes.reserve(room_for(received, more.size(), dimension));
    expect_much(bytes.data(), bytes.capacity());
  }
  bytes.append(more);
  received += more.size();
  return {};
}

Status Decoder::Assembly::append(std::string_view more) {
  switch (element) {
    case v1::ELEMENT_TYPE_BYTES:
      return append_bytes(more);
    case v1::ELEMENT_TYPE_F32:
      return append_point<float>(more);
    case v1::ELEMENT_TYPE_F64:
      return append_point<double>(more);
    case v1::ELEMENT_TYPE_I32:
      return append_values<std::int32_t>(more);
    case v1::ELEMENT_TYPE_I64:
      return append_values<std::int64_t>(more);
    default:
      return malformed("a vector of an unknown type");
  }
}

Result<Message> Decoder::Assembly::finish() {
  const RoundIndex round{header.round()};
  if (header.has_sealed_reply()) {
    UNDERTONE_TRY(const Digest terms, digest_from_bytes(header.sealed_reply().terms()));
    return Message(SealedReply{run, round, terms, header.sealed_reply().unit_bytes(),
                               header.sealed_reply().word_bytes(), std::move(bytes)});
  }
  if (header.has_batch_forward())
    return Message(BatchForward{run, round, header.batch_forward().replies(), std::move(bytes)});
  if (header.has_query()) {
    UNDERTONE_TRY(const std::optional<SealingTerms> sealing, sealing_of(header.query()));
    const bool narrow = element == v1::ELEMENT_TYPE_F32;
    queries::Question question =
        queries::question_of(static_cast<releases::QuestionKind>(header.query().kind()), std::move(point));
    return Message(QueryMessage{
        run, narrow ? queries::PointType::F32 : queries::PointType::F64, {round, std::move(question)}, sealing});
  }
  const v1::Reply& reply = header.reply();
  const bool narrow = element == v1::ELEMENT_TYPE_I32;
  queries::Answer answer = queries::NoisedSums{};
  if (reply.form() == v1::ANSWER_FORM_PUBLIC_SUMS) {
    answer = queries::PublicSums{std::move(values)};
  } else if (reply.form() == v1::ANSWER_FORM_SUMS_BESIDE_PUBLIC) {
    answer = queries::SumsBesidePublic{std::move(values)};
  } else if (reply.form() == v1::ANSWER_FORM_SELECTED) {
    if (values.front() < 0) return malformed("a selection of a candidate below 0");
    answer = queries::Selected{std::move(values)};
  } else if (reply.form() == v1::ANSWER_FORM_REPORTS) {
    // Of i32 they are bits; what else a report may be, the round that asked for it knows.
    if (narrow && std::any_of(values.begin(), values.end(), [](std::int64_t bit) { return bit != 0 && bit != 1; }))
      return malformed("a report that is no bit");
    answer = queries::Reports{std::move(values)};
  } else {
    answer = queries::NoisedSums{std::move(values)};
  }
  const auto noise = reply.noise() == v1::NOISE_KIND_SECURE ? crypto::NoiseKind::Secure : crypto::NoiseKind::Test;
  UNDERTONE_TRY(const Digest query, digest_from_bytes(reply.query()));
  return Message(ReplyMessage{run,
                              query,
                              narrow ? queries::ReplyType::I32 : queries::ReplyType::I64,
                              {round, reply.step_log2(), noise, std::move(answer)}});
}

}  // namespace undertone::wire
