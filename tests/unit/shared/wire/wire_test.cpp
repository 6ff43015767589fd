#include <fstream>
#include <gtest/gtest.h>
#include <tuple>
#include <unistd.h>

#include "shared/base/random_source.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/undertone.pb.h"
#include "tests/support/one_of_each.hpp"

namespace undertone::wire {
namespace {

RunId run() { return {sha256("job"), {1, 2, 3}}; }

TEST(CodecTest, AQueryKeepsItsSealingTerms) {
  for (const Message& message : tests::one_of_each(run())) {
    const auto* query = std::get_if<QueryMessage>(&message);
    if (query == nullptr) continue;
    const std::vector<Message> decoded = Decoder{Limits{}}.feed(Encoder{Limits{}}.encode(message)).value();
    const auto& same = std::get<QueryMessage>(decoded.at(0));
    ASSERT_EQ(same.sealing.has_value(), query->sealing.has_value());
    if (!query->sealing) continue;
    EXPECT_EQ(same.sealing->public_key, query->sealing->public_key);
    EXPECT_EQ(same.sealing->mac_key, query->sealing->mac_key);
  }
}

TEST(DecoderTest, RefusesABatchThatIsOutOfOrderOrBounds) {
  const auto refusal = [](BatchOpen open) {
    const auto decoded = Decoder{Limits{}}.feed(Encoder{Limits{}}.encode(open));
    return decoded ? std::string("accepted") : decoded.error().message;
  };
  BatchOpen open{run(),       {4},
                 1,           {SiloId::create("b").value(), SiloId::create("c").value()},
                 2,           10,
                 10,          0,
                 sha256("q"), std::chrono::milliseconds(1)};
  EXPECT_EQ(refusal(open), "accepted");
  BatchOpen wrong = open;
  wrong.expected.push_back(SiloId::create("a").value());
  EXPECT_NE(refusal(wrong).find("ascending"), std::string::npos);
  wrong = open;
  wrong.expected.push_back(SiloId::create("c").value());
  EXPECT_NE(refusal(wrong).find("ascending"), std::string::npos);
  wrong = open;
  wrong.word_bytes = 9;
  EXPECT_NE(refusal(wrong).find("range"), std::string::npos);
  wrong = open;
  wrong.expected.clear();
  EXPECT_NE(refusal(wrong).find("range"), std::string::npos);
  for (std::size_t i = 0; i <= kBatchSilosMax; ++i)
    wrong.expected.push_back(SiloId::create(fmt::format("s{:05}", i)).value());
  EXPECT_NE(refusal(wrong).find("more than 4096"), std::string::npos);
}

TEST(DecoderTest, RefusesReceiptsOfMoreShufflersThanAJobHas) {
  const auto refusal = [](const std::map<std::string, Digest>& receipts) {
    const auto decoded = Decoder{Limits{}}.feed(Encoder{Limits{}}.encode(ReplyHandedOver{run(), {4}, receipts}));
    return decoded ? std::string("accepted") : decoded.error().message;
  };
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({{"a", sha256("a")}, {"b", sha256("b")}}), "accepted");
  EXPECT_EQ(refusal({{"a", {}}, {"b", {}}, {"c", {}}}), "a reply handed over to more shufflers than a job has");
  EXPECT_EQ(refusal({{"no name", {}}}), "a shuffler's receipt of the wrong form");
}

TEST(DecoderTest, RefusesMoreSealedBytesThanAVectorMayHaveBeforeTheFirst) {
  Limits limits;
  limits.dimension_max = 4;
  const std::string fits = Encoder{limits}.encode(SealedReply{run(), {4}, sha256("t"), 1, 0, std::string(32, 'x')});
  EXPECT_TRUE(Decoder{limits}.feed(fits).has_value());
  const std::string over = Encoder{limits}.encode(SealedReply{run(), {4}, sha256("t"), 1, 0, std::string(33, 'x')});
  EXPECT_EQ(Decoder{limits}.feed(over).error().code, ErrorCode::LimitExceeded);
}

TEST(CodecTest, EveryMessageSurvivesTheWireInAnyPieces) {
  for (const Message& message : tests::one_of_each(run())) {
    SCOPED_TRACE(name_of(message));
    Encoder encoder{Limits{}};
    const std::string bytes = encoder.encode(message);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
      Decoder decoder{Limits{}};
      std::vector<Message> decoded;
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        for (Message& m : decoder.feed(std::string_view(bytes).substr(at, piece)).value())
          decoded.push_back(std::move(m));
      }
      ASSERT_EQ(decoded.size(), 1U);
      EXPECT_EQ(decoded[0].index(), message.index());
      Encoder again{Limits{}};
      EXPECT_EQ(again.encode(decoded[0]), bytes);  // nothing was lost: the same bytes come out again
    }
  }
}

