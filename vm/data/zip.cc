#include "vm/data/zip.h"

#include <algorithm>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

namespace zlib = boost::beast::zlib;

constexpr std::uint32_t local_header = 0x04034b50, central_header = 0x02014b50,
                        end_record = 0x06054b50, end_record_64 = 0x06064b50,
                        end_locator_64 = 0x07064b50;
constexpr std::size_t local_header_bytes = 30, central_header_bytes = 46, end_record_bytes = 22,
                      end_locator_64_bytes = 20, end_record_64_bytes = 56;
constexpr std::uint64_t most_members = 1 << 16;
constexpr std::uint64_t most_directory_bytes = std::uint64_t{1} << 26;
constexpr std::uint32_t in_64_bits = 0xffffffff;

/// A little-endian number of `count` bytes at `at`; the caller knows that they are there.
std::uint64_t little_endian(const Bytes& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

/// Where the directory is.
struct Directory {
  std::uint64_t offset = 0, bytes = 0, members = 0;
};

/// The record at the end of a file with 64-bit places.
Result<Directory> read_directory_64(const ByteSource& file, std::uint64_t end_offset) {
  const Error wrong = file_error(file.name(), "its directory of 64-bit places is damaged");
  if (end_offset < end_locator_64_bytes) return wrong;
  const Result<Bytes> locator = file.read(end_offset - end_locator_64_bytes, end_locator_64_bytes);
  if (!locator) return locator.error();
  if (little_endian(*locator, 0, 4) != end_locator_64) return wrong;
  const std::uint64_t offset = little_endian(*locator, 8, 8);
  const Result<Bytes> record = file.read(offset, end_record_64_bytes);
  if (!record) return record.error();
  if (little_endian(*record, 0, 4) != end_record_64) return wrong;
  return Directory{little_endian(*record, 48, 8), little_endian(*record, 40, 8),
                   little_endian(*record, 32, 8)};
}

/// A comment of up to 64 KiB may follow the record at the end.
Result<Directory> find_directory(const ByteSource& file) {
  constexpr std::uint64_t longest = end_record_bytes + 0xffff;
  const std::uint64_t begin = file.size() - std::min(file.size(), longest);
  const Result<Bytes> tail = file.read(begin, file.size() - begin);
  if (!tail) return tail.error();
  for (std::size_t at = tail->size(); at-- > 0;) {
    if (tail->size() - at < end_record_bytes || little_endian(*tail, at, 4) != end_record) continue;
    if (little_endian(*tail, at + 4, 2) != 0)
      return file_error(file.name(), "it is one part of a split archive");
    const Directory directory{little_endian(*tail, at + 16, 4), little_endian(*tail, at + 12, 4),
                              little_endian(*tail, at + 10, 2)};
    const bool is_large = directory.offset == in_64_bits || directory.bytes == in_64_bits ||
                          directory.members == 0xffff;
    return is_large ? read_directory_64(file, begin + at) : Result<Directory>(directory);
  }
  return file_error(file.name(), "it is cut short: it has no directory at its end");
}

/// Takes the 64-bit values that stand in the extra field for those that are too small.
bool read_extra(const Bytes& bytes, std::size_t at, std::size_t length, ZipMember& member) {
  const std::size_t end = at + length;
  while (end - at >= 4) {
    const std::uint64_t id = little_endian(bytes, at, 2), size = little_endian(bytes, at + 2, 2);
    at += 4;
    if (size > end - at) return false;
    if (id == 1) {
      const std::size_t field_end = at + size;
      for (std::uint64_t* value : {&member.size, &member.compressed, &member.header}) {
        if (*value != in_64_bits) continue;
        if (field_end - at < 8) return false;
        *value = little_endian(bytes, at, 8);
        at += 8;
      }
      return true;
    }
    at += size;
  }
  return true;
}

/// The member that is described at `at`, which moves on; nothing if the directory is damaged.
std::optional<ZipMember> read_directory_entry(const Bytes& bytes, std::size_t& at,
                                              std::uint64_t& method, bool& encrypted) {
  if (bytes.size() - at < central_header_bytes || little_endian(bytes, at, 4) != central_header)
    return {};
  const std::uint64_t name = little_endian(bytes, at + 28, 2),
                      extra = little_endian(bytes, at + 30, 2),
                      comment = little_endian(bytes, at + 32, 2);
  const std::size_t begin = at;
  at += central_header_bytes;
  if (bytes.size() - at < name + extra + comment) return {};
  ZipMember member;
  member.name.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + name));
  encrypted = (little_endian(bytes, begin + 8, 2) & 1) != 0;
  method = little_endian(bytes, begin + 10, 2);
  member.crc = static_cast<std::uint32_t>(little_endian(bytes, begin + 16, 4));
  member.compressed = little_endian(bytes, begin + 20, 4);
  member.size = little_endian(bytes, begin + 24, 4);
  member.header = little_endian(bytes, begin + 42, 4);
  member.deflated = method == 8;
  if (!read_extra(bytes, at + name, extra, member)) return {};
  at += name + extra + comment;
  return member;
}

