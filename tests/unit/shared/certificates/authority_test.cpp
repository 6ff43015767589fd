#include <gtest/gtest.h>
#include <openssl/dsa.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "operator/provision.hpp"
#include "shared/base/files.hpp"
#include "shared/certificates/openssl_types.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "tests/support/certificates.hpp"

namespace undertone::certificates {
namespace {

TEST(AuthorityTest, SignsWhoARequestIsForAndNothingElseOfIt) {
  tests::Certificates consortium("lakeside");
  const CertificateFacts facts = load_certificate(consortium.silo("clinic-1").certificate).value();
  EXPECT_EQ(describe(facts.party), "silo clinic-1 of lakeside");
  EXPECT_EQ(facts.serial.size(), 32U);
  EXPECT_LT(facts.not_before, std::time(nullptr));
}

TEST(AuthorityTest, ARequestOfAnotherConsortiumIsRefused) {
  const tests::TemporaryFolder folder;
  tests::Certificates consortium("lakeside");
  const std::string request = make_request({"elsewhere", Role::Silo, "clinic-1"}, folder.path() / "key").value();
  const auto refused = consortium.authority().sign(request, {0, 1, {}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("silo clinic-1 of elsewhere"), std::string::npos);
  EXPECT_FALSE(
      Authority::read_request("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"));
}

/// A request of somebody who brings a key of its own, signed with it.
std::string request_with(detail::Key key) {
  const detail::Request request(X509_REQ_new());
  const detail::Name subject = detail::make_name("lakeside", "silo", "clinic-1");
  const detail::Bio out = detail::writing();
  const bool digests_itself = EVP_PKEY_is_a(key.get(), "ED25519") == 1 || EVP_PKEY_is_a(key.get(), "ED448") == 1;
  EXPECT_EQ(X509_REQ_set_subject_name(request.get(), subject.get()), 1);
  EXPECT_EQ(X509_REQ_set_pubkey(request.get(), key.get()), 1);
  EXPECT_NE(X509_REQ_sign(request.get(), key.get(), digests_itself ? nullptr : EVP_sha256()), 0);
  EXPECT_EQ(PEM_write_bio_X509_REQ(out.get(), request.get()), 1);
  return detail::written(out);
}

using KeyContext = std::unique_ptr<EVP_PKEY_CTX, detail::Freer<EVP_PKEY_CTX_free>>;

detail::Key pss_key(int bits) {
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA-PSS", nullptr));
  EVP_PKEY* key = nullptr;
  EXPECT_EQ(EVP_PKEY_keygen_init(context.get()), 1);
  EXPECT_EQ(EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), bits), 1);
  EXPECT_EQ(EVP_PKEY_keygen(context.get(), &key), 1);
  return detail::Key(key);
}

/// On the curve that is signed, but with its parameters in place of its name.
detail::Key spelt_out_key() {
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  EXPECT_EQ(EVP_PKEY_keygen_init(context.get()), 1);
  EXPECT_EQ(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context.get(), NID_X9_62_prime256v1), 1);
  EXPECT_EQ(EVP_PKEY_CTX_set_ec_param_enc(context.get(), OPENSSL_EC_EXPLICIT_CURVE), 1);
  EXPECT_EQ(EVP_PKEY_keygen(context.get(), &key), 1);
  return detail::Key(key);
}

TEST(AuthorityTest, ACurveThatIsSpeltOutIsNotSigned) {
  const auto refused = Authority::read_request(request_with(spelt_out_key()));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("spelt out"), std::string::npos) << refused.error().message;
}

detail::Key dsa_key() {
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "DSA", nullptr));
  EVP_PKEY* parameters = nullptr;
  EXPECT_EQ(EVP_PKEY_paramgen_init(context.get()), 1);
  EXPECT_EQ(EVP_PKEY_CTX_set_dsa_paramgen_bits(context.get(), 1024), 1);
  EXPECT_EQ(EVP_PKEY_CTX_set_dsa_paramgen_q_bits(context.get(), 160), 1);
  EXPECT_EQ(EVP_PKEY_paramgen(context.get(), &parameters), 1);
  const detail::Key guard(parameters);
  const KeyContext generator(EVP_PKEY_CTX_new_from_pkey(nullptr, parameters, nullptr));
  EVP_PKEY* key = nullptr;
  EXPECT_EQ(EVP_PKEY_keygen_init(generator.get()), 1);
  EXPECT_EQ(EVP_PKEY_keygen(generator.get(), &key), 1);
  return detail::Key(key);
}

