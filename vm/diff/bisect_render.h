// The first different statement as text and as JSON.
#pragma once

#include <string>

#include "vm/diff/bisect.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// The statement with its place in the text, its block and iterations, the value that differs with
/// its thread and register, and what the statement read.
[[nodiscard]] std::string render_bisect(const DiffCase& what, const SeedVerdict& verdict,
                                        const BisectResult& result);

/// backends, seed, found, compared, left_out; and if found: kernel, launch, block, record, line,
/// column, mnemonic, loops, operands, and difference, whose kind is tile, scalar, memory, path or
/// unknown; after_loop, the line of a loop, for the sum of a loop's products.
[[nodiscard]] Json bisect_json(const DiffCase& what, const SeedVerdict& verdict,
                               const BisectResult& result);

}  // namespace tilevm::vm
