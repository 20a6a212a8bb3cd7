// Groups of statements that are only right together: asynchronous copies with their waits, blocks
// that wait for one another, tiles that pass through memory.
#pragma once

#include <cstdint>

#include "vm/fuzz/kernel_builder.h"

namespace tilevm::vm::fuzz {

/// A new shared tensor (or block's part of a workspace) whose every element is then stored.
OwnMemory* make_memory(KernelBuilder& builder, bool shared, std::optional<isa::DType> dtype = {});
/// Loads a part of such memory; a new one if there is none.
void load_part(KernelBuilder& builder, bool shared);
/// Stores a tile in a part of it.
void store_part(KernelBuilder& builder, bool shared);

/// Copies of which each is waited for before it is read, one or two groups.
void copy_and_wait(KernelBuilder& builder);
/// A loop that reads one stage while later ones are filled.
void copy_in_stages(KernelBuilder& builder);

/// Blocks add to one tile in turns, by LockSemaphore and ReleaseSemaphore.
void add_in_turns(KernelBuilder& builder);
/// The last block adds up the parts of all, found by AtomicAdd or AtomicCombine.
void last_block_adds(KernelBuilder& builder);
/// Each block exchanges an element of its own, so that no order changes what it finds.
void exchange_own_elements(KernelBuilder& builder);
/// Whether blocks may wait for each other here: all blocks come by, once.
[[nodiscard]] bool blocks_may_wait(const KernelBuilder& builder);

/// Two groups of warps, of which one fills stages of shared memory that the other one uses.
void pass_between_groups(KernelBuilder& builder);
/// Whether there may be groups here: the threads are two warps at least, outside of loops.
[[nodiscard]] bool can_have_groups(const KernelBuilder& builder);

/// Elements of a tile combined along some of its dimensions.
void make_reduce(KernelBuilder& builder);
/// Elements of a tile combined with those before them.
void make_scan(KernelBuilder& builder);
/// Parts of a tile, tiles side by side, entries of a table.
void make_slice(KernelBuilder& builder);
void make_concat(KernelBuilder& builder);
void make_lookup(KernelBuilder& builder);
/// Elements at places that are data, in inputs and in memory of the block's own.
void make_gather(KernelBuilder& builder);
void make_scatter(KernelBuilder& builder);
/// Indices of which many are inside an extent, some before and some after it.
Tile make_index(KernelBuilder& builder, std::int64_t extent, const isa::RegisterLayout& layout);
/// A scalar of a tile of one element, or of an element in memory.
void make_load_scalar(KernelBuilder& builder);

/// A Dot of each kind that the target and the threads allow.
void make_dot(KernelBuilder& builder);
void make_dot_sparse(KernelBuilder& builder);
/// Nothing where the target has no block-scaled instructions.
void make_dot_scaled(KernelBuilder& builder);
/// Asynchronous products with their fence and their wait; nothing where the target or the threads
/// do not allow them.
void make_dot_async(KernelBuilder& builder);
/// The tensor-core Dot of a number: each instruction of the target as it is and transposed, again
/// and again. The threads must be whole warps.
void make_dot_form(KernelBuilder& builder, std::uint64_t number);

}  // namespace tilevm::vm::fuzz