TEST(CodecTest, ALongVectorCrossesInBoundedChunks) {
  Limits limits;
  limits.chunk_bytes = 1024;
  limits.frame_bytes_max = 1200;
  Eigen::VectorXd point(5000);
  RandomSource random(1);
  for (double& v : point) v = random.unit();
  Encoder encoder{limits};
  const std::string bytes =
      encoder.encode(QueryMessage{run(), queries::PointType::F64, {{0}, queries::GradientQuestion{point}}});
  Decoder decoder{limits};
  const std::vector<Message> decoded = decoder.feed(bytes).value();
  ASSERT_EQ(decoded.size(), 1U);
  EXPECT_EQ(queries::point_of(std::get<QueryMessage>(decoded[0]).query.question), point);
}

/// The payloads of the frames in `bytes`.
std::vector<std::string> payloads(const std::string& bytes) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + 8 + i])) << (8 * i);
    out.push_back(bytes.substr(at + kFrameHeaderBytes, length));
    at += kFrameHeaderBytes + length;
  }
  return out;
}

TEST(CodecTest, AChunkIsTheEnvelopeThatProtobufWouldWrite) {
  Limits limits;
  limits.chunk_bytes = 16;
  const std::vector<std::int64_t> values{1, -2, 3, -4, 5};
  for (const auto type : {queries::ReplyType::I32, queries::ReplyType::I64}) {
    const ReplyMessage reply{
        run(), sha256("q"), type, {{4}, -20, crypto::NoiseKind::Secure, queries::NoisedSums{values}}};
    const std::vector<std::string> frames = payloads(Encoder{limits}.encode(reply));
    const std::size_t step = type == queries::ReplyType::I32 ? 4 : 2;
    ASSERT_EQ(frames.size(), 1 + (values.size() + step - 1) / step);
    for (std::size_t i = 1; i < frames.size(); ++i) {
      v1::Envelope envelope;
      ASSERT_TRUE(envelope.ParseFromString(frames[i]));
      EXPECT_EQ(envelope.chunk().offset(), (i - 1) * step);
      EXPECT_EQ(envelope.SerializeAsString(), frames[i]);
    }
  }
}

TEST(DecoderTest, AChunkInAnUnusualOrderOfFieldsIsReadAllTheSame) {
  const ReplyMessage reply{
      run(), sha256("q"), queries::ReplyType::I32, {{4}, -20, crypto::NoiseKind::Secure, queries::NoisedSums{{7}}}};
  const std::string bytes = Encoder{Limits{}}.encode(reply);
  const std::vector<std::string> frames = payloads(bytes);
  ASSERT_EQ(frames.size(), 2U);
  v1::Envelope chunk;
  ASSERT_TRUE(chunk.ParseFromString(frames[1]));
  // The chunk first, the version after it; inside, elements before the offset.
  std::string body = "\x12\x04" + chunk.chunk().elements() + std::string("\x08\x00", 2);
  std::string payload = "\x6a" + std::string(1, static_cast<char>(body.size())) + body + "\x08\x02";
  std::string frame = bytes.substr(kFrameHeaderBytes + frames[0].size(), 8);
  frame += std::string{static_cast<char>(payload.size()), 0, 0, 0} + payload;
  Decoder decoder{Limits{}};
  const std::vector<Message> decoded =
      decoder.feed(bytes.substr(0, kFrameHeaderBytes + frames[0].size()) + frame).value();
  ASSERT_EQ(decoded.size(), 1U);
  EXPECT_EQ(queries::values_of(std::get<ReplyMessage>(decoded[0]).reply.answer), std::vector<std::int64_t>{7});
}

