#include <csignal>
#include <fmt/core.h>

#include "tests/bench/federation/attack.hpp"
#include "tests/bench/federation/benches.hpp"

namespace undertone::bench {
namespace {

/// A machine that does other work takes longer; bytes and memory are what they are.
constexpr double kNoise = 4.0;

double in_mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

/// What of the ceiling does not hold; nothing where all does.
std::string broken(const Attacked& attacked) {
  const auto too_much = [](std::int64_t bytes, std::uint64_t most) { return static_cast<std::uint64_t>(bytes) > most; };
  std::string out;
  if (attacked.ceiling.bytes != 0 && attacked.said > attacked.ceiling.bytes) out += " bytes";
  if (attacked.suffered.busy_seconds > kNoise * attacked.ceiling.seconds) out += " seconds";
  if (attacked.suffered.longest_seconds > kNoise * attacked.ceiling.longest) out += " stretch";
  if (too_much(attacked.suffered.most_bytes, attacked.ceiling.memory)) out += " memory";
  return out;
}

void print(const Attacked& attacked) {
  fmt::print("| {} | {} | {} | {:.1f}{} | {:.2f} ({:.2f}) | {:.0f} ({:.0f}) | {:.1f} / {:.1f} ({:.1f}) | {} |{}\n",
             attacked.attacker, attacked.victim, attacked.what, in_mebibytes(attacked.said),
             attacked.ceiling.bytes == 0 ? "" : fmt::format(" ({:.1f})", in_mebibytes(attacked.ceiling.bytes)),
             attacked.suffered.busy_seconds, attacked.ceiling.seconds, 1e3 * attacked.suffered.longest_seconds,
             1e3 * attacked.ceiling.longest, in_mebibytes(static_cast<std::uint64_t>(attacked.suffered.most_bytes)),
             in_mebibytes(static_cast<std::uint64_t>(attacked.suffered.kept_bytes)),
             in_mebibytes(attacked.ceiling.memory), attacked.ceiling.from, broken(attacked));
  std::fflush(stdout);
}

}  // namespace

bool bench_members(std::size_t mebibytes, int silos) {
  std::signal(SIGPIPE, SIG_IGN);  // a member whose connection is closed learns it from the write
  tests::Certificates certificates("bench");
  AttackSize size;
  size.mebibytes = mebibytes;
  size.silos = silos;
  if (mebibytes < 4) {
    size.settle = std::chrono::milliseconds(300);
    size.tries = 2;
    size.of_kinds = 20;
  }
  fmt::print(
      "members: what a certificate of each role costs others; ceilings in parentheses, seconds and stretches "
      "may be {:.0f} times theirs on a busy machine\n\n",
      kNoise);
  fmt::print(
      "| who | whom | with what | MiB said | s of its loop | ms at a stretch | MiB at most / kept | from |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  bool held = true;
  for (const auto& attacks :
       {silo_attacks_coordinator, silo_attacks_shuffler, operator_attacks_coordinator, shuffler_attacks,
        coordinator_attacks_shuffler, coordinator_attacks_silo, jobs_of_every_kind}) {
    for (const Attacked& attacked : attacks(certificates, size)) {
      print(attacked);
      held = held && broken(attacked).empty();
    }
  }
  if (!held) fmt::print("\na ceiling is broken\n");
  return held;
}

}  // namespace undertone::bench
