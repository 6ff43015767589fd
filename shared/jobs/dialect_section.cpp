#include "shared/jobs/dialect_section.hpp"

namespace undertone::jobs {

data::CsvDialect parse_dialect(config::Section section) {
  data::CsvDialect out;
  if (section.has("separator"))
    out.separator = section.choice<char>("separator",
                                         {{data::kSeparators[0].name, data::kSeparators[0].mark},
                                          {data::kSeparators[1].name, data::kSeparators[1].mark},
                                          {data::kSeparators[2].name, data::kSeparators[2].mark},
                                          {data::kSeparators[3].name, data::kSeparators[3].mark},
                                          {data::kSeparators[4].name, data::kSeparators[4].mark}},
                                         "what stands between cells (default a comma); a blank is one blank each");
  if (section.has("decimal"))
    out.numbers.decimal_comma = section.choice<bool>("decimal", {{"point", false}, {"comma", true}},
                                                     "how numbers are written: 1.5 or 1,5 (default point)");
  if (section.has("grouped"))
    out.numbers.grouped = section.boolean(
        "grouped",
        "digits may stand in groups of three, with the other mark between: 12,345.6 or 12.345,6 (default false)");
  if (section.has("encoding"))
    out.encoding =
        section.choice<data::TextEncoding>("encoding",
                                           {{data::kTextEncodings[0].name, data::kTextEncodings[0].encoding},
                                            {data::kTextEncodings[1].name, data::kTextEncodings[1].encoding},
                                            {data::kTextEncodings[2].name, data::kTextEncodings[2].encoding},
                                            {data::kTextEncodings[3].name, data::kTextEncodings[3].encoding}},
                                           "how the file's bytes are text (default UTF-8)");
  section.finish();
  return out;
}

}  // namespace undertone::jobs
