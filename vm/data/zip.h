// ZIP archives as numpy.savez and numpy.savez_compressed write them: members that are stored or
// deflated, also with 64-bit sizes (PKWARE's APPNOTE 6.3). Nothing is trusted: places and sizes are
// checked against the file, and no more is inflated than asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/text/byte_source.h"

namespace tilevm::vm {

struct ZipMember {
  std::string name;
  std::uint64_t header = 0;      ///< where its local header begins
  std::uint64_t compressed = 0;  ///< bytes in the file
  std::uint64_t size = 0;        ///< bytes of content
  std::uint32_t crc = 0;         ///< CRC-32 of the content
  bool deflated = false;
};

/// The directory of an archive. Error (program): it is damaged, encrypted, split, or compressed by
/// another method, or has more than 65,536 members or two of one name.
[[nodiscard]] Result<std::vector<ZipMember>> zip_members(const ByteSource& file);

/// The first `most` bytes of a member's content, or all if it has fewer; of all, the checksum is
/// compared. Error (program): the member is damaged.
[[nodiscard]] Result<Bytes> read_member(const ByteSource& file, const ZipMember& member,
                                        std::uint64_t most);

/// What goes into an archive.
struct ZipContent {
  std::string name;
  Bytes bytes;
};

/// An archive of stored members. Error (limit): it has more than 4 GiB.
[[nodiscard]] Result<Bytes> zip_bytes(const std::vector<ZipContent>& contents);

}  // namespace tilevm::vm
