#include "shared/http/access.hpp"

#include <gtest/gtest.h>

#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::http {
namespace {

using certificates::Party;
using certificates::Role;
using std::chrono::minutes;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr const char* kViewers = "fedcba9876543210fedcba9876543210";

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() {
    write_file_atomically(folder_.path() / "token", std::string(kToken) + "\n").value();
    write_file_atomically(folder_.path() / "viewers", std::string(kViewers) + "\n").value();
  }
  Access access(bool tls = true, std::vector<std::string> names = {}) {
    Access out({folder_.path() / "token", folder_.path() / "viewers", std::move(names), tls}, 7444);
    out.load().value();
    return out;
  }
  static Presented with_token(const std::string& header) {
    Presented out;
    out.authorization = header;
    return out;
  }
  /// What a browser and its page send back of a session: both, or nobody knows them.
  struct Begun {
    std::string cookie;
    std::string csrf;
  };
  Begun begin(Access& access, const std::string& token) {
    const std::string header = "Bearer " + token;
    const auto opened = access.open_session(with_token(header), now_);
    return {opened.value().cookie.substr(0, opened->cookie.find(';')), opened->csrf};
  }
  static Presented of(const Begun& begun) {
    Presented out;
    out.cookie = begun.cookie;
    out.csrf = begun.csrf;
    out.host = "127.0.0.1:7444";
    return out;
  }

  tests::TemporaryFolder folder_;
  Access::TimePoint now_{};
};

TEST_F(AccessTest, ATokenSaysWhatItsHolderMayDo) {
  Access access = this->access();
  const auto rights = [&](const std::string& header) { return access.caller(with_token(header), now_).rights; };
  EXPECT_EQ(rights(std::string("Bearer ") + kToken), Rights::Change);
  EXPECT_EQ(rights(std::string("Bearer ") + kViewers), Rights::Look);
  for (const std::string& wrong :
       {std::string(), std::string("Bearer "), std::string(kToken), "bearer " + std::string(kToken),
        "Bearer " + std::string(kToken) + "0", "Bearer " + std::string(kToken).substr(1)})
    EXPECT_EQ(rights(wrong), Rights::None) << wrong;
}

TEST_F(AccessTest, WithoutATokenFileNoTokenLetsIn) {
  Access access({}, 7444);
  access.load().value();
  EXPECT_EQ(access.caller(with_token("Bearer "), now_).rights, Rights::None);
  EXPECT_FALSE(access.open_session(with_token("Bearer "), now_));
}

TEST_F(AccessTest, OneTokenForBothIsRefused) {
  Access access({folder_.path() / "token", folder_.path() / "token", {}, true}, 7444);
  EXPECT_FALSE(access.load());
}

TEST_F(AccessTest, ACertificateSaysWhatItsHolderMayDo) {
  Access access = this->access();
  for (const Role role : certificates::kRoles) {
    const Party party{"lakeside", role, "alice"};
    Presented presented;
    presented.certificate = &party;
    EXPECT_EQ(access.caller(presented, now_).rights, role == Role::Operator ? Rights::Change
                                                     : role == Role::Viewer ? Rights::Look
                                                                            : Rights::None);
  }
}

TEST_F(AccessTest, ASessionIsItsCookieAndItsCsrfTokenTogether) {
  Access access = this->access();
  const Begun own = begin(access, kToken);
  const Begun other = begin(access, kToken);
  EXPECT_EQ(access.caller(of(own), now_).rights, Rights::Change);
  EXPECT_EQ(access.caller(of(own), now_).csrf, "");  // it is not told again
  EXPECT_EQ(access.caller(of({own.cookie, ""}), now_).rights, Rights::None);
  EXPECT_EQ(access.caller(of({own.cookie, other.csrf}), now_).rights, Rights::None);
  EXPECT_EQ(access.caller(of({"", own.csrf}), now_).rights, Rights::None);
  // Another service of the host has set a cookie of the same name.
  EXPECT_EQ(access.caller(of({"__Host-undertone-7444=junk; " + own.cookie, own.csrf}), now_).rights, Rights::Change);
}

TEST_F(AccessTest, ASessionChangesFromAPageOfItsOwnOriginAlone) {
  Access access = this->access();
  const Begun own = begin(access, kToken);
  Presented changing = of(own);
  changing.changes = true;
  EXPECT_EQ(access.caller(changing, now_).rights, Rights::None);  // a browser sends its origin
  for (const char* origin : {"https://127.0.0.1:7445", "http://127.0.0.1:7444", "https://evil.example", "null",
                             "https://127.0.0.1:7444.evil.example", "127.0.0.1:7444"}) {
    changing.origin = origin;
    EXPECT_EQ(access.caller(changing, now_).rights, Rights::None) << origin;
  }
  changing.origin = "https://127.0.0.1:7444";
  const Caller page = access.caller(changing, now_);
  EXPECT_EQ(page.rights, Rights::Change);
  EXPECT_TRUE(page.by_page);
  EXPECT_EQ(page.who, "whoever holds the token");  // as by a command: the same bounds hold for both
  for (const char* site : {"cross-site", "same-site", "none"}) {
    changing.site = site;
    EXPECT_EQ(access.caller(changing, now_).rights, Rights::None) << site;
  }
  changing.site = "same-origin";
  EXPECT_EQ(access.caller(changing, now_).rights, Rights::Change);
}

