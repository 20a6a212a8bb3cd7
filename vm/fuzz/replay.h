// A failing case as a folder that `tilevm diff DIR` runs again on the engines that differ.
#pragma once

#include <string>

#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

/// Whether a bundle can say what is wrong: the simulator and another engine of `tilevm diff`
/// differ, or one of them alone met a fault.
[[nodiscard]] bool has_replay(const Finding& finding);

/// Runs the case on both engines and writes the bundle. Error: of an engine, or of the folder.
[[nodiscard]] Status write_replay(const std::string& folder, const ReadyCase& each,
                                  const FuzzCase& text, const Finding& finding,
                                  const EngineOptions& options, const std::string& version);

}  // namespace tilevm::vm::fuzz