TEST(CodecTest, AHeartbeatMayComeInsideAVectorNothingElseMay) {
  Limits limits;
  limits.chunk_bytes = 8;
  Encoder encoder{limits};
  const std::string vector = encoder.encode(
      QueryMessage{run(), queries::PointType::F64, {{0}, queries::GradientQuestion{Eigen::Vector2d(1, 2)}}});
  std::size_t header = kFrameHeaderBytes;
  header += static_cast<unsigned char>(vector[8]);  // the header frame's length, below 256
  const auto with_inside = [&](const Message& inside) {
    Encoder other{limits};
    Decoder decoder{limits};
    return decoder.feed(vector.substr(0, header) + other.encode(inside) + vector.substr(header));
  };
  EXPECT_EQ(with_inside(Heartbeat{})->size(), 2U);
  EXPECT_FALSE(with_inside(JobEnded{run(), true}));
}

TEST(DecoderTest, RefusesAFrameBeforeStoringIt) {
  Limits limits;
  limits.frame_bytes_max = 100;
  Decoder decoder{limits};
  const std::string header("UTNE\1\0\1\0\xff\xff\xff\x7f", 12);
  const auto refused = decoder.feed(header);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
}

TEST(DecoderTest, RefusesADimensionBeforeTheFirstElement) {
  Limits narrow;
  narrow.dimension_max = 2;
  Encoder encoder{Limits{}};
  const std::string bytes = encoder.encode(
      QueryMessage{run(), queries::PointType::F64, {{0}, queries::GradientQuestion{Eigen::Vector3d(1, 2, 3)}}});
  Decoder decoder{narrow};
  EXPECT_EQ(decoder.feed(bytes).error().code, ErrorCode::LimitExceeded);
}

/// What the decoder makes of an envelope by itself.
Result<std::vector<Message>> decoded_alone(const v1::Envelope& envelope, const Decoder::Wanted& wanted = {}) {
  const std::string payload = envelope.SerializeAsString();
  std::string frame("UTNE\1\0\1\0", 8);
  for (std::size_t i = 0; i < 4; ++i) frame.push_back(static_cast<char>((payload.size() >> (8 * i)) & 0xffU));
  Decoder decoder{Limits{}};
  if (wanted) decoder.ask_first(wanted);
  return decoder.feed(frame + payload);
}

v1::Envelope header_of(const Message& message) {
  v1::Envelope envelope;
  EXPECT_TRUE(envelope.ParseFromString(payloads(Encoder{Limits{}}.encode(message)).at(0)));
  return envelope;
}

TEST(DecoderTest, AStatisticIsWholeWithItsHeader) {
  const QueryMessage asked{run(), queries::PointType::F64, {{7}, queries::StatisticQuestion{}}};
  const std::string bytes = Encoder{Limits{}}.encode(asked);
  EXPECT_EQ(payloads(bytes).size(), 1U);
  const std::vector<Message> decoded = Decoder{Limits{}}.feed(bytes + bytes).value();
  ASSERT_EQ(decoded.size(), 2U);  // nothing is waited for in between
  const auto& query = std::get<QueryMessage>(decoded[1]).query;
  EXPECT_TRUE(std::holds_alternative<queries::StatisticQuestion>(query.question));
  EXPECT_EQ(query.round, RoundIndex{7});
  const auto unwanted = decoded_alone(header_of(asked), [](const VectorHeader&) { return false; });
  ASSERT_TRUE(unwanted);
  EXPECT_TRUE(unwanted->empty());
}

