// Text to program: reading a file, the constants that the user defines, all checks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "isa/base/source.h"
#include "isa/numeric/target.h"
#include "isa/verify/verify.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

/// The text of a file; `-` is `standard_input`. Error (usage): it cannot be read. At most one byte
/// more than the frontend's limit is read, so that the frontend can complain about the size.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_source(const std::string& path,
                                                                    InputStream& standard_input);

/// Reads a program with the files that it includes, each found from the folder of the file that
/// includes it; what is not found is reported by load().
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path,
                                                                     InputStream& standard_input);
/// Reads a program where there is no standard input: `-` is an empty text.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path);

/// Adds the files that a source includes, which is the text of the file at `path`; `-` is none.
[[nodiscard]] std::shared_ptr<const SourceFile> with_includes(
    const std::shared_ptr<const SourceFile>& source, const std::string& path);

/// A program and what was said of it. `program` is empty if there was an error.
struct Loaded {
  std::shared_ptr<const SourceFile> source;
  Diagnostics diagnostics;
  std::optional<isa::VerifiedProgram> program;
};

/// Whether the assertions of a program become code. They are checked in any case.
enum class Assertions : std::uint8_t { kept, left_out };

/// parse, bind, verify.
[[nodiscard]] Loaded load(std::shared_ptr<const SourceFile> source,
                          const std::vector<frontend::Define>& defines, const isa::Target& target,
                          Assertions assertions = Assertions::kept);

/// Splits "NAME=TEXT" at the first `=`. Error (usage): there is no name or no `=`; `option` is the
/// option's name for the message.
[[nodiscard]] Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                                           std::string_view option);

/// `-D NAME=VALUE` options. Error (usage): malformed, or one name twice.
[[nodiscard]] Result<std::vector<frontend::Define>> parse_defines(
    const std::vector<std::string>& texts);

}  // namespace tilevm::vm
