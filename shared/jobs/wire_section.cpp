#include "shared/jobs/wire_section.hpp"

namespace undertone::jobs {

Wire parse_wire(config::Section& root) {
  root.otherwise("wire", nlohmann::json::object());
  config::Section wire = root.object("wire", "may be left out");
  Wire out;
  wire.otherwise("points", "f64");
  wire.otherwise("replies", "i64");
  wire.otherwise("reply_step_log2", -40);
  out.points =
      wire.choice<queries::PointType>("points", {{"f64", queries::PointType::F64}, {"f32", queries::PointType::F32}},
                                      "the type of broadcast models (default f64)");
  queries::WireLattice& lattice = out.replies;
  lattice.type =
      wire.choice<queries::ReplyType>("replies", {{"i32", queries::ReplyType::I32}, {"i64", queries::ReplyType::I64}},
                                      "the type of answers (default i64)");
  lattice.step_log2 = static_cast<int>(
      wire.integer("reply_step_log2", -60, 60, "one unit of an answer is 2^this of the released mean (default -40)"));
  wire.finish();
  return out;
}

}  // namespace undertone::jobs
