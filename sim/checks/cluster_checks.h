// Clusters: the barrier of all their blocks, and accesses to the shared memory of a block, which
// must happen before that block ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/state/context.h"

namespace tilevm::sim {

/// All threads of the current block arrive at the barrier of the cluster. False after a fault: they
/// have arrived and not waited.
[[nodiscard]] bool arrive_at_cluster(std::string_view mnemonic, Span span, Context& context);

/// The current block waits for the barrier of the cluster: it passes, or GroupState::wait says for
/// what it waits, and the instruction runs again. False after a fault: it has not arrived.
[[nodiscard]] bool wait_for_cluster(std::string_view mnemonic, Span span, Context& context);

/// An access to the shared memory of the block of a rank, or an arrival at its barrier; nothing if
/// it is the current block. False after a fault: the block has ended.
[[nodiscard]] bool note_remote_use(std::uint32_t block, const RemoteUse& use, Context& context);

/// The current block, which is the current group, ends: it counts at the barrier of the cluster as
/// arrived. False after a fault: others may still access its shared memory.
[[nodiscard]] bool end_member(Context& context);

}  // namespace tilevm::sim