TEST(DecoderTest, AStatisticAloneHasNoPoint) {
  v1::Envelope with_point =
      header_of(QueryMessage{run(), queries::PointType::F64, {{7}, queries::StatisticQuestion{}}});
  with_point.mutable_query()->set_dimension(1);
  EXPECT_EQ(decoded_alone(with_point).error().code, ErrorCode::Malformed);
  for (const v1::QuestionKind kind : {v1::QUESTION_KIND_GRADIENT, v1::QUESTION_KIND_METRICS,
                                      v1::QUESTION_KIND_GRADIENT_DIFFERENCE, v1::QUESTION_KIND_LOCAL_RUN}) {
    v1::Envelope none = with_point;
    none.mutable_query()->set_kind(kind);
    none.mutable_query()->set_dimension(0);
    EXPECT_EQ(decoded_alone(none).error().code, ErrorCode::LimitExceeded) << kind;
  }
  v1::Envelope unknown = with_point;
  unknown.mutable_query()->set_kind(static_cast<v1::QuestionKind>(v1::QUESTION_KIND_STATISTIC + 1));
  EXPECT_EQ(decoded_alone(unknown).error().code, ErrorCode::Malformed);
}

TEST(DecoderTest, ASelectionIsOneWholeNumberFromZeroOn) {
  const auto reply = [](std::int64_t index) {
    return ReplyMessage{
        run(), sha256("q"), queries::ReplyType::I64, {{8}, 0, crypto::NoiseKind::Secure, queries::Selected{{index}}}};
  };
  const std::vector<Message> decoded = Decoder{Limits{}}.feed(Encoder{Limits{}}.encode(reply(0))).value();
  ASSERT_EQ(decoded.size(), 1U);
  const auto* selected = std::get_if<queries::Selected>(&std::get<ReplyMessage>(decoded[0]).reply.answer);
  ASSERT_NE(selected, nullptr);
  EXPECT_EQ(selected->values, std::vector<std::int64_t>{0});
  EXPECT_EQ(Decoder{Limits{}}.feed(Encoder{Limits{}}.encode(reply(-1))).error().code, ErrorCode::Malformed);

  const auto refusal = [&](const auto& change) {
    v1::Envelope header = header_of(reply(3));
    change(*header.mutable_reply());
    const auto out = decoded_alone(header);
    return out ? ErrorCode::Internal : out.error().code;
  };
  EXPECT_EQ(refusal([](v1::Reply&) {}), ErrorCode::Internal);
  EXPECT_EQ(refusal([](v1::Reply& r) { r.set_dimension(2); }), ErrorCode::Malformed);
  EXPECT_EQ(refusal([](v1::Reply& r) { r.set_dimension(0); }), ErrorCode::Malformed);
  EXPECT_EQ(refusal([](v1::Reply& r) { r.set_element(v1::ELEMENT_TYPE_I32); }), ErrorCode::Malformed);
  EXPECT_EQ(refusal([](v1::Reply& r) { r.set_step_log2(-1); }), ErrorCode::Malformed);
  EXPECT_EQ(refusal([](v1::Reply& r) { r.set_form(static_cast<v1::AnswerForm>(v1::ANSWER_FORM_REPORTS + 1)); }),
            ErrorCode::Malformed);
  EXPECT_EQ(refusal([](v1::Reply& r) { r.set_form(v1::ANSWER_FORM_UNSPECIFIED); }), ErrorCode::Malformed);
}

TEST(DecoderTest, ReportsAreAtMostAsManyAsRecordsReportAndInI32Bits) {
  const auto reply = [](queries::ReplyType type, int step_log2, std::vector<std::int64_t> reports) {
    return ReplyMessage{
        run(), sha256("q"), type, {{8}, step_log2, crypto::NoiseKind::Secure, queries::Reports{std::move(reports)}}};
  };
  const auto said = [](const ReplyMessage& message) {
    return Decoder{Limits{}}.feed(Encoder{Limits{}}.encode(message));
  };
  for (const auto& sound : {reply(queries::ReplyType::I32, 0, {1, 0, 1}),
                            reply(queries::ReplyType::I64, -20, {-(std::int64_t{1} << 36U), 2})}) {
    const auto decoded = said(sound);
    ASSERT_TRUE(decoded) << decoded.error().message;
    const auto* reports = std::get_if<queries::Reports>(&std::get<ReplyMessage>(decoded->at(0)).reply.answer);
    ASSERT_NE(reports, nullptr);
    EXPECT_EQ(reports->values, queries::values_of(sound.reply.answer));
  }
  EXPECT_EQ(said(reply(queries::ReplyType::I32, 0, {1, 2, 1})).error().code, ErrorCode::Malformed);
  EXPECT_EQ(said(reply(queries::ReplyType::I32, 0, {1, -1, 1})).error().code, ErrorCode::Malformed);
  EXPECT_EQ(said(reply(queries::ReplyType::I32, -20, {1, 0, 1})).error().code, ErrorCode::Malformed);
  v1::Envelope many = header_of(reply(queries::ReplyType::I32, 0, {1}));
  many.mutable_reply()->set_dimension(static_cast<std::uint64_t>(mechanisms::kReportsMax) + 1);
  EXPECT_FALSE(decoded_alone(many));
}