/// Where a member's bytes begin, after its local header.
Result<std::uint64_t> content_of(const ByteSource& file, const ZipMember& member) {
  const Result<Bytes> header = file.read(member.header, local_header_bytes);
  if (!header) return header.error();
  if (little_endian(*header, 0, 4) != local_header) {
    return file_error(file.name(),
                      fmt::format("`{}` is not where its directory says", member.name));
  }
  const std::uint64_t begin = member.header + local_header_bytes + little_endian(*header, 26, 2) +
                              little_endian(*header, 28, 2);
  if (begin > file.size() || member.compressed > file.size() - begin) {
    return file_error(file.name(), fmt::format("`{}` is cut short", member.name));
  }
  return begin;
}

/// Inflates until `most` bytes are there or the stream ends. Memory grows with what comes out, not
/// with what the archive says.
Result<Bytes> inflate(const ByteSource& file, const ZipMember& member, std::uint64_t begin,
                      std::uint64_t most) {
  constexpr std::uint64_t step = std::uint64_t{1} << 20;
  zlib::inflate_stream stream;
  boost::system::error_code error;
  Bytes in, out;
  std::uint64_t taken = 0;
  std::size_t used = 0;
  while (error != zlib::error::end_of_stream && out.size() < most) {
    if (used == in.size() && taken < member.compressed) {
      Result<Bytes> piece = file.read(begin + taken, std::min(step, member.compressed - taken));
      if (!piece) return piece;
      in = *std::move(piece);
      taken += in.size();
      used = 0;
    }
    const std::size_t before = out.size();
    out.resize(static_cast<std::size_t>(std::min(most, before + step)));
    zlib::z_params params;
    params.next_in = in.data() + used;
    params.avail_in = in.size() - used;
    params.next_out = out.data() + before;
    params.avail_out = out.size() - before;
    stream.write(params, zlib::Flush::sync, error);
    used = in.size() - params.avail_in;
    const std::size_t written = out.size() - before - params.avail_out;
    out.resize(before + written);
    const bool is_stuck = written == 0 && used == in.size() && taken == member.compressed;
    const bool fails =
        error && error != zlib::error::end_of_stream && error != zlib::error::need_buffers;
    if (fails) {
      return file_error(file.name(), fmt::format("`{}` is not deflated data", member.name));
    }
    if (is_stuck) break;  // size and checksum tell whether anything is missing
  }
  return out;
}

