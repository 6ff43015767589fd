#include "shared/jobs/shuffle_section.hpp"

#include <algorithm>

#include "shared/base/ids.hpp"

namespace undertone::jobs {
namespace {

constexpr std::int64_t kHonestMax = 4096;  // as many silos as a batch can expect

Digest parse_key(config::Section& section, const char* key, const char* about) {
  const std::string text = section.text(key, about);
  const Result<Digest> digest = digest_from_hex(text);
  if (!digest && !text.empty()) section.problem(key, "expected 64 hexadecimal digits");
  return digest ? *digest : Digest{};
}

}  // namespace

const Shuffle::Party* Shuffle::party(std::string_view name) const {
  const auto found = std::find_if(shufflers.begin(), shufflers.end(), [&](const Party& p) { return p.name == name; });
  return found == shufflers.end() ? nullptr : &*found;
}

std::string_view to_string(Shuffle::Form form) noexcept {
  switch (form) {
    case Shuffle::Form::Reports:
      return "reports";
    case Shuffle::Form::Bits:
      return "bits";
    case Shuffle::Form::Counts:
      return "counts";
    case Shuffle::Form::Shares:
      return "shares";
  }
  return "";
}

Shuffle parse_shuffle(config::Section section) {
  Shuffle out;
  out.form = section.choice<Shuffle::Form>("form",
                                           {{"shares", Shuffle::Form::Shares},
                                            {"counts", Shuffle::Form::Counts},
                                            {"bits", Shuffle::Form::Bits},
                                            {"reports", Shuffle::Form::Reports}},
                                           "binomial sums as shares for two shufflers that do not collude, as counts "
                                           "for one that reads and adds, as bits mixed unread; or noised sums mixed "
                                           "unread");
  const std::size_t parties = out.form == Shuffle::Form::Shares ? 2 : 1;
  for (config::Section party : section.objects("shufflers", 1, 2, "two where the form is shares, else one")) {
    Shuffle::Party parsed;
    parsed.name = party.text("name", "the CN of its certificate");
    if (const Result<SiloId> proper = SiloId::create(parsed.name); !proper && !parsed.name.empty())
      party.problem("name", "expected 1 to 64 of a-z, 0-9 and -");
    if (out.adds() || party.recording())
      parsed.key = parse_key(party, "key", "of shares and counts: its public key, as undertone-shuffler key prints it");
    party.finish();
    out.shufflers.push_back(std::move(parsed));
  }
  if (!section.recording() && out.shufflers.size() != parties && !out.shufflers.empty()) {
    section.problem("shufflers", fmt::format("expected {} for the form \"{}\", got {}", parties, to_string(out.form),
                                             out.shufflers.size()));
  }
  if (out.shufflers.size() == 2 &&
      (out.shufflers[0].name == out.shufflers[1].name || (out.adds() && out.shufflers[0].key == out.shufflers[1].key)))
    section.problem("shufflers", "expected two parties with names and keys of their own");
  if (!out.adds() || section.recording()) {
    out.coordinator_key = parse_key(section, "coordinator_key",
                                    "of bits and reports: the fingerprint of the coordinator's key for this job, as "
                                    "undertone sealing-key prints it");
  }
  out.honest_min = static_cast<std::size_t>(
      section.integer("honest_min", 1, kHonestMax,
                      "silos in any closed batch that are honest and do not collude: the guarantee rests on it"));
  section.finish();
  return out;
}

}  // namespace undertone::jobs