TEST(DecoderTest, RefusesAWelcomeWithMoreReceiptsThanALedgersSiloHas) {
  Welcome welcome;
  const wire::Receipt receipt{sha256("ledger"), 1, sha256("entry"), std::string(64, 's')};
  for (const std::size_t count : {kReceiptsMax, kReceiptsMax + 1}) {
    welcome.receipts.assign(count, receipt);
    Encoder encoder{Limits{}};
    Decoder decoder{Limits{}};
    EXPECT_EQ(decoder.feed(encoder.encode(Message(welcome))).has_value(), count == kReceiptsMax) << count;
  }
}

std::string frame_of(const std::string& payload) {
  std::string out("UTNE\1\0\1\0", 8);
  for (std::size_t i = 0; i < 4; ++i) out.push_back(static_cast<char>((payload.size() >> (8 * i)) & 0xffU));
  return out + payload;
}

/// An envelope whose one field is this message. @param body as protobuf would write it
std::string envelope_of(Kind kind, const std::string& body) {
  std::string out;
  const auto varint = [&out](std::size_t value) {
    for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    out.push_back(static_cast<char>(value));
  };
  varint((static_cast<std::size_t>(kind) << 3U) | 2U);
  varint(body.size());
  return out + body;
}

std::string repeat(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(DecoderTest, RefusesAFieldThatIsRepeatedTooOftenBeforeObjectsAreMadeOfIt) {
  // Two bytes each on the wire, a hundred in memory: empty receipts of a welcome, empty names of a batch.
  const std::vector<std::tuple<Kind, std::string, std::size_t>> repeated = {
      {Kind::Welcome, std::string("\x1a\x00", 2), kReceiptsMax},
      {Kind::BatchOpen, std::string("\x12\x00", 2), kBatchSilosMax},
      {Kind::BatchCollected, std::string("\x12\x00", 2), kBatchSilosMax},
      {Kind::BatchClose, std::string("\x12\x00", 2), kBatchSilosMax}};
  for (const auto& [kind, element, most] : repeated) {
    SCOPED_TRACE(name_of(kind));
    const auto code = [&, kind = kind, element = element](std::size_t count) {
      const std::string frame = frame_of(envelope_of(kind, std::string("\x08\x03", 2) + repeat(element, count)));
      return Decoder{Limits{}}.feed(frame).error().code;
    };
    EXPECT_EQ(code(most + 1), ErrorCode::LimitExceeded);
    EXPECT_EQ(code(most), ErrorCode::Malformed);                              // parsed, and then looked at
    EXPECT_EQ(code((std::size_t{4} << 20U) - 16), ErrorCode::LimitExceeded);  // a whole frame of them
  }
}

TEST(DecoderTest, EachKindHasABoundOfItsOwnBelowTheFrames) {
  const Limits limits;
  for (std::uint8_t number = kKindFirst; number <= kKindLast; ++number) {
    const auto kind = static_cast<Kind>(number);
    if (kind == Kind::Chunk) continue;  // of a vector that was announced, or none
    SCOPED_TRACE(name_of(kind));
    const std::size_t most = kind == Kind::JobOffer ? (std::size_t{1} << 20U) + 1024
                             : kind == Kind::BatchOpen || kind == Kind::BatchCollected || kind == Kind::BatchClose
                                 ? kBatchSilosMax * 66 + 1024
                             : kind == Kind::Welcome ? 4096
                                                     : 1024;
    // Zeros are no message: what is not too long is malformed.
    const auto refused = Decoder{limits}.feed(frame_of(envelope_of(kind, std::string(most, '\0'))));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded) << refused.error().message;
    const auto fits = Decoder{limits}.feed(frame_of(envelope_of(kind, std::string(most - 16, '\0'))));
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code, ErrorCode::Malformed) << fits.error().message;
  }
}

