#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace undertone::http {

class Changes;

/// Says what a caller may do.
enum class Rights : std::uint8_t {
  None,   // it is nobody that the service knows
  Look,   // a viewer reads, and changes nothing
  Change  // an operator
};

/// A request, as far as a service cares.
struct Request {
  std::string method;  // GET stands for HEAD too
  std::string target;  // path and query
  std::string body;
  Rights rights = Rights::None;
  std::string who = {};  // "the operator alice", "whoever holds the token"
  bool by_page = false;  // it is a change that they make from a page
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow = {};           // of 405: the methods that the resource has
  std::string event = {};           // what it did, for the log: "job_queued run=... job=..."
  std::string file_name = {};       // of a download: the browser saves it under this name and shows none of it
  std::string cookie = {};          // of a session that begins or ends: the value of Set-Cookie
  bool cached = false;              // a browser may keep it for as long as the program is the same
  std::shared_ptr<void> held = {};  // is let go when the reply was sent
  /// Makes the reply in place of this one. It may take long, and any thread may do it.
  std::function<Reply()> work = {};
  /// The reply has no end: it is a stream of server-sent events, one whenever something changed. Not owned.
  Changes* changes = nullptr;
};

/// {"error": {"code": ..., "message": ...}}, as every refusal says it.
[[nodiscard]] Reply error_reply(int status, std::string_view code, const std::string& message);

}  // namespace undertone::http
