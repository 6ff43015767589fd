#include "shared/service/spawn.hpp"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace undertone::service {
namespace {

/// As C wants them; valid as long as the texts are.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  return out;
}

}  // namespace

void SpawnFiles::read(const std::filesystem::path& file, int descriptor) {
  posix_spawn_file_actions_addopen(&actions_, descriptor, file.c_str(), O_RDONLY, 0);
}

void SpawnFiles::append(const std::filesystem::path& file, int descriptor) {
  posix_spawn_file_actions_addopen(&actions_, descriptor, file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
}

Result<pid_t> spawn(const std::vector<std::string>& command, const SpawnFiles& files,
                    const std::vector<std::string>& environment) {
  UNDERTONE_CHECK(!command.empty());
  std::vector<char*> arguments = pointers_to(command);
  arguments.push_back(nullptr);
  std::vector<char*> variables = pointers_to(environment);
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  pid_t process = 0;
  const int code = posix_spawnp(&process, arguments[0], files.get(), nullptr, arguments.data(), variables.data());
  if (code != 0)
    return Error{ErrorCode::Internal, fmt::format("{}: cannot be started: {}", command[0], std::strerror(code))};
  return process;
}

}  // namespace undertone::service
