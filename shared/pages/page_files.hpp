#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "shared/http/message.hpp"

namespace undertone::pages {

/// A file of a page, put into the program by CMake (cmake/PageFiles.cmake).
struct PageFile {
  std::string_view path;  // "/" for the page itself
  std::string_view text;
};

/// The answer to a request for a file of a page, one of its own or one that all pages share. Whoever comes may have
/// them: there is nothing in them that is anybody's. @return nothing where there is no such file
[[nodiscard]] std::optional<http::Reply> file_reply(const http::Request& request, std::span<const PageFile> own);

}  // namespace undertone::pages
