// Files as a whole: bounded reading, writing that happens entirely or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::vm {

/// The bytes of a regular file. Error (program): it cannot be read, it is a folder, a device or a
/// pipe, or it is larger than `limit` bytes.
[[nodiscard]] Result<std::vector<std::uint8_t>> read_file(const std::string& path,
                                                          std::uint64_t limit);

/// Writes a file by way of a new one, so that other processes see the old content or the new, and
/// a failure or a signal leaves no trace. A link is followed; a file keeps its mode and its owner.
/// A file with several names (hard links), or whose owner cannot be kept, is overwritten in place.
/// What is not a regular file, or a file that the process has open (/dev/stdout), is written to
/// directly, at the place where it stands. Error (usage): the folder or the disk refuses.
[[nodiscard]] Status write_file_atomic(const std::string& path,
                                       std::span<const std::uint8_t> bytes);

/// Appends a line (with its break) to a file in one write, so that the file has the whole line or
/// nothing of it. What a killed process or a full disk left of a line of JSON at the end of the
/// file is removed first. Error (usage): the file refuses.
[[nodiscard]] Status append_line(const std::string& path, std::string_view line);

/// Whether a file's last line, which has no break, is the beginning of a line of JSON only.
[[nodiscard]] bool is_torn_json(std::string_view line);

/// Whether write_file_atomic would find a folder that it may write to: asked before a long run.
/// Error (usage): it would not.
[[nodiscard]] Status check_writable(const std::string& path);

/// Checks all outputs of a run. Error (usage) also if two of them are one file.
[[nodiscard]] Status check_outputs(const std::vector<std::string>& paths);

}  // namespace tilevm::vm
