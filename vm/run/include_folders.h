// Folders from which a program may include files, beside its own (`-I DIR`).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/base/source.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

/// Where an `include` is looked for after the folder of the file that has it. An included file is
/// inside of the program's own folder or of one of these, wherever links lead, since faults show
/// lines of it.
using IncludeFolders = std::vector<std::string>;

/// As read_program of load.h, with such folders.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path,
                                                                     InputStream& standard_input,
                                                                     const IncludeFolders& folders);
/// Reads a program where there is no standard input: `-` is an empty text.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path,
                                                                     const IncludeFolders& folders);

/// Adds the files that a source includes, which is the text of the file at `path`; `-` is none.
[[nodiscard]] std::shared_ptr<const SourceFile> with_includes(
    const std::shared_ptr<const SourceFile>& source, const std::string& path,
    const IncludeFolders& folders);

}  // namespace tilevm::vm
