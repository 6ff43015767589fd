#include "shared/wire/chunk_view.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "shared/wire/undertone.pb.h"

namespace undertone::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::uint32_t tag(int field, WireFormatLite::WireType type) { return WireFormatLite::MakeTag(field, type); }

/// The body of a chunk of the usual form: an offset, then elements. @return nothing for any other form
std::optional<ChunkView> view_chunk_body(CodedInputStream& in) {
  using Chunk = v1::VectorChunk;
  ChunkView out;
  std::uint32_t next = in.ReadTag();
  if (next == tag(Chunk::kOffsetFieldNumber, WireFormatLite::WIRETYPE_VARINT)) {
    if (!in.ReadVarint64(&out.offset)) return std::nullopt;
    next = in.ReadTag();
  }
  int size = 0;
  const void* at = nullptr;
  int available = 0;
  if (next != tag(Chunk::kElementsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
      !in.ReadVarintSizeAsInt(&size) || !in.GetDirectBufferPointer(&at, &available) || size != available) {
    return std::nullopt;
  }
  out.elements = {static_cast<const char*>(at), static_cast<std::size_t>(size)};
  return out;
}

}  // namespace

std::optional<ChunkView> view_chunk(std::string_view payload) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(payload.data()), static_cast<int>(payload.size()));
  std::uint32_t next = in.ReadTag();
  if (next == tag(v1::Envelope::kProtocolVersionFieldNumber, WireFormatLite::WIRETYPE_VARINT)) {
    std::uint64_t version = 0;
    if (!in.ReadVarint64(&version)) return std::nullopt;
    next = in.ReadTag();
  }
  int size = 0;
  if (next != tag(v1::Envelope::kChunkFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
      !in.ReadVarintSizeAsInt(&size) || size != static_cast<int>(payload.size()) - in.CurrentPosition()) {
    return std::nullopt;
  }
  return view_chunk_body(in);
}

}  // namespace undertone::wire
