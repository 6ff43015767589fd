#include "lab/audit/audited_silo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/store/sqlite.hpp"
#include "silo/agent/silo_machine.hpp"

namespace undertone::lab {
namespace {

class ForgottenHead final : public silo::HeadStore {
 public:
  [[nodiscard]] Result<std::optional<std::string>> read() override { return head_; }
  [[nodiscard]] Status write(std::string_view head) override {
    head_ = std::string(head);
    return {};
  }

 private:
  std::optional<std::string> head_;
};

/// A policy that allows the job: what is audited is what a silo sends once it has accepted.
silo::Policy allowing(const jobs::Job& job, const jobs::CohortMember& member) {
  return {job.model ? std::vector<std::string>{std::string(job.model->name())} : std::vector<std::string>{},
          {std::string(job.algorithm->name())},
          {std::string(releases::to_string(job.unit))},
          1,
          1,
          member.facts.epsilon(),
          *releases::Delta::create(std::max(member.facts.delta(), std::numeric_limits<double>::min())),
          {*releases::EpsilonAmount::rounded_down(1e6), *releases::DeltaAmount::rounded_down(0.5)},
          silo::Approval::Automatic,
          std::chrono::milliseconds(1),
          std::nullopt,
          false,
          silo::ExplainRefusals::Kind,
          true};
}

class ProductSilo final : public AuditedSilo {
 public:
  ProductSilo(const jobs::Job& job, std::string job_bytes, const jobs::CohortMember& member,
              MakeRandomness make_randomness)
      : job_(job),
        job_bytes_(std::move(job_bytes)),
        member_(member),
        make_randomness_(std::move(make_randomness)),
        plan_(jobs::plan_of(job, member).value()) {}

  Result<Transcript> run(const data::Dataset& dataset, const NextPoint& next) override {
    store::Database disk = store::Database::in_memory().value();
    store::Database desk_disk = store::Database::in_memory().value();
    silo::Desk desk = silo::Desk::open(desk_disk).value();
    ForgottenHead head;
    const std::unique_ptr<silo::ReleaseRandomness> randomness = make_randomness_();
    const auto clock = [] { return std::int64_t{0}; };
    const Digest holdout = member_.facts.holdout_public ? sha256("audited holdout") : Digest{};
    const Digest open = member_.facts.public_records > 0 ? sha256("audited public records") : Digest{};
    silo::DatasetIdentity identity{"audited", {}, holdout, open, job_.unit};
    if (dataset.training.of_persons()) {
      identity.persons = sha256("audited persons");
    }
    Result<silo::Ledger> ledger =
        silo::Ledger::open(disk, head, key_, identity, allowing(job_, member_).total, randomness->kind(), clock);
    if (!ledger) return ledger.error();
    silo::SiloMachine machine(
        {member_.facts.silo,
         allowing(job_, member_),
         {job_.schema, static_cast<std::int64_t>(dataset.training.count()),
          static_cast<std::int64_t>(dataset.holdout.count()), member_.facts.holdout_public,
          static_cast<std::int64_t>(dataset.public_records.count()), job_.unit},
         dataset,
         *ledger,
         *randomness,
         wire::Limits{},
         {},
         desk,
         "audited",
         clock,
         {},
         // As the silo would plan, which is the same in every run: bins take long to plan.
         [&](const jobs::Job&, const jobs::CohortMember&) { return Result<planning::Plan>(plan_); }});
    RunId run{sha256(job_bytes_), {}};
    // Bins are drawn by the run's name and a key of the ledger's, which is the same here: a run of its own each time.
    if (plan_.parts_credit()) {
      ++runs_;
      for (std::size_t i = 0; i < sizeof runs_; ++i) run.nonce[i] = static_cast<std::uint8_t>(runs_ >> 8U * i);
    }
    if (Status accepted = deliver(machine, wire::JobOffer{run, job_bytes_}, nullptr); !accepted)
      return accepted.error();
    Transcript transcript;
    for (std::uint64_t round = 0; round < plan_.rounds(); ++round) {
      const releases::QuestionKind kind = plan_.release({round})->ask.kind();
      SeenRound seen;
      if (releases::asked_at_point(kind)) seen.point = next(transcript);
      const wire::QueryMessage query{run, job_.point_type, {{round}, queries::question_of(kind, seen.point)}};
      if (Status answered = deliver(machine, query, &seen); !answered) return answered.error();
      transcript.push_back(std::move(seen));
    }
    return transcript;
  }

 private:
  /// @param seen of the reply, if one is expected
  static Status deliver(silo::SiloMachine& machine, const wire::Message& message, SeenRound* seen) {
    bool replied = seen == nullptr;
    std::string why = "no reply";
    wire::Decoder decoder{wire::Limits{}};
    for (const silo::Action& action : machine.on_message(message)) {
      if (const auto* told = std::get_if<silo::Tell>(&action)) why = told->event;
      const auto* send = std::get_if<silo::Send>(&action);
      if (send == nullptr) continue;
      UNDERTONE_TRY(const std::vector<wire::Message> sent, decoder.feed(send->bytes));
      for (const wire::Message& one : sent) {
        if (const auto* answer = std::get_if<wire::JobAnswer>(&one); answer != nullptr && answer->refusal)
          return Error{ErrorCode::PolicyRefused, "the audited silo refused the job: " + why};
        const auto* reply = std::get_if<wire::ReplyMessage>(&one);
        if (reply == nullptr || seen == nullptr) continue;
        const std::vector<std::int64_t>& values = queries::values_of(reply->reply.answer);
        Eigen::VectorXd said(static_cast<Eigen::Index>(values.size()));
        for (std::size_t j = 0; j < values.size(); ++j)
          said[static_cast<Eigen::Index>(j)] = std::ldexp(static_cast<double>(values[j]), reply->reply.step_log2);
        const bool two = std::holds_alternative<queries::SumsBesidePublic>(reply->reply.answer);
        seen->open = two ? said.tail(said.size() / 2) : Eigen::VectorXd();
        seen->values = two ? said.head(said.size() / 2) : said;
        seen->rows = static_cast<double>(send->bytes.size()) / 8.0;
        replied = true;
      }
    }
    return replied ? Status() : Status(Error{ErrorCode::Internal, "the audited silo sent no reply: " + why});
  }

  jobs::Job job_;
  std::string job_bytes_;
  jobs::CohortMember member_;
  MakeRandomness make_randomness_;
  planning::Plan plan_;
  SigningKey key_ = SigningKey::from_seed(std::string(32, 'a')).value();
  std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<AuditedSilo> product_silo(const jobs::Job& job, const std::string& job_bytes,
                                          const jobs::CohortMember& member, MakeRandomness make_randomness) {
  return std::make_unique<ProductSilo>(job, job_bytes, member, std::move(make_randomness));
}

}  // namespace undertone::lab
