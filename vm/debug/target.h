// What is debugged: a program with an entry and tensors, from a file or from a bundle.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "vm/data/tensor.h"
#include "vm/run/entry_tensors.h"
#include "vm/run/include_folders.h"
#include "vm/run/load.h"

namespace tilevm::vm {

struct TargetRequest {
  std::string path;                  ///< path of a file, or of the folder of a bundle
  std::vector<std::string> defines;  ///< "NAME=VALUE"
  std::string architecture = "sm_90";
  std::string entry;
  DataOptions data;
  Seeding seeding;
  bool exact = false;           ///< numbers of files are not rounded
  IncludeFolders folders = {};  ///< further folders from which files are included
};

struct DebugTarget {
  isa::VerifiedProgram program;
  Entry entry;
  std::vector<HostTensor> tensors;
};

/// `target` is empty if the program has an error, which is in the diagnostics.
struct FoundTarget {
  std::shared_ptr<const SourceFile> source;
  Diagnostics diagnostics;
  std::vector<DataNote> notes;  ///< what was rounded
  std::optional<DebugTarget> target;
};

/// Errors: usage, program (data that does not fit, a broken bundle), limit.
[[nodiscard]] Result<FoundTarget> find_target(const TargetRequest& request);

}  // namespace tilevm::vm
