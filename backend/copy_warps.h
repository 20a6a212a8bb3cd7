// Warps beside those of the program that make a block's bulk copies (@copy_warps).
//
// An instruction that copies in bulk waits until those before it are on their way, as long as it
// takes to ask for their bytes. Where steps are short, the warps that would copy and then compute
// are the last of the block to arrive at its barriers.
//
// Copy warps run a kernel's statements up to the last one with a bulk copy, but only what copies
// depend on: scalars, loops, branches, views, the block's barriers, and groups of copies. Then they
// end, and barriers no longer count them (CUDA C++ Programming Guide, synchronization functions).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "isa/program.h"

namespace tilevm::backend {

/// How many statements of the body copy warps run; nothing if there is no bulk copy among them, or
/// if scalars that only the program's threads know decide which ones are made.
[[nodiscard]] std::optional<std::size_t> copying_statements(
    const isa::Block& body, const std::function<bool(const isa::InstStmt&)>& is_bulk_copy);

/// Whether copy warps run an instruction among these, too.
[[nodiscard]] bool copy_warps_run(const isa::Instruction& instruction);

}  // namespace tilevm::backend
