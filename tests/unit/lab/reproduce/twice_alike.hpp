#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "lab/reproduce/reproduce_command.hpp"
#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {

/// Draws a figure with one thread and with two, and expects the same files, which judge nothing.
/// @param name as "figA.6" @param draw of the figure's quick form
inline void expect_twice_alike(const std::string& name, const std::function<Status(const ReproduceRequest&)>& draw) {
  const tests::TemporaryFolder one;
  const tests::TemporaryFolder two;
  for (const auto& [folder, threads] : {std::pair(&one, 1), std::pair(&two, 2)}) {
    ReproduceRequest request;
    request.out = folder->path();
    request.threads = static_cast<std::size_t>(threads);
    const Status done = draw(request);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::string picture = name;
  if (const std::size_t dot = picture.find('.'); dot != std::string::npos) picture.replace(dot, 1, "_");
  for (const std::string& file :
       {name + ".jsonl", name + ".md", name + ".table.csv", picture + ".csv", picture + ".svg"})
    EXPECT_EQ(read_file(one.path() / file, 1U << 22U).value(), read_file(two.path() / file, 1U << 22U).value()) << file;
  EXPECT_NE(read_file(one.path() / (name + ".md"), 1U << 20U).value().find("not judged"), std::string::npos);
}

}  // namespace undertone::lab
