#include "shared/net/socket_table.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace undertone::net {
namespace {

/// As the kernel writes it: 0x1D13 is 7443, 0x1D15 is 7445, 0x8A2C is 35372; 0A listens, 01 is established, 06 waits.
constexpr const char* kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000:1D13 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
    "   1: 0200A8C0:8A2C 0300A8C0:1D15 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 100 0 0 10 0\n"
    "   2: 0200A8C0:8A2D 0300A8C0:1D14 06 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 100 0 0 10 0\n";

std::vector<TcpSocket> parsed(const std::string& text) {
  std::istringstream table(text);
  std::vector<TcpSocket> out;
  parse_sockets(table, out);
  return out;
}

TEST(SocketTableTest, ListensOnAPortAlone) {
  const std::vector<TcpSocket> sockets = parsed(kTable);
  EXPECT_EQ(sockets.size(), 3U);
  EXPECT_TRUE(listens_on(sockets, 7443));
  EXPECT_FALSE(listens_on(sockets, 7445));   // a peer's
  EXPECT_FALSE(listens_on(sockets, 35372));  // connected
}

TEST(SocketTableTest, IsConnectedToAPeersPortAlone) {
  const std::vector<TcpSocket> sockets = parsed(kTable);
  EXPECT_TRUE(connected_to(sockets, 7445));
  EXPECT_FALSE(connected_to(sockets, 7444));   // that connection has ended
  EXPECT_FALSE(connected_to(sockets, 35372));  // its own end
}

TEST(SocketTableTest, LongAddressesAreReadAndTheRestIsPassedOver) {
  const std::vector<TcpSocket> sockets = parsed(
      "   0: 00000000000000000000000000000000:1D13 00000000000000000000000000000000:0000 0A 0\n"
      "nonsense\n   1: 00000000 00000000:0000 0A\n   2: 00000000:XY13 00000000:0000 0A\n   3: 0:11D13 0:0 0A\n");
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_TRUE(listens_on(sockets, 7443));
}

TEST(SocketTableTest, ThisMachineHasATable) { EXPECT_TRUE(sockets_here()); }

}  // namespace
}  // namespace undertone::net
