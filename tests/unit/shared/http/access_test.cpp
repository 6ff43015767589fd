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
  /// Begins a session. @return "name=value", as a browser sends it back
  std::string cookie(Access& access, const std::string& token) {
    const std::string header = "Bearer " + token;
    const std::string set = access.open_session(with_token(header), now_);
    return set.substr(0, set.find(';'));
  }
  static Presented with_cookie(const std::string& cookie) {
    Presented out;
    out.cookie = cookie;
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
  EXPECT_EQ(access.open_session(with_token("Bearer "), now_), "");
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

TEST_F(AccessTest, ASessionLooksAndChangesWithItsOwnTokenFromItsOwnPageAlone) {
  Access access = this->access();
  const std::string own = cookie(access, kToken);
  const Caller looking = access.caller(with_cookie(own), now_);
  EXPECT_EQ(looking.rights, Rights::Change);
  Presented changing = with_cookie(own);
  changing.changes = true;
  EXPECT_EQ(access.caller(changing, now_).rights, Rights::None);  // no CSRF token
  changing.csrf = looking.csrf;
  EXPECT_EQ(access.caller(changing, now_).rights, Rights::Change);
  for (const char* origin : {"https://127.0.0.1:7444"}) {
    changing.origin = origin;
    EXPECT_EQ(access.caller(changing, now_).rights, Rights::Change) << origin;
  }
  for (const char* origin : {"https://127.0.0.1:7445", "http://127.0.0.1:7444", "https://evil.example", "null",
                             "https://127.0.0.1:7444.evil.example", "127.0.0.1:7444"}) {
    changing.origin = origin;
    EXPECT_EQ(access.caller(changing, now_).rights, Rights::None) << origin;
  }
  changing.origin = {};
  for (const char* site : {"cross-site", "same-site", "none"}) {
    changing.site = site;
    EXPECT_EQ(access.caller(changing, now_).rights, Rights::None) << site;
  }
  // Another session's token is not this one's.
  const std::string other = cookie(access, kToken);
  changing.site = "same-origin";
  const Caller neighbour = access.caller(with_cookie(other), now_);
  changing.csrf = neighbour.csrf;
  EXPECT_EQ(access.caller(changing, now_).rights, Rights::None);
}

TEST_F(AccessTest, AOneTimeTokenBeginsOneSessionAndIsGoodForNothingElse) {
  Access access({{}, {}, {}, false, std::string(64, 'a')}, 7444);
  const std::string header = "Bearer " + std::string(64, 'a');
  EXPECT_EQ(access.caller(with_token(header), now_).rights, Rights::None);
  const std::string wrong = "Bearer " + std::string(64, 'b');
  EXPECT_EQ(access.open_session(with_token(wrong), now_), "");
  const std::string set = access.open_session(with_token(header), now_);
  EXPECT_EQ(set.find("Secure"), std::string::npos);  // loopback has no TLS
  const Caller owner = access.caller(with_cookie(set.substr(0, set.find(';'))), now_);
  EXPECT_EQ(owner.rights, Rights::Change);
  EXPECT_EQ(owner.who, "the owner");
  EXPECT_EQ(access.open_session(with_token(header), now_), "");
}

TEST_F(AccessTest, AViewersSessionLooksAlone) {
  Access access = this->access();
  const std::string own = cookie(access, kViewers);
  const Caller viewer = access.caller(with_cookie(own), now_);
  EXPECT_EQ(viewer.rights, Rights::Look);
  EXPECT_EQ(viewer.who, "whoever holds the viewers' token");
}

TEST_F(AccessTest, ASessionEndsAfterAnHourOfSilenceAndAPageThatAsksByItselfIsSilent) {
  Access access = this->access();
  const std::string own = cookie(access, kToken);
  now_ += minutes(59);
  EXPECT_EQ(access.caller(with_cookie(own), now_).rights, Rights::Change);
  now_ += minutes(59);
  Presented alone = with_cookie(own);
  alone.unattended = true;
  EXPECT_EQ(access.caller(alone, now_).rights, Rights::Change);
  now_ += minutes(1);
  EXPECT_EQ(access.caller(with_cookie(own), now_).rights, Rights::None);
  EXPECT_EQ(access.sessions(), 0U);
}

TEST_F(AccessTest, ASessionThatWasClosedIsOver) {
  Access access = this->access();
  const std::string own = cookie(access, kToken);
  const std::string removed = access.close_session(access.caller(with_cookie(own), now_));
  EXPECT_NE(removed.find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(access.caller(with_cookie(own), now_).rights, Rights::None);
}

TEST_F(AccessTest, SoManySessionsStandAndTheOneThatWasSilentForLongestGivesWay) {
  Access access = this->access();
  const std::string first = cookie(access, kToken);
  const std::string second = cookie(access, kToken);
  now_ += minutes(1);
  EXPECT_EQ(access.caller(with_cookie(first), now_).rights, Rights::Change);
  for (std::size_t i = 2; i <= Access::kSessionsMax; ++i) (void)cookie(access, kToken);
  EXPECT_EQ(access.sessions(), Access::kSessionsMax);
  EXPECT_EQ(access.caller(with_cookie(first), now_).rights, Rights::Change);
  EXPECT_EQ(access.caller(with_cookie(second), now_).rights, Rights::None);
}

TEST_F(AccessTest, ThePageOfAnotherNameThatLeadsToThisAddressIsNobody) {
  Access access = this->access(false, {"console.hospital.example"});
  const std::string own = cookie(access, kToken);
  for (const char* host : {"127.0.0.1:7444", "[::1]:7444", "localhost:7444", "localhost", "console.hospital.example:80",
                           "console.hospital.example"}) {
    Presented presented = with_cookie(own);
    presented.host = host;
    EXPECT_EQ(access.caller(presented, now_).rights, Rights::Change) << host;
  }
  const Party alice{"lakeside", Role::Operator, "alice"};
  for (const char* host : {"", "evil.example:7444", "127.0.0.1.evil.example", "localhost.evil.example", "[::1",
                           "1e.example", "127.0.0.1@evil.example"}) {
    Presented presented = with_cookie(own);
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
  EXPECT_EQ(access.caller(presented, now_).who, "the operator alice, by a page");
  presented.origin = "https://evil.example";
  EXPECT_EQ(access.caller(presented, now_).rights, Rights::None);
}

TEST(CookieTest, IsFoundByItsWholeName) {
  EXPECT_EQ(cookie_value("a=1; undertone=2;b=3", "undertone"), "2");
  EXPECT_EQ(cookie_value("xundertone=1; undertone-1=2", "undertone"), std::nullopt);
  EXPECT_EQ(cookie_value("undertone", "undertone"), std::nullopt);
  EXPECT_EQ(cookie_value("undertone=", "undertone"), "");
  EXPECT_EQ(cookie_value("", "undertone"), std::nullopt);
}

}  // namespace
}  // namespace undertone::http
