// A launch: all blocks of a grid, on the cores of this machine.
#pragma once

#include <optional>

#include "backend/emu/block_machine.h"

namespace tilevm::backend {

/// Runs every block. Blocks that wait for one another (semaphores) take turns. The fault, if there
/// is one; of several, that of the block with the lowest number among those that met one. Error
/// (limit): no memory for the threads.
[[nodiscard]] Result<std::optional<EmuFault>> run_emulated(const EmuLaunch& launch);

}  // namespace tilevm::backend
