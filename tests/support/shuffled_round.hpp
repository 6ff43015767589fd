#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/sealed/additive_shares.hpp"
#include "shared/sealed/batch_fold.hpp"
#include "shared/sealed/seal_reply.hpp"

namespace undertone::tests {

using ShuffleForm = jobs::Shuffle::Form;

/// A shuffled round of a few silos, with every key there is, and what honest shufflers do with its messages.
class ShuffledRound {
 public:
  static constexpr std::int64_t kRecords = 4;
  static constexpr std::size_t kCohort = 3;

  explicit ShuffledRound(ShuffleForm form, Eigen::Index dimension = 3,
                         queries::ReplyType type = queries::ReplyType::I64)
      : query{RoundIndex{7}, queries::GradientQuestion{Eigen::VectorXd::Ones(dimension)}},
        shuffle(shuffle_of(form)),
        release(release_of(form, dimension)),
        layout(sealed::RoundLayout::create(shuffle, release, {type, -20}, kCohort).value()),
        recipients(recipients_for(run)) {}

  [[nodiscard]] static mechanisms::BinomialParameters parameters() {
    return mechanisms::BinomialParameters::create(3, 2, {1, 2}).value();
  }
  /// K (g + b)
  static constexpr std::int64_t kMost = kRecords * 5;

  [[nodiscard]] static planning::Release release_of(ShuffleForm form, Eigen::Index dimension) {
    const releases::ClipNorm clip = releases::ClipNorm::create(2.0).value();
    mechanisms::Mechanism mechanism =
        mechanisms::gaussian_lattice(clip, releases::GaussianShift::create(0.5).value(), dimension, kRecords).value();
    if (form != ShuffleForm::Reports)
      mechanism = mechanisms::BinomialSum{mechanisms::binomial_lattice(parameters(), clip),
                                          parameters(),
                                          {releases::GaussianShift::create(0.5).value(), 1e-9}};
    return {{releases::GradientMap{}, {}, releases::L2Bound{clip}, dimension},
            kRecords,
            kRecords,
            mechanism,
            kRecords,
            {0, kRecords}};
  }
  [[nodiscard]] sealed::Recipients recipients_for(const RunId& of) const {
    return shuffle.adds() ? sealed::adders_of(shuffle, of).value()
                          : sealed::coordinator_of(shuffle, coordinator.public_key().bytes(), mac_key.bytes()).value();
  }
  [[nodiscard]] sealed::SealFor seal_for() const {
    return {run, query.round, queries::query_digest(run, query), recipients};
  }
  [[nodiscard]] std::unique_ptr<sealed::BatchFold> fold() const {
    if (shuffle.adds()) return sealed::make_added_fold(layout, {run, query});
    return sealed::make_mixed_fold(layout, {run, query, crypto::NoiseKind::Secure, plausible}, {coordinator, mac_key});
  }

  /// What a shuffler forwards of the silos' messages to it.
  [[nodiscard]] std::string forwarded(std::size_t shuffler, const std::vector<sealed::SealedMessage>& messages,
                                      std::uint64_t seed = 1) const {
    return shuffle.adds() ? added(shuffler, messages) : mixed(messages, seed);
  }

  std::function<bool(const std::vector<std::int64_t>&)> plausible;  // of reports; empty: all are
  RunId run{sha256("job"), {}};
  queries::Query query;
  sealed::SealingKey coordinator = sealed::SealingKey::generate();
  std::array<sealed::SealingKey, 2> adders{sealed::SealingKey::generate(), sealed::SealingKey::generate()};
  sealed::ReplyMacKey mac_key = sealed::ReplyMacKey::draw();
  jobs::Shuffle shuffle;
  planning::Release release;
  sealed::RoundLayout layout;
  sealed::Recipients recipients;

 private:
  [[nodiscard]] jobs::Shuffle shuffle_of(ShuffleForm form) const {
    jobs::Shuffle out;
    out.form = form;
    out.shufflers.push_back({"first", digest_from_bytes(adders[0].public_key().bytes()).value()});
    if (form == ShuffleForm::Shares)
      out.shufflers.push_back({"second", digest_from_bytes(adders[1].public_key().bytes()).value()});
    out.coordinator_key = coordinator.public_key().fingerprint();
    return out;
  }
  [[nodiscard]] std::string mixed(const std::vector<sealed::SealedMessage>& messages, std::uint64_t seed) const {
    std::string all;
    for (const sealed::SealedMessage& message : messages) all += message.units;
    const std::size_t bytes = layout.unit_bytes();
    std::string out;
    for (const std::size_t i : RandomSource(seed).permutation(all.size() / bytes)) out += all.substr(i * bytes, bytes);
    return out;
  }
  [[nodiscard]] std::string added(std::size_t shuffler, const std::vector<sealed::SealedMessage>& messages) const {
    const sealed::RoundTerms terms = layout.terms(run, query.round, queries::query_digest(run, query));
    std::vector<std::uint64_t> total(static_cast<std::size_t>(layout.dimension()), 0);
    for (const sealed::SealedMessage& message : messages) {
      const sealed::OpenedReply opened =
          sealed::open(adders[shuffler], sealed::adder_mac_key(run), terms, message.units).value();
      const std::string_view body = opened.body();
      sealed::add_share({reinterpret_cast<const std::uint8_t*>(body.data()), body.size()}, layout.modulus(), total)
          .value();
    }
    const std::vector<std::uint8_t> packed = sealed::pack_share(total, layout.modulus());
    return {packed.begin(), packed.end()};
  }
};

}  // namespace undertone::tests
