#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/privacy/additive_shares.hpp"
#include "shared/privacy/binomial_report.hpp"
#include "shared/shuffled/batch_fold.hpp"
#include "shared/shuffled/seal_reply.hpp"

namespace undertone::tests {

using ShuffleForm = config::Shuffle::Form;

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
        layout(shuffled::RoundLayout::create(shuffle, release, {type, -20}, kCohort).value()),
        recipients(recipients_for(run)) {}

  [[nodiscard]] static privacy::BinomialParameters parameters() {
    return privacy::BinomialParameters::create(3, 2, {1, 2}).value();
  }
  /// K (g + b)
  static constexpr std::int64_t kMost = kRecords * 5;

  [[nodiscard]] static privacy::Release release_of(ShuffleForm form, Eigen::Index dimension) {
    const privacy::ClipNorm clip = privacy::ClipNorm::create(2.0).value();
    privacy::Mechanism mechanism =
        privacy::gaussian_lattice(clip, privacy::GaussianShift::create(0.5).value(), dimension, kRecords).value();
    if (form != ShuffleForm::Reports)
      mechanism = privacy::BinomialSum{privacy::binomial_lattice(parameters(), clip),
                                       parameters(),
                                       {privacy::GaussianShift::create(0.5).value(), 1e-9}};
    return {{privacy::QuestionKind::Gradient, privacy::Block::Training, 1.0, dimension, clip},
            kRecords,
            kRecords,
            mechanism,
            kRecords,
            {0, kRecords}};
  }
  [[nodiscard]] shuffled::Recipients recipients_for(const RunId& of) const {
    return shuffle.adds()
               ? shuffled::adders_of(shuffle, of).value()
               : shuffled::coordinator_of(shuffle, coordinator.public_key().bytes(), mac_key.bytes()).value();
  }
  [[nodiscard]] shuffled::SealFor seal_for() const {
    return {run, query.round, queries::query_digest(run, query), recipients};
  }
  [[nodiscard]] std::unique_ptr<shuffled::BatchFold> fold() const {
    if (shuffle.adds()) return shuffled::make_added_fold(layout, {run, query});
    return shuffled::make_mixed_fold(layout, {run, query, privacy::NoiseKind::Secure, plausible},
                                     {coordinator, mac_key});
  }

  /// What a shuffler forwards of the silos' messages to it.
  [[nodiscard]] std::string forwarded(std::size_t shuffler, const std::vector<shuffled::SealedMessage>& messages,
                                      std::uint64_t seed = 1) const {
    return shuffle.adds() ? added(shuffler, messages) : mixed(messages, seed);
  }

  std::function<bool(const std::vector<std::int64_t>&)> plausible;  // of reports; empty: all are
  RunId run{sha256("job"), {}};
  queries::Query query;
  sealing::SealingKey coordinator = sealing::SealingKey::generate();
  std::array<sealing::SealingKey, 2> adders{sealing::SealingKey::generate(), sealing::SealingKey::generate()};
  sealing::ReplyMacKey mac_key = sealing::ReplyMacKey::draw();
  config::Shuffle shuffle;
  privacy::Release release;
  shuffled::RoundLayout layout;
  shuffled::Recipients recipients;

 private:
  [[nodiscard]] config::Shuffle shuffle_of(ShuffleForm form) const {
    config::Shuffle out;
    out.form = form;
    out.shufflers.push_back({"first", digest_from_bytes(adders[0].public_key().bytes()).value()});
    if (form == ShuffleForm::Shares)
      out.shufflers.push_back({"second", digest_from_bytes(adders[1].public_key().bytes()).value()});
    out.coordinator_key = coordinator.public_key().fingerprint();
    return out;
  }
  [[nodiscard]] std::string mixed(const std::vector<shuffled::SealedMessage>& messages, std::uint64_t seed) const {
    std::string all;
    for (const shuffled::SealedMessage& message : messages) all += message.units;
    const std::size_t bytes = layout.unit_bytes();
    std::string out;
    for (const std::size_t i : RandomSource(seed).permutation(all.size() / bytes)) out += all.substr(i * bytes, bytes);
    return out;
  }
  [[nodiscard]] std::string added(std::size_t shuffler, const std::vector<shuffled::SealedMessage>& messages) const {
    const sealing::RoundTerms terms = layout.terms(run, query.round, queries::query_digest(run, query));
    std::vector<std::uint64_t> total(static_cast<std::size_t>(layout.dimension()), 0);
    for (const shuffled::SealedMessage& message : messages) {
      const sealing::OpenedReply opened =
          sealing::open(adders[shuffler], shuffled::adder_mac_key(run), terms, message.units).value();
      const std::string_view body = opened.body();
      privacy::add_share({reinterpret_cast<const std::uint8_t*>(body.data()), body.size()}, layout.modulus(), total)
          .value();
    }
    const std::vector<std::uint8_t> packed = privacy::pack_share(total, layout.modulus());
    return {packed.begin(), packed.end()};
  }
};

}  // namespace undertone::tests