void append_number(Bytes& bytes, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

std::uint32_t crc_of(const Bytes& bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

/// What the local header and the directory say alike: version 2.0, UTF-8 names, no date.
void append_description(Bytes& bytes, const ZipContent& content, std::uint32_t crc) {
  append_number(bytes, 20, 2);
  append_number(bytes, 1 << 11, 2);
  append_number(bytes, 0, 2);
  append_number(bytes, 0, 2);
  append_number(bytes, (1 << 5) | 1, 2);  // 1980-01-01
  append_number(bytes, crc, 4);
  append_number(bytes, content.bytes.size(), 4);
  append_number(bytes, content.bytes.size(), 4);
  append_number(bytes, content.name.size(), 2);
  append_number(bytes, 0, 2);
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(const ByteSource& file) {
  const Result<Directory> directory = find_directory(file);
  if (!directory) return directory.error();
  if (directory->members > most_members || directory->bytes > most_directory_bytes) {
    return file_error(file.name(),
                      fmt::format("its directory of {} members is too large", directory->members));
  }
  const Result<Bytes> bytes = file.read(directory->offset, directory->bytes);
  if (!bytes) return file_error(file.name(), "its directory is not where its end says");
  std::vector<ZipMember> members;
  std::set<std::string> names;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory->members; ++i) {
    std::uint64_t method = 0;
    bool encrypted = false;
    std::optional<ZipMember> member = read_directory_entry(*bytes, at, method, encrypted);
    if (!member) return file_error(file.name(), "its directory is damaged");
    // Readers differ in which of two they take.
    if (!names.insert(member->name).second) {
      return file_error(file.name(), fmt::format("it has two members `{}`", member->name));
    }
    if (encrypted) return file_error(file.name(), fmt::format("`{}` is encrypted", member->name));
    if (method != 0 && method != 8) {
      return file_error(file.name(),
                        fmt::format("`{}` is compressed by method {}; readable are stored and "
                                    "deflated members, as numpy.savez writes them",
                                    member->name, method));
    }
    members.push_back(*std::move(member));
  }
  return members;
}

Result<Bytes> read_member(const ByteSource& file, const ZipMember& member, std::uint64_t most) {
  const Result<std::uint64_t> begin = content_of(file, member);
  if (!begin) return begin.error();
  if (!member.deflated && member.compressed != member.size) {
    return file_error(file.name(), fmt::format("`{}` is stored with two sizes", member.name));
  }
  // One byte more than said shows that more is there.
  Result<Bytes> bytes = member.deflated
                            ? inflate(file, member, *begin, std::min(most, member.size + 1))
                            : file.read(*begin, std::min(most, member.size));
  if (!bytes) return bytes;
  if (bytes->size() == most && most < member.size) return bytes;
  if (bytes->size() != member.size || crc_of(*bytes) != member.crc) {
    return file_error(
        file.name(),
        fmt::format("`{}` is damaged: its size or its checksum is another", member.name));
  }
  return bytes;
}

Result<Bytes> zip_bytes(const std::vector<ZipContent>& contents) {
  std::uint64_t total = 0;
  for (const ZipContent& content : contents) total += content.bytes.size() + 2 * 256;
  if (total > std::numeric_limits<std::uint32_t>::max() - most_members) {
    return Error{ErrorKind::limit,
                 "a .npz file of more than 4 GiB is not written; write a .safetensors file"};
  }
  Bytes file, directory;
  for (const ZipContent& content : contents) {
    const std::uint32_t crc = crc_of(content.bytes);
    append_number(directory, central_header, 4);
    append_number(directory, 20, 2);
    append_description(directory, content, crc);
    append_number(directory, 0, 2);  // comment
    append_number(directory, 0, 4);  // part, attributes
    append_number(directory, 0, 4);
    append_number(directory, file.size(), 4);
    directory.insert(directory.end(), content.name.begin(), content.name.end());
    append_number(file, local_header, 4);
    append_description(file, content, crc);
    file.insert(file.end(), content.name.begin(), content.name.end());
    file.insert(file.end(), content.bytes.begin(), content.bytes.end());
  }
  const std::size_t offset = file.size();
  file.insert(file.end(), directory.begin(), directory.end());
  append_number(file, end_record, 4);
  append_number(file, 0, 4);
  append_number(file, contents.size(), 2);
  append_number(file, contents.size(), 2);
  append_number(file, directory.size(), 4);
  append_number(file, offset, 4);
  append_number(file, 0, 2);
  return file;
}

}  // namespace tilevm::vm
