#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::data {

/// How a file's bytes are text.
enum class TextEncoding { Utf8, Utf16, Windows1252, Latin1 };

struct NamedEncoding {
  const char* name;  // in configurations, and for iconv
  TextEncoding encoding;
};
inline constexpr std::array<NamedEncoding, 4> kTextEncodings = {{{"UTF-8", TextEncoding::Utf8},
                                                                 {"UTF-16", TextEncoding::Utf16},
                                                                 {"Windows-1252", TextEncoding::Windows1252},
                                                                 {"ISO-8859-1", TextEncoding::Latin1}}};
[[nodiscard]] const char* name_of(TextEncoding encoding);

/// Whether the text is UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text);
/// How a file of another encoding is mended: said after what is expected.
inline constexpr const char* kConvertHint =
    " (Windows often writes Windows-1252: write \"encoding\": \"Windows-1252\" under \"file\" of the data set)";

/// Whether the text begins with the mark of UTF-16.
[[nodiscard]] bool has_utf16_mark(std::string_view bytes);

/// Makes UTF-8 of blocks of a file, which may end in the middle of a character. A mark at the beginning is left out.
class TextDecoder {
 public:
  explicit TextDecoder(TextEncoding encoding);

  /// The block as UTF-8, valid until the next call, up to the first bytes that are no text of this encoding. Of a file
  /// that is UTF-8 it is the block itself, unchecked.
  [[nodiscard]] std::string_view decode(std::string_view block);
  /// @return an error in words, without the bytes, where some were no text
  [[nodiscard]] Status so_far() const;
  /// @return the same, and an error where the file ends in the middle of a character
  [[nodiscard]] Status finish() const;

 private:
  struct Close {
    void operator()(void* conversion) const noexcept;
  };
  TextEncoding encoding_;
  std::unique_ptr<void, Close> conversion_;  // of iconv; null: UTF-8
  bool begun_ = false;
  bool failed_ = false;
  std::string rest_;  // the beginning of a character whose end is in the next block
  std::string out_;
};

}  // namespace undertone::data
