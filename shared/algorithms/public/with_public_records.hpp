#pragma once

#include <Eigen/Cholesky>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <variant>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/models/public_loss.hpp"

namespace undertone::algorithms {

/// The mean gradient g of protected records and that of public ones, h, become alpha g + (1 - alpha) h. Public records
/// are the coordinator's, the silos', or both, and each of them counts alike.
/// Source: spec public-data 5.2, Algorithm 11, Proposition 88.
struct MixedGradients {
  models::PublicGradients gradients = models::PublicGradients::Raw;
  /// alpha in [0, 1], of the silos' gradients, in the first round; nothing: what a job's noise makes best.
  std::optional<double> weight = {};
  std::optional<double> weight_end = {};  // alpha in the last round, and on a line in between; nothing: as in the first
};
/// The silos' mean gradient g becomes P^-1 g. P is made of the second derivative H = X^T X / n of the public records'
/// least squares, so that a step is one of mirror descent whose potential is their loss.
/// Source: spec public-data 5.3 (PDA-MD, A.4.1.3).
struct PublicMirror {
  /// The scale of P. A published step size belongs to one of them.
  enum class Scale : std::uint8_t {
    LeastEigenvalue = 1,  // (H + ridge I) over its least eigenvalue: P >= I, steps are of the size that SGD's are
    None,                 // H + ridge I
    LeastOfMean           // (H + ridge/d I) over its least eigenvalue, as the source's program has it
  };
  double ridge = 0.01;  // > 0
  Scale scale = Scale::LeastEigenvalue;
};
/// This says what a coordinator does with public records. It changes at which points silos are asked, and no clip, no
/// noise and no epsilon.
using PublicUse = std::variant<MixedGradients, PublicMirror>;

/// "gradients", "mirror_map"
[[nodiscard]] std::string_view name_of(const PublicUse& use) noexcept;

/// Runs an algorithm of gradients, and changes what it is told of each round by what public records say at the same
/// points: gradients, and differences of gradients. The optimiser inside gets the better estimate of the gradient. This
/// class holds no state beside the inner one's, since the records are a file's, known by its digest.
class WithPublicRecords final : public FederatedAlgorithm {
 public:
  /// Reads the public records. It is called on the first `advance`, which then takes long.
  using Load = std::function<Result<std::shared_ptr<const models::PublicGradientSource>>()>;
  struct Setup {
    PublicUse use;
    double weight = 1.0;                           // alpha, in [0, 1], of MixedGradients, in the first round
    double length = 1.0;                           // > 0: of a clipped or rescaled public gradient
    Load load;                                     // empty: there are silos' public records alone
    std::optional<releases::Ask> difference = {};  // what silos' differences are clipped by
    std::optional<double> weight_end = {};         // alpha in the last round, where it changes
    std::uint64_t rounds = 1;                      // that the algorithm inside has
  };
  WithPublicRecords(std::unique_ptr<FederatedAlgorithm> inner, Setup setup);

  [[nodiscard]] Step start() override { return inner_->start(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] bool advance_takes_long() const override {
    return setup_.load != nullptr || inner_->advance_takes_long();
  }
  void heed(std::stop_token nobody_waits) override { inner_->heed(std::move(nobody_waits)); }
  [[nodiscard]] Eigen::VectorXd candidate() const override { return inner_->candidate(); }
  [[nodiscard]] std::vector<MetricsRow> metrics() const override { return inner_->metrics(); }
  void save(ByteWriter& state) const override { inner_->save(state); }
  [[nodiscard]] Status restore(ByteReader& state) override { return inner_->restore(state); }

 private:
  [[nodiscard]] Status load();
  /// alpha of the round.
  [[nodiscard]] double weight_at(RoundIndex round) const;
  /// Answers the question from all public records, the coordinator's and the silos'. @return an error for other
  /// questions
  [[nodiscard]] Result<folds::Mean::Open> open_mean(const MixedGradients& how, const queries::Question& question,
                                                    const std::optional<folds::Mean::Open>& of_silos) const;
  std::unique_ptr<FederatedAlgorithm> inner_;
  Setup setup_;
  std::shared_ptr<const models::PublicGradientSource> records_;
  std::optional<Eigen::LLT<Eigen::MatrixXd>> mirror_;  // P
};

/// The matrix P of public records' least squares. `mirror_matrix` makes it, or returns an error where the loss is
/// another or P is singular to rounding.
struct MirrorMatrix {
  Eigen::MatrixXd matrix;  // [d, d], symmetric
};
[[nodiscard]] Result<MirrorMatrix> mirror_matrix(const models::PublicLoss& loss, const PublicMirror& how);

/// The weight alpha of the silos' mean gradient with which alpha g + (1 - alpha) h varies least:
///   alpha = (V_pub^2 / n_pub) / (noise + V^2 sum_i p_i^2 / n_i + V_pub^2 / n_pub)
/// The public records are the same in every round, so that their error does not average out over the rounds. The noise
/// does: `noise` is the variance of the weighted mean's noise, of all coordinates together, over the number of rounds.
/// Source: spec public-data 0.1 and 5.2 (Proposition 18).
/// @param open V_pub^2 / n_pub, the mean squared error of the public mean
/// @param silos noise + V^2 sum_i p_i^2 / n_i, that of the silos' mean
/// @return 1 where the error of the public mean is not known
[[nodiscard]] double best_weight(double open, double silos);

}  // namespace undertone::algorithms