detail::Key curve_key(const char* curve) { return detail::Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve)); }
detail::Key rsa_key(std::size_t bits) { return detail::Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits)); }

TEST(AuthorityTest, WeakAndUnknownKindsOfKeysAreRefusedByName) {
  const auto refusal = [](detail::Key key) {
    const auto facts = Authority::read_request(request_with(std::move(key)));
    return facts ? "signed" : facts.error().message;
  };
  const auto begins = [](const std::string& text, const char* with) { return text.starts_with(with); };
  EXPECT_PRED2(begins, refusal(rsa_key(2048)), "the request's key is RSA of 2048 bits, expected P-256, Ed25519");
  EXPECT_PRED2(begins, refusal(pss_key(1024)), "the request's key is RSA-PSS of 1024 bits, expected");
  EXPECT_PRED2(begins, refusal(pss_key(2048)), "the request's key is RSA-PSS of 2048 bits, expected");
  EXPECT_PRED2(begins, refusal(dsa_key()), "the request's key is DSA of 1024 bits, expected");
  for (const char* curve : {"sect283k1", "secp256k1", "brainpoolP256r1", "secp384r1"})
    EXPECT_PRED2(begins, refusal(curve_key(curve)),
                 fmt::format("the request's key is EC on {}, expected", curve).c_str());
  EXPECT_PRED2(begins, refusal(detail::Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448"))),
               "the request's key is ED448 of 456 bits, expected");
}

TEST(AuthorityTest, TheKindsOfKeysThatAreNamedAreSigned) {
  tests::Certificates consortium("lakeside");
  const auto is_signed = [&](detail::Key key) {
    return consortium.authority().sign(request_with(std::move(key)), {0, 1, {}}).has_value();
  };
  EXPECT_TRUE(is_signed(curve_key("P-256")));
  EXPECT_TRUE(is_signed(detail::Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"))));
  EXPECT_TRUE(is_signed(rsa_key(3072)));
  EXPECT_TRUE(is_signed(pss_key(3072)));
}

TEST(AuthorityTest, ARequestMustBeSignedWithItsOwnKey) {
  const tests::TemporaryFolder folder;
  std::string request = make_request({"lakeside", Role::Silo, "clinic-1"}, folder.path() / "key").value();
  // One letter of the signature, which ends the base64 text.
  const std::size_t at = request.rfind("\n-----END") - 8;
  request[at] = request[at] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(Authority::read_request(request));
}

TEST(AuthorityTest, TheRegisterAndTheRevocationsSurvive) {
  const tests::TemporaryFolder folder;
  const std::time_t now = std::time(nullptr);
  {
    Authority authority = Authority::create(folder.path() / "a", "lakeside", now - 10, now + 1000).value();
    for (const char* name : {"clinic-1", "clinic-2", "clinic-1"}) {
      const std::string request =
          make_request({"lakeside", Role::Silo, name}, folder.path() / fmt::format("{}-key", name)).value();
      ASSERT_TRUE(authority.sign(request, {now, now + 100, {}}));
    }
    EXPECT_EQ(authority.revoke(Role::Silo, "clinic-1", now).value(), 2U);
    EXPECT_EQ(authority.revoke(Role::Operator, "clinic-2", now).value(), 0U);  // another role is somebody else
  }
  const Authority again = Authority::open(folder.path() / "a").value();
  ASSERT_EQ(again.issued().size(), 3U);
  EXPECT_NE(again.issued()[0].revoked, 0);
  EXPECT_EQ(again.issued()[1].revoked, 0);
  EXPECT_FALSE(Authority::create(folder.path() / "a", "lakeside", now, now + 1));  // never over an old one
}

TEST(CredentialsTest, EachWrongKindIsRefusedByName) {
  tests::Certificates consortium("lakeside");
  const Party clinic{"lakeside", Role::Silo, "clinic-1"};
  const auto problem = [](const net::TlsFiles& files, const Party& self) {
    const auto loaded = net::Credentials::load(files, net::Side::Client, self);
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(problem(consortium.silo("clinic-1"), clinic), "");
  EXPECT_NE(problem(consortium.silo("clinic-2"), clinic)
                .find("is for the silo clinic-2 of lakeside, the configuration is of the silo clinic-1"),
            std::string::npos);
  EXPECT_NE(problem(consortium.party(Role::Operator, "clinic-1"), clinic).find("operator clinic-1"), std::string::npos);
  EXPECT_NE(problem(consortium.party(Role::Silo, "clinic-1", -3, -1), clinic).find("this machine's clock says"),
            std::string::npos);
  EXPECT_NE(problem(consortium.party(Role::Silo, "clinic-1", 1, 3), clinic).find("this machine's clock says"),
            std::string::npos);
  net::TlsFiles mixed = consortium.silo("clinic-1");
  mixed.key = consortium.silo("clinic-2").key;
  EXPECT_NE(problem(mixed, clinic).find("expected the private key of the certificate"), std::string::npos);
  mixed.certificate = mixed.key;
  EXPECT_NE(problem(mixed, clinic).find("expected a certificate in PEM form"), std::string::npos);
  mixed.certificate = "nothing";
  EXPECT_NE(problem(mixed, clinic).find("nothing: cannot be opened"), std::string::npos);
}

TEST(CredentialsTest, ARenewedCertificateServesWithoutARestartAndABadOneDoesNot) {
  tests::Certificates consortium("lakeside");
  const tests::TemporaryFolder folder;
  net::TlsFiles files = consortium.silo("clinic-1");
  const net::TlsFiles renewed = consortium.party(Role::Silo, "clinic-1", -1, 90);
  const auto place = [&](const net::TlsFiles& from) {
    write_file_atomically(folder.path() / "c", read_file(from.certificate, 1U << 16U).value()).value();
    write_file_atomically(folder.path() / "k", read_file(from.key, 1U << 16U).value()).value();
  };
  place(files);
  files.certificate = folder.path() / "c";
  files.key = folder.path() / "k";
  net::Credentials credentials =
      net::Credentials::load(files, net::Side::Client, {"lakeside", Role::Silo, "clinic-1"}).value();
  const std::time_t before = credentials.own().not_after;
  EXPECT_FALSE(credentials.refresh().value());
  write_file_atomically(files.certificate, "half a certificate").value();
  EXPECT_FALSE(credentials.refresh());
  EXPECT_EQ(credentials.own().not_after, before);  // the old one serves on
  place(renewed);
  EXPECT_TRUE(credentials.refresh().value());
  EXPECT_GT(credentials.own().not_after, before);
  ASSERT_TRUE(consortium.authority().revoke(Role::Silo, "clinic-9", std::time(nullptr)));
  EXPECT_TRUE(credentials.refresh().value());  // a new list
}

class RevocationListTest : public ::testing::Test {
 protected:
  RevocationListTest() : consortium_("lakeside"), files_(consortium_.silo("clinic-1")) {
    files_.revoked = folder_.path() / "revoked.crl";
  }
  /// The authority's list as it is once the party is revoked as well.
  std::string list_with(const std::string& name, std::time_t when) {
    (void)consortium_.silo(name);
    consortium_.authority().revoke(Role::Silo, name, when).value();
    return read_file(consortium_.authority().revocation_file(), 1U << 20U).value();
  }
  void place(const std::string& list) const { write_file_atomically(files_.revoked, list).value(); }
  Result<net::Credentials> load() const {
    return net::Credentials::load(files_, net::Side::Client, {"lakeside", Role::Silo, "clinic-1"});
  }
  std::string serial_of(const std::string& name) {
    return load_certificate(consortium_.silo(name).certificate).value().serial;
  }

  tests::Certificates consortium_;
  tests::TemporaryFolder folder_;
  net::TlsFiles files_;
};

TEST_F(RevocationListTest, AnOlderOneIsNotTakenUpWhileTheProcessRuns) {
  const std::time_t now = std::time(nullptr);
  const std::string older = list_with("clinic-2", now - 100);
  const std::string newer = list_with("clinic-3", now - 50);
  place(older);
  net::Credentials credentials = load().value();
  place(newer);
  ASSERT_TRUE(credentials.refresh().value());
  place(older);
  const Result<bool> refused = credentials.refresh();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the older list is not taken up"), std::string::npos);
  EXPECT_TRUE(credentials.revoked(serial_of("clinic-3")));  // the newer one serves on
  place(newer + "\n");
  EXPECT_TRUE(credentials.refresh().value());
  place(list_with("clinic-4", now));
  EXPECT_TRUE(credentials.refresh().value());
}

TEST_F(RevocationListTest, ANewerOneIsTakenUpThoughTheAuthoritysClockWasSetBack) {
  const std::time_t now = std::time(nullptr);
  place(list_with("clinic-2", now - 50));
  net::Credentials credentials = load().value();
  place(list_with("clinic-3", now - 100));
  EXPECT_TRUE(credentials.refresh().value());
  EXPECT_TRUE(credentials.revoked(serial_of("clinic-3")));
}

TEST_F(RevocationListTest, OneThatIsStillToComeIsRefusedAndOutdatesNothing) {
  const std::time_t now = std::time(nullptr);
  place(list_with("clinic-2", now - 100));
  net::Credentials credentials = load().value();
  place(list_with("clinic-3", now + 86'400));
  const Result<bool> refused = credentials.refresh();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("still to come"), std::string::npos) << refused.error().message;
  place(list_with("clinic-4", now - 50));
  EXPECT_TRUE(credentials.refresh().value());
}

TEST_F(RevocationListTest, OfTwoOfOneSecondTheNumberDecides) {
  const std::time_t now = std::time(nullptr);
  const std::string older = list_with("clinic-2", now);
  const std::string newer = list_with("clinic-3", now);
  place(newer);
  net::Credentials credentials = load().value();
  place(older);
  const Result<bool> refused = credentials.refresh();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("number 1, a newer one"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(credentials.revoked(serial_of("clinic-3")));
}

TEST_F(RevocationListTest, OneThatTheAuthorityDidNotSignIsRefusedAndOutdatesNothing) {
  const std::time_t now = std::time(nullptr);
  const std::string genuine = list_with("clinic-2", now - 100);
  tests::Certificates elsewhere("lakeside");  // the same name, another key
  elsewhere.authority().revoke(Role::Silo, "clinic-1", now).value();
  const std::string forged = read_file(elsewhere.authority().revocation_file(), 1U << 20U).value();
  place(forged);
  const auto refused = load();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("expected a revocation list that the authority of"), std::string::npos);
  place(genuine);
  net::Credentials credentials = load().value();
  place(forged);
  EXPECT_FALSE(credentials.refresh());
  place(genuine + "\n");
  EXPECT_TRUE(credentials.refresh().value());
}

TEST_F(RevocationListTest, AnotherAuthoritysListIsNotComparedWithThoseOfTheOneBefore) {
  const std::time_t now = std::time(nullptr);
  (void)list_with("clinic-2", now);
  const net::TlsFiles before = files_;
  for (std::filesystem::path* file : {&files_.authority, &files_.certificate, &files_.key})
    *file = folder_.path() / file->filename();
  const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    write_file_atomically(to, read_file(from, 1U << 20U).value()).value();
  };
  copy(before.authority, files_.authority);
  copy(before.certificate, files_.certificate);
  copy(before.key, files_.key);
  place(list_with("clinic-3", now));
  net::Credentials credentials = load().value();
  tests::Certificates successor("lakeside");  // its list is of three days ago, number 0
  const net::TlsFiles after = successor.silo("clinic-1");
  copy(after.authority, files_.authority);
  copy(after.certificate, files_.certificate);
  copy(after.key, files_.key);
  copy(after.revoked, files_.revoked);
  EXPECT_TRUE(credentials.refresh().value());
}

class ProvisionTest : public ::testing::Test {
 protected:
  std::filesystem::path consortium(const std::string& text) {
    write_file_atomically(folder_.path() / "consortium.json", text).value();
    return folder_.path() / "consortium.json";
  }
  static Result<operators::Signed> signed_with_own_digest(const std::filesystem::path& out,
                                                          const std::filesystem::path& request) {
    const std::string digest = Authority::read_request(read_file(request, 1U << 16U).value()).value().key_sha256;
    return operators::sign_request(out / "authority", request, operators::key_has_digest(digest));
  }
  static constexpr const char* kGood = R"({"format": "undertone.consortium/1", "consortium": "lakeside",
    "coordinator": {"name": "hub", "hosts": ["hub.example"], "port": 7443},
    "silos": [{"name": "clinic-1"}, {"name": "clinic-2"}], "shufflers": [{"name": "mix"}], "operators": [{"name": "alice"}]})";
  tests::TemporaryFolder folder_;
};

TEST_F(ProvisionTest, KeysAreMadeByThePartiesAndRequestsSignedForWhoIsListed) {
  const std::filesystem::path out = folder_.path() / "net";
  EXPECT_EQ(operators::provision(consortium(kGood), out, false).value().size(), 5U);
  const std::filesystem::path kit = out / "kits/silo-clinic-1";
  EXPECT_FALSE(std::filesystem::exists(kit / "key.pem"));
  const InitDone done = init_party(kit, false).value();
  const operators::Signed signed_once = signed_with_own_digest(out, done.request).value();
  EXPECT_EQ(signed_once.still_valid, 0U);
  EXPECT_NE(done.instructions.find(signed_once.key_sha256), std::string::npos);  // both sides can compare it
  EXPECT_EQ(read_certificate(signed_once.certificate)->party.name, "clinic-1");
  // Renewal: a new key beside the old one, signed as the same party.
  const InitDone renewal = init_party(kit, true).value();
  EXPECT_NE(renewal.request, done.request);
  const operators::Signed again = signed_with_own_digest(out, renewal.request).value();
  EXPECT_EQ(again.still_valid, 1U);
  EXPECT_NE(again.key_sha256, signed_once.key_sha256);
  EXPECT_EQ(operators::revoke_party(out / "authority", Role::Silo, "clinic-1").value(), 2U);
  EXPECT_FALSE(operators::revoke_party(out / "authority", Role::Silo, "clinic-1"));
  // Somebody whom the file does not name gets nothing.
  const std::string stranger =
      make_request({"lakeside", Role::Operator, "mallory"}, folder_.path() / "stranger.key").value();
  write_file_atomically(folder_.path() / "stranger.pem", stranger).value();
  EXPECT_EQ(signed_with_own_digest(out, folder_.path() / "stranger.pem").error().code, ErrorCode::Unauthorized);
  EXPECT_FALSE(operators::provision(consortium(kGood), out, false));  // never over an old one
}

TEST_F(ProvisionTest, NothingIsSignedBeforeItsKeysDigestIsConfirmed) {
  const std::filesystem::path out = folder_.path() / "net";
  ASSERT_TRUE(operators::provision(consortium(kGood), out, false));
  const InitDone genuine = init_party(out / "kits/silo-clinic-1", false).value();
  const std::string digest = Authority::read_request(read_file(genuine.request, 1U << 16U).value()).value().key_sha256;
  // Somebody on the way replaced the request by one of the same name with a key of its own.
  const std::string forged = make_request({"lakeside", Role::Silo, "clinic-1"}, folder_.path() / "forger.key").value();
  const std::filesystem::path request = folder_.path() / "forged.pem";
  write_file_atomically(request, forged).value();
  const auto signing = [&](const std::filesystem::path& what, const std::string& said) {
    const auto done = operators::sign_request(out / "authority", what, operators::key_has_digest(said));
    return done ? "" : done.error().message;
  };
  EXPECT_NE(signing(request, digest).find("expected " + digest), std::string::npos);
  EXPECT_NE(signing(genuine.request, "").find("expected 64 hexadecimal digits"), std::string::npos);
  EXPECT_NE(signing(genuine.request, digest.substr(2)).find("expected 64 hexadecimal digits"), std::string::npos);
  EXPECT_NE(signing(genuine.request, "x" + digest.substr(1)).find("expected 64 hexadecimal digits"), std::string::npos);
  EXPECT_TRUE(Authority::open(out / "authority")->issued().empty());  // refused before, not after
  EXPECT_EQ(signing(genuine.request, digest), "");
  EXPECT_EQ(Authority::open(out / "authority")->issued().size(), 1U);
}

TEST_F(ProvisionTest, AReadmeHasThreeLinesAndAKeyIsItsOwnersAlone) {
  const std::filesystem::path out = folder_.path() / "net";
  for (const std::filesystem::path& kit : operators::provision(consortium(kGood), out, true).value()) {
    const std::string readme = read_file(kit / "README", 4096).value();
    EXPECT_EQ(std::count(readme.begin(), readme.end(), '\n'), 3) << kit;
    EXPECT_EQ(std::filesystem::status(kit / "key.pem").permissions() & std::filesystem::perms::all,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
}

TEST_F(ProvisionTest, EverythingThatIsWrongWithAConsortiumIsToldAtOnce) {
  const auto refused = operators::load_consortium(consortium(
      R"({"format": "undertone.consortium/1", "consortium": "lakeside", "coordinator": {"name": "Hub!", "hosts": [], "port": 0},
          "silos": [{"name": "a"}, {"name": "a"}], "extra": 1})"));
  ASSERT_FALSE(refused);
  for (const char* part : {"/coordinator/hosts", "/coordinator/port", "\"a\" stands twice", "/extra: unknown key"})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << part << "\n" << refused.error().message;
}

}  // namespace
}  // namespace undertone::certificates
