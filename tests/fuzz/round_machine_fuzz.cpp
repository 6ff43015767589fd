#include <cmath>

#include "coordinator/rounds/round_machine.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

using namespace coordinator;
using std::chrono::milliseconds;

constexpr std::uint32_t kSilos = 4;

SiloId silo_of(std::uint32_t number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }

/// One round, and who has really answered it with what.
class World {
 public:
  explicit World(Input& input) : machine_(setup_of(input)) { carry_out(machine_.open(now_)); }

  void step(Input& input) {
    const std::uint32_t what = input.below(8);
    const std::uint32_t silo = input.below(kSilos + 1);  // the last is a stranger
    if (what < 5) {
      reply(silo, input);
    } else if (what == 5) {
      carry_out(machine_.on_lost(silo_of(silo)));
    } else if (what == 6) {
      now_ += milliseconds(100);
      carry_out(machine_.on_deadline(now_));
    } else {
      machine_.expect(silo_of(silo), {1 + silo, false});
    }
    UNDERTONE_CHECK(machine_.accepted().size() == accepted_);
    UNDERTONE_CHECK(machine_.missing().size() + accepted_ == machine_.setup().expected.size());
  }

 private:
  static RoundMachine::Setup setup_of(Input& input) {
    RoundMachine::Setup setup;
    setup.run = {sha256("job"), {1}};
    setup.round = RoundIndex{3};
    setup.query = sha256("query");
    setup.shape.dimension = 2;
    setup.shape.lattice = {input.rarely(2) ? queries::ReplyType::I32 : queries::ReplyType::I64, -20};
    for (std::uint32_t i = 0; i < kSilos - 1; ++i) setup.expected.emplace(silo_of(i), Participant{1 + i, i == 2});
    setup.quorum = 1 + input.below(kSilos);
    setup.deadline = milliseconds(100);
    return setup;
  }

  void reply(std::uint32_t silo, Input& input) {
    const RoundMachine::Setup& setup = machine_.setup();
    const std::uint8_t how = input.byte();  // sound where it is below 128
    const std::int64_t value = input.number() % (std::uint64_t{1} << 31U);
    std::vector<std::int64_t> values(how == 128 ? 3 : 2, how % 2 == 0 ? value : -value);
    wire::ReplyMessage message{setup.run, setup.query, setup.shape.lattice.type, {}};
    message.reply = {setup.round, setup.shape.lattice.step_log2, setup.shape.noise, queries::NoisedSums{values}};
    const auto expected = setup.expected.find(silo_of(silo));
    const bool is_public = expected != setup.expected.end() && expected->second.public_answer;
    if (is_public != (how == 129)) message.reply.answer = queries::PublicSums{values};
    if (how == 130) message.run.nonce = {2};
    if (how == 131) message.reply.round = RoundIndex{2};
    if (how == 132) message.reply.round = RoundIndex{4};
    if (how == 133) message.query = sha256("another");
    if (how == 134) message.reply.step_log2 = -19;
    if (how == 135) message.reply.noise = crypto::NoiseKind::Test;
    if (how == 136) {
      message.type = message.type == queries::ReplyType::I32 ? queries::ReplyType::I64 : queries::ReplyType::I32;
    }
    const bool sound = how < 128 || how > 136;
    const bool open = machine_.state() == RoundMachine::State::Open;
    const bool first = expected != setup.expected.end() && !machine_.accepted().contains(silo_of(silo));
    const std::uint64_t weight = first ? expected->second.weight : 0;
    std::optional<RoundMachine::Reception> reception;
    const auto actions = machine_.on_reply(silo_of(silo), message, reception);
    UNDERTONE_CHECK((reception == RoundMachine::Reception::Accepted) == (sound && open && first));
    if (reception == RoundMachine::Reception::Accepted) {
      ++accepted_;
      weight_ += weight;
      sum_ += static_cast<long double>(values.front()) * static_cast<long double>(weight);
    } else {
      UNDERTONE_CHECK(actions.empty());
    }
    carry_out(actions);
  }

  void carry_out(const std::vector<RoundMachine::Action>& actions) {
    for (const RoundMachine::Action& action : actions) {
      UNDERTONE_CHECK(!ended_);
      if (std::holds_alternative<RoundMachine::CloseRound>(action)) {
        ended_ = true;
        check_fold();
      } else if (std::holds_alternative<RoundMachine::AbortRound>(action)) {
        ended_ = true;
        UNDERTONE_CHECK(accepted_ < machine_.setup().quorum);
      } else if (const auto* asked = std::get_if<RoundMachine::AskSilos>(&action)) {
        UNDERTONE_CHECK(++times_asked_ <= 2);
        for (const SiloId& silo : asked->silos) UNDERTONE_CHECK(!machine_.accepted().contains(silo));
      }
    }
  }
  /// The mean of those that answered, never below the quorum.
  void check_fold() const {
    UNDERTONE_CHECK(accepted_ >= machine_.setup().quorum);
    const folds::Gathered gathered = machine_.gathered();
    UNDERTONE_CHECK(gathered.replies == static_cast<Eigen::Index>(accepted_));
    const double expected = static_cast<double>(sum_ / static_cast<long double>(weight_)) * 0x1p-20;
    UNDERTONE_CHECK(std::abs(gathered.mean()[0] - expected) <= 1e-12 * (1.0 + std::abs(expected)));
  }

  TimePoint now_{};
  RoundMachine machine_;
  std::size_t accepted_ = 0;
  std::uint64_t weight_ = 0;
  long double sum_ = 0.0L;
  bool ended_ = false;
  int times_asked_ = 0;
};

/// Replies of any shape, losses, latecomers and deadlines: a round folds each silo once, and ends once.
void round_machine(std::string_view bytes) {
  Input input(bytes);
  World world(input);
  while (!input.empty()) world.step(input);
}

const Target kTarget("round_machine", round_machine);

}  // namespace
}  // namespace undertone::fuzz