TEST_F(AccessTest, AOneTimeTokenBeginsOneSessionAndIsGoodForNothingElse) {
  Access access({{}, {}, {}, false, std::string(64, 'a')}, 7444);
  const std::string header = "Bearer " + std::string(64, 'a');
  EXPECT_EQ(access.caller(with_token(header), now_).rights, Rights::None);
  const std::string wrong = "Bearer " + std::string(64, 'b');
  EXPECT_FALSE(access.open_session(with_token(wrong), now_));
  const auto opened = access.open_session(with_token(header), now_);
  EXPECT_EQ(opened.value().cookie.find("Secure"), std::string::npos);  // loopback has no TLS
  const Caller owner = access.caller(of({opened->cookie.substr(0, opened->cookie.find(';')), opened->csrf}), now_);
  EXPECT_EQ(owner.rights, Rights::Change);
  EXPECT_EQ(owner.who, "the owner");
  EXPECT_FALSE(access.open_session(with_token(header), now_));
}

TEST_F(AccessTest, AViewersSessionLooksAlone) {
  Access access = this->access();
  const Begun own = begin(access, kViewers);
  const Caller viewer = access.caller(of(own), now_);
  EXPECT_EQ(viewer.rights, Rights::Look);
  EXPECT_EQ(viewer.who, "whoever holds the viewers' token");
}

TEST_F(AccessTest, ASessionEndsAfterAnHourOfSilenceAndAPageThatAsksByItselfIsSilent) {
  Access access = this->access();
  const Begun own = begin(access, kToken);
  now_ += minutes(59);
  EXPECT_EQ(access.caller(of(own), now_).rights, Rights::Change);
  now_ += minutes(59);
  Presented alone = of(own);
  alone.unattended = true;
  EXPECT_EQ(access.caller(alone, now_).rights, Rights::Change);
  now_ += minutes(1);
  EXPECT_EQ(access.caller(of(own), now_).rights, Rights::None);
  EXPECT_EQ(access.sessions(), 0U);
}

TEST_F(AccessTest, ASessionThatWasClosedIsOver) {
  Access access = this->access();
  const Begun own = begin(access, kToken);
  const std::string removed = access.close_session(access.caller(of(own), now_));
  EXPECT_NE(removed.find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(access.caller(of(own), now_).rights, Rights::None);
}

TEST_F(AccessTest, SoManySessionsStandAndTheOneThatWasSilentForLongestGivesWay) {
  Access access = this->access();
  const Begun first = begin(access, kToken);
  const Begun second = begin(access, kToken);
  now_ += minutes(1);
  EXPECT_EQ(access.caller(of(first), now_).rights, Rights::Change);
  for (std::size_t i = 2; i <= Access::kSessionsMax; ++i) (void)begin(access, kToken);
  EXPECT_EQ(access.sessions(), Access::kSessionsMax);
  EXPECT_EQ(access.caller(of(first), now_).rights, Rights::Change);
  EXPECT_EQ(access.caller(of(second), now_).rights, Rights::None);
  // Viewers make room among themselves.
  for (std::size_t i = 0; i < 2 * Access::kSessionsMax; ++i) (void)begin(access, kViewers);
  EXPECT_EQ(access.caller(of(first), now_).rights, Rights::Change);
}

TEST_F(AccessTest, ThePageOfAnotherNameThatLeadsToThisAddressIsNobody) {
  Access access = this->access(false, {"console.hospital.example"});
  const Begun own = begin(access, kToken);
  for (const char* host : {"127.0.0.1:7444", "[::1]:7444", "localhost:7444", "localhost", "console.hospital.example:80",
                           "console.hospital.example"}) {
    Presented presented = of(own);
    presented.host = host;
    EXPECT_EQ(access.caller(presented, now_).rights, Rights::Change) << host;
  }
  const Party alice{"lakeside", Role::Operator, "alice"};
  for (const char* host : {"", "evil.example:7444", "127.0.0.1.evil.example", "localhost.evil.example", "[::1",
                           "1e.example", "127.0.0.1@evil.example"}) {
    Presented presented = of(own);
    presented.host = host;
    presented.certificate = &alice;
    EXPECT_EQ(access.caller(presented, now_).rights, Rights::None) << host;
  }
}

TEST_F(AccessTest, AnOperatorsCertificateChangesWithoutABrowserOrFromTheServicesOwnPage) {
  Access access = this->access();
  const Party alice{"lakeside", Role::Operator, "alice"};
  Presented presented;
  presented.certificate = &alice;
  presented.host = "hub.example:7444";
  const std::string csrf = access.caller(presented, now_).csrf;
  presented.changes = true;
  EXPECT_EQ(access.caller(presented, now_).who, "the operator alice");
  presented.origin = "https://hub.example:7444";
  presented.site = "same-origin";
  EXPECT_EQ(access.caller(presented, now_).rights, Rights::None);
  presented.csrf = csrf;
  EXPECT_EQ(access.caller(presented, now_).who, "the operator alice");
  EXPECT_TRUE(access.caller(presented, now_).by_page);
  presented.origin = "https://evil.example";
  EXPECT_EQ(access.caller(presented, now_).rights, Rights::None);
}

TEST(CookieTest, IsFoundByItsWholeName) {
  const auto found = [](std::string_view header) {
    std::string out;
    for (const std::string_view value : cookie_values(header, "undertone")) out += std::string(value) + "|";
    return out;
  };
  EXPECT_EQ(found("a=1; undertone=2;b=3"), "2|");
  EXPECT_EQ(found("xundertone=1; undertone-1=2"), "");
  EXPECT_EQ(found("undertone"), "");
  EXPECT_EQ(found("undertone="), "|");
  EXPECT_EQ(found(""), "");
  EXPECT_EQ(found("undertone=1; undertone=2"), "1|2|");
}

}  // namespace
}  // namespace undertone::http