TEST(DecoderTest, RefusesAnEnvelopeOfTwoMessagesOrOfManyFields) {
  const std::string heartbeat = envelope_of(Kind::Heartbeat, "");
  EXPECT_EQ(Decoder{Limits{}}.feed(frame_of(heartbeat))->size(), 1U);
  EXPECT_EQ(Decoder{Limits{}}.feed(frame_of(heartbeat + heartbeat)).error().message,
            "an envelope with more than one message");
  // Fields of a later version are passed over, some of them.
  const std::string later("\xf8\x07\x01", 3);  // number 127
  EXPECT_EQ(Decoder{Limits{}}.feed(frame_of(heartbeat + repeat(later, 15)))->size(), 1U);
  EXPECT_EQ(Decoder{Limits{}}.feed(frame_of(heartbeat + repeat(later, 16))).error().code, ErrorCode::LimitExceeded);
}

TEST(DecoderTest, RefusesKindsThatItsPeerDoesNotSend) {
  for (const KindSet& from : {kSiloToCoordinator, kCoordinatorToSilo, kSiloToShuffler, kCoordinatorToShuffler,
                              kShufflerToSilo, kShufflerToCoordinator}) {
    for (const Message& message : tests::one_of_each(run())) {
      SCOPED_TRACE(name_of(message));
      const std::string bytes = Encoder{Limits{}}.encode(message);
      const v1::Envelope envelope = [&] {
        v1::Envelope out;
        EXPECT_TRUE(out.ParseFromString(payloads(bytes).at(0)));
        return out;
      }();
      const auto kind = static_cast<Kind>(envelope.body_case());
      EXPECT_EQ(name_of(kind), name_of(message));
      Decoder decoder{Limits{}};
      decoder.accept_only(from);
      const auto decoded = decoder.feed(bytes);
      EXPECT_EQ(decoded.has_value(), from.contains(kind));
      if (!decoded) {
        EXPECT_EQ(decoded.error().message, fmt::format("this peer does not send {}", name_of(message)));
      }
    }
  }
}

TEST(DecoderTest, AVectorThatIsNotWantedIsThrownAwayAndTheNextMessageIsHeard) {
  Limits limits;
  limits.chunk_bytes = 1024;
  const ReplyMessage reply{run(),
                           sha256("q"),
                           queries::ReplyType::I32,
                           {{4}, -20, crypto::NoiseKind::Secure, queries::NoisedSums{std::vector<std::int64_t>(5000)}}};
  const SealedReply sealed{run(), {5}, sha256("terms"), 8, 4, std::string(640, 'x')};
  Encoder encoder{limits};
  const std::string bytes = encoder.encode(reply) + encoder.encode(sealed) + encoder.encode(JobEndedSeen{run()});
  std::vector<VectorHeader> asked;
  Decoder decoder{limits};
  decoder.ask_first([&](const VectorHeader& header) {
    asked.push_back(header);
    return false;
  });
  std::size_t messages = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 100) {
    const std::vector<Message> decoded = decoder.feed(std::string_view(bytes).substr(at, 100)).value();
    EXPECT_EQ(decoder.assembling_bytes(), 0U);
    messages += decoded.size();
    for (const Message& message : decoded) EXPECT_TRUE(std::holds_alternative<JobEndedSeen>(message));
  }
  EXPECT_EQ(messages, 1U);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].kind, Kind::Reply);
  EXPECT_EQ(asked[0].run, run());
  EXPECT_EQ(asked[0].round, RoundIndex{4});
  EXPECT_EQ(asked[0].dimension, 5000U);
  EXPECT_EQ(asked[0].element_bytes, 4U);
  EXPECT_EQ(asked[0].memory_bytes, 40'000U);
  EXPECT_EQ(asked[1].kind, Kind::SealedReply);
  EXPECT_EQ(asked[1].memory_bytes, 640U);
  EXPECT_EQ(asked[1].terms, sha256("terms"));
  EXPECT_EQ(asked[1].unit_bytes, 8U);
  EXPECT_EQ(asked[1].word_bytes, 4U);
}

