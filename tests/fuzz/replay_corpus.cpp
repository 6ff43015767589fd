#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

/// Runs a fuzz target over the files of folders: what libFuzzer found, under any compiler.
///   replay TARGET FOLDER...
int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto& targets = undertone::fuzz::targets();
  const auto target =
      std::find_if(targets.begin(), targets.end(), [&](const auto& one) { return one.name == argv[1]; });
  if (target == targets.end()) return 2;
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // the last line names what stopped the process
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    target->run(bytes);
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;
}
