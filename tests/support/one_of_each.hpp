#pragma once

#include <vector>

#include "shared/wire/messages.hpp"

namespace undertone::tests {

/// One message of each kind, some kinds in several shapes; those that speak of a run speak of this one.
inline std::vector<wire::Message> one_of_each(const RunId& run) {
  using namespace wire;
  const wire::Receipt receipt{sha256("ledger"), 7, sha256("head"), std::string(64, 's')};
  return {
      Hello{1, 3, "build"},
      Welcome{2, "build", {receipt}},
      Heartbeat{},
      Fault{ErrorCode::ProtocolMismatch, "why"},
      JobOffer{run, std::string("{\0}", 3)},
      JobAnswer{run, std::nullopt},
      JobAnswer{run, Refusal::Budget},
      QueryMessage{run, queries::PointType::F64, {{4}, queries::GradientQuestion{Eigen::Vector3d(0.1, -2.0, 1e300)}}},
      QueryMessage{run, queries::PointType::F32, {{5}, queries::MetricsQuestion{Eigen::Vector2d(0.5, -0.25)}}},
      QueryMessage{run, queries::PointType::F64, {{7}, queries::StatisticQuestion{}}},
      QueryRefused{run, {9}, Refusal::Unplanned},
      ReplyMessage{run,
                   sha256("q"),
                   queries::ReplyType::I64,
                   {{4}, -20, crypto::NoiseKind::Secure, queries::NoisedSums{{1, -(std::int64_t{1} << 62)}}}},
      ReplyMessage{run,
                   sha256("q"),
                   queries::ReplyType::I32,
                   {{4}, 3, crypto::NoiseKind::Test, queries::PublicSums{{-2147483647}}}},
      ReplyMessage{
          run, sha256("q"), queries::ReplyType::I64, {{8}, 0, crypto::NoiseKind::Secure, queries::Selected{{5}}}},
      ReplyMessage{
          run, sha256("q"), queries::ReplyType::I32, {{9}, 0, crypto::NoiseKind::Secure, queries::Reports{{0, 1, 1}}}},
      ReplyMessage{run,
                   sha256("q"),
                   queries::ReplyType::I64,
                   {{9}, -20, crypto::NoiseKind::Secure, queries::Reports{{-(std::int64_t{1} << 36U), 7}}}},
      ReceiptMessage{receipt},
      JobEnded{run, true},
      JobEndedSeen{run},
      JobPending{run},
      QueryMessage{run,
                   queries::PointType::F64,
                   {{6}, queries::GradientQuestion{Eigen::Vector2d(1.0, 2.0)}},
                   SealingTerms{sha256("key"), sha256("mac")}},
      SealedReply{run, {4}, sha256("terms"), 11, 2, std::string("sealed\0unit", 11)},
      SealedReplyTaken{run, {4}},
      SealedReplyTaken{run, {4}, sha256("receipt")},
      SealedReplyRefused{run, {4}, ReplyRefusal::OtherTerms},
      ReplyHandedOver{run, {4}},
      ReplyHandedOver{run, {4}, {{"mixer-a", sha256("receipt a")}, {"mixer-b", sha256("receipt b")}}},
      BatchOpen{run,
                {4},
                1,
                {SiloId::create("clinic-1").value(), SiloId::create("clinic-2").value()},
                2,
                1000,
                100,
                4,
                sha256("q"),
                std::chrono::milliseconds(5000),
                sha256("receipt key")},
      BatchOpened{run, {4}, 1},
      BatchRefused{run, {4}, 1, BatchRefusal::Different},
      BatchCollected{run, {4}, 1, {SiloId::create("clinic-1").value()}},
      BatchClose{run, {4}, 1, {SiloId::create("clinic-1").value()}},
      BatchForward{run, {4}, 3, "units"},
      BatchFailed{run, {4}, 1, 2},
      BatchDelivered{run, {4}},
      BatchAbandon{run, {4}}};
}

}  // namespace undertone::tests
