#include "shared/base/plain_text.hpp"

#include <gtest/gtest.h>

namespace undertone {
namespace {

TEST(PlainTextTest, WhatIsNotSeenOrMovesWhatIsSeenIsReplaced) {
  for (const char* mark :
       {"\n",     "\x1b",   "\x7f",   "\u0085", "\u061c", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028",
        "\u2029", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff"}) {
    const std::string text = std::string("a") + mark + "b";
    SCOPED_TRACE(testing::PrintToString(text));
    EXPECT_FALSE(is_plain_text(text));
    EXPECT_EQ(plain_text(text), "a?b");
  }
}

TEST(PlainTextTest, TheNeighboursOfWhatIsReplacedStay) {
  for (const char* text : {"\u061b \u061d", "\u200a \u2010", "\u2013 \u201c \u2026 \u2027 \u202f", "\u2065 \u206a",
                           "\ufefe", "\u00e9 \u4e2d \U0001f40d", "\xe2\x80", "\xef\xbb"}) {
    EXPECT_TRUE(is_plain_text(text)) << text;
    EXPECT_EQ(plain_text(text), text);
  }
}

TEST(PlainTextTest, AQuotedTextDoesNotEndBeforeItsEnd) {
  EXPECT_EQ(quoted_text("breast cancer"), "\"breast cancer\"");
  EXPECT_EQ(quoted_text("x\" run=0 name=\"y"), R"("x\" run=0 name=\"y")");
  EXPECT_EQ(quoted_text("x\\"), R"("x\\")");
  EXPECT_EQ(quoted_text("x\\\" y"), R"("x\\\" y")");
  EXPECT_EQ(quoted_text("a\nb\u2028c"), R"("a?b?c")");
}

TEST(PlainTextTest, LinesStayLinesAndALongTextIsCut) {
  EXPECT_EQ(plain_lines("a\nb\x1b\n"), "a\nb?\n");
  EXPECT_EQ(plain_lines(""), "");
  EXPECT_EQ(plain_beginning("12345", 5), "12345");
  EXPECT_EQ(plain_beginning("12\n456", 5), "12?45...");
}

}  // namespace
}  // namespace undertone
