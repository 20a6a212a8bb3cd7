// Files of a program that an editor has open: their texts are taken instead of what is on the disk.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/source.h"

namespace tilevm::vm {

/// The text that an editor has of a file, by the file's canonical path; nothing if it has none.
using EditedText = std::function<std::optional<std::string>(const std::string& path)>;

/// Adds the files that a source includes, as in load.h.
[[nodiscard]] std::shared_ptr<const SourceFile> with_includes(
    const std::shared_ptr<const SourceFile>& source, const std::string& path,
    const EditedText& edited, const std::vector<std::string>& folders = {});

}  // namespace tilevm::vm