TEST(DecoderTest, WhatIsThrownAwayMustStillContinueItsVector) {
  const SealedReply sealed{run(), {5}, sha256("terms"), 8, 4, std::string(640, 'x')};
  const std::string bytes = Encoder{Limits{}}.encode(sealed);
  const std::size_t header = kFrameHeaderBytes + payloads(bytes).at(0).size();
  Decoder decoder{Limits{}};
  decoder.ask_first([](const VectorHeader&) { return false; });
  ASSERT_TRUE(decoder.feed(bytes.substr(0, header)));
  v1::Envelope chunk;
  chunk.mutable_chunk()->set_offset(0);
  chunk.mutable_chunk()->set_elements(std::string(641, 'x'));
  EXPECT_EQ(decoder.feed(frame_of(chunk.SerializeAsString())).error().code, ErrorCode::Malformed);
}

/// Of this process, in bytes: what is reserved counts, whether it was touched or not.
std::size_t address_space() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(DecoderTest, ReservesForAVectorWhatHasComeTwiceAndNotWhatItsHeaderSays) {
  // The first chunks of 128 MiB.
  Limits limits;
  limits.chunk_bytes = 65536;
  queries::Reply reply{
      {0}, -40, crypto::NoiseKind::Test, queries::NoisedSums{std::vector<std::int64_t>(std::size_t{1} << 24U, 1)}};
  Encoder encoder{limits};
  std::string bytes = encoder.encode(Message(ReplyMessage{run(), {}, queries::ReplyType::I64, std::move(reply)}));
  bytes.resize(std::size_t{1} << 20U);
  bytes.shrink_to_fit();
  Decoder decoder{limits};
  const std::size_t before = address_space();
  ASSERT_TRUE(decoder.feed(bytes));
  EXPECT_EQ(decoder.assembling_bytes(), std::uint64_t{1} << 27U);
  EXPECT_LT(address_space(), before + (std::size_t{32} << 20U));
}

TEST(DecoderTest, RefusesStrangers) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("UTNE\2\0\1\0\0\0\0\0", 12),
                                   std::string("UTNE\1\0\2\0\0\0\0\0", 12), std::string("UTNE\1\0\1\0\0\0\0\0", 12)}) {
    Decoder decoder{Limits{}};
    EXPECT_EQ(decoder.feed(bytes).error().code, ErrorCode::Malformed);
  }
}

TEST(DecoderTest, RefusesAPointThatIsNotFinite) {
  Encoder encoder{Limits{}};
  Decoder decoder{Limits{}};
  EXPECT_FALSE(decoder.feed(encoder.encode(
      QueryMessage{run(), queries::PointType::F64, {{0}, queries::GradientQuestion{Eigen::Vector2d(1, HUGE_VAL)}}})));
}

TEST(DecoderTest, NoDamageCrashesIt) {
  std::string all;
  for (const Message& message : tests::one_of_each(run())) {
    Encoder encoder{Limits{}};
    all += encoder.encode(message);
  }
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomSource random(seed);
    std::string damaged = all;
    for (std::uint64_t i = 0; i <= random.below(4); ++i)
      damaged[random.below(damaged.size())] = static_cast<char>(random.word());
    Decoder decoder{Limits{}};
    (void)decoder.feed(damaged);
  }
}

TEST(NegotiateTest, TakesTheHighestThatBothSpeak) {
  EXPECT_EQ(negotiate({1, 4, "s"}, 2, 3).value(), 3U);
  EXPECT_EQ(negotiate({1, 2, "s"}, 2, 3).value(), 2U);
}

TEST(NegotiateTest, AMismatchNamesBothRanges) {
  const auto none = negotiate({4, 5, "undertone-silo 9"}, 1, 3);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "the silo (undertone-silo 9) speaks protocol 4 to 5, this coordinator 1 to 3");
}

}  // namespace
}  // namespace undertone::wire
