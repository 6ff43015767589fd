#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "silo/ledger/ledger.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"
#include "verifier/verification.hpp"

namespace undertone::tests {

using crypto::NoiseKind;
using silo::Budget;
using silo::DatasetIdentity;
using silo::each_entry;
using silo::entry_hash;
using silo::head_message;
using silo::Ledger;
using silo::LedgerEntry;
using silo::SpendToken;

/// A ledger on disk with everything around it.
class LedgerOnDisk : public ::testing::Test {
 protected:
  LedgerOnDisk()
      : key_(SigningKey::from_seed(std::string(32, 'k')).value()),
        job_(SmallFederation{}.job()),
        parsed_(jobs::parse_job(job_, "job").value()),
        member_(parsed_.cohort.front()),
        plan_(jobs::plan_of(parsed_, member_).value()),
        run_{sha256(job_), {1}} {}

  /// Another job: what follows is of the plan of its first silo.
  void use(const SmallFederation& federation) {
    job_ = federation.job();
    parsed_ = jobs::parse_job(job_, "job").value();
    member_ = parsed_.cohort.front();
    plan_ = jobs::plan_of(parsed_, member_).value();
    run_ = {sha256(job_), {1}};
  }

  Result<Ledger> open(const DatasetIdentity& dataset, const Budget& budget, NoiseKind noise = NoiseKind::Secure) {
    database_.reset();
    database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
    return Ledger::open(*database_, head_, key_, dataset, budget, noise, clock);
  }
  Result<Ledger> open() { return open(dataset_, budget_); }
  static std::int64_t clock() { return 1'763'716'143; }  // 2025-11-21T09:09:03Z

  /// Reserves the run and releases rounds 0 .. count-1 with made-up replies.
  void spend(Ledger& ledger, std::uint64_t count) {
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
    for (std::uint64_t round = 0; round < count; ++round) release(ledger, round, "reply " + std::to_string(round));
  }
  void release(Ledger& ledger, std::uint64_t round, const std::string& reply) {
    Result<SpendToken> token = ledger.authorise(run_, {round}, *plan_.release({round}), query(round));
    ASSERT_TRUE(token) << token.error().message;
    ASSERT_TRUE(ledger.commit(*std::move(token), reply, NoiseKind::Secure));
  }
  static Digest query(std::uint64_t round) { return sha256("query " + std::to_string(round)); }
  void sql(const std::string& statement) {
    store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
    const Status done = database.execute(statement);
    ASSERT_TRUE(done) << done.error().message;
  }
  void close() { database_.reset(); }
  std::filesystem::path file() const { return folder_.path() / "ledger.sqlite"; }
  std::filesystem::path head_file() const { return folder_.path() / "head.json"; }
  verifier::LedgerFindings verify() {
    return verifier::verify_ledger(file(), {head_file(), dataset_.name, to_hex(key_.public_key())});
  }

  /// Both the ledger and the separately written verifier must refuse, each naming the reason.
  void expect_refused(ErrorCode code, const std::string& ledger_says, const std::string& verifier_says) {
    const Result<Ledger> opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, code) << opened.error().message;
    EXPECT_NE(opened.error().message.find(ledger_says), std::string::npos) << opened.error().message;
    close();
    const verifier::LedgerFindings findings = verify();
    ASSERT_FALSE(findings.problems.empty());
    bool named = false;
    for (const std::string& problem : findings.problems)
      named = named || problem.find(verifier_says) != std::string::npos;
    EXPECT_TRUE(named) << "expected \"" << verifier_says << "\" among: " << findings.problems.front();
  }

  /// Replaces a text in the last entry, and signs what comes out.
  void rewrite(const std::string& from, const std::string& to) { rewrite_at(0, from, to); }
  /// In this entry, 0 for the last, and signs it and all that follow.
  void rewrite_at(std::uint64_t sequence, const std::string& from, const std::string& to) {
    store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
    std::vector<LedgerEntry> entries;
    ASSERT_TRUE(each_entry(database, [&](const LedgerEntry& one) -> Status {
      entries.push_back(one);
      return {};
    }));
    ASSERT_LE(sequence, entries.size());
    std::string& body = entries[(sequence == 0 ? entries.size() : sequence) - 1].body;
    const std::size_t at = body.find(from);
    ASSERT_NE(at, std::string::npos) << body;
    body.replace(at, from.size(), to);
    Digest previous{};
    for (LedgerEntry& entry : entries) {
      entry.previous = previous;
      entry.hash = entry_hash(entry.sequence, entry.previous, entry.body);
      entry.signature = key_.sign(head_message(entries.front().hash, entry.sequence, entry.hash));
      previous = entry.hash;
      store::Statement update =
          database.prepare("UPDATE entries SET previous = ?, body = ?, hash = ?, signature = ? WHERE sequence = ?")
              .value();
      update.bind_blob(1, as_bytes(entry.previous)).bind_blob(2, entry.body).bind_blob(3, as_bytes(entry.hash));
      update.bind_blob(4, entry.signature).bind(5, static_cast<std::int64_t>(entry.sequence));
      ASSERT_TRUE(update.run());
    }
    const LedgerEntry& entry = entries.back();
    ASSERT_TRUE(head_.write(nlohmann::json{{"format", "undertone.ledger-head/1"},
                                           {"sequence", std::to_string(entry.sequence)},
                                           {"previous", to_hex(entry.previous)},
                                           {"body", to_hex(entry.body)},
                                           {"signature", to_hex(entry.signature)}}
                                .dump()));
  }
  void expect_refused_by_verifier(const std::string& why) {
    const verifier::LedgerFindings findings = verify();
    ASSERT_FALSE(findings.problems.empty());
    EXPECT_NE(findings.problems.front().find(why), std::string::npos) << findings.problems.front();
  }

  TemporaryFolder folder_;
  SigningKey key_;
  silo::FileHeadStore head_{head_file()};
  DatasetIdentity dataset_{"heart", sha256("content"), sha256("holdout")};
  Budget budget_{*releases::EpsilonAmount::rounded_down(10.0), *releases::DeltaAmount::rounded_down(1e-2)};
  std::string job_;
  jobs::Job parsed_;
  jobs::CohortMember member_;
  planning::Plan plan_;
  RunId run_;
  std::unique_ptr<store::Database> database_;
};

}  // namespace undertone::tests
