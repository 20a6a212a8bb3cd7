// Barriers between groups of warps: what an arrival and a wait do to what groups know, and their
// faults. None of them depends on which group the simulator runs first (docs/inside/asynchrony.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/state/context.h"

namespace tilevm::sim {

/// An instruction on an object, in one execution.
struct BarrierUseSite {
  std::size_t object = 0;  ///< index in GroupsPlan::objects
  std::string_view mnemonic;
  Span span{};
};

/// One thread of the current block initialises a stage of a memory barrier, given by its number
/// among the objects of the block.
void make_barrier(std::size_t own_object, Context& context);

/// Whether a copy of so many bytes may begin that a stage counts. False after a fault: the barrier
/// is not visible yet, an earlier phase may count the bytes, or the phase expects fewer.
[[nodiscard]] bool begin_counted(const BarrierUseSite& site, std::int64_t bytes, Context& context);

/// All threads of the current group arrive, and each lets the phase wait for `bytes` more. False
/// after a fault: the barrier is not visible yet, the phase takes fewer arrivals, or the arrival
/// may count for an earlier phase.
[[nodiscard]] bool arrive(const BarrierUseSite& site, std::int64_t bytes, Context& context);

/// The current group waits for a phase by its parity: it passes, or GroupState::wait says for what
/// it waits, and the instruction runs again. False after a fault: the barrier is not visible yet,
/// the group has passed this phase before, or the barrier may be a phase further.
[[nodiscard]] bool wait_for_phase(const BarrierUseSite& site, std::uint64_t parity,
                                  Context& context);

/// All warps of the current group come to a named barrier for `warps` warps; they wait for its
/// phase, or go on. False after a fault: others named another number, or a warp may come twice.
[[nodiscard]] bool come_to_named(const BarrierUseSite& site, std::uint32_t warps, bool waits,
                                 Context& context);

/// `bytes` of asynchronous copies have come to a stage of a barrier: whoever waits for its phase
/// sees the segments of the copies' chain before and with `segment`. False after a fault: more
/// bytes than a barrier can count.
[[nodiscard]] bool complete_bytes(std::size_t object, std::int64_t bytes, const Segment& segment,
                                  Context& context);

/// Completes an operation that is under way, by its position in BlockState::under_way.
[[nodiscard]] bool complete_operation(std::size_t position, Context& context);

/// "32 threads of warp 0", "one thread of warp 4", for messages.
[[nodiscard]] std::string arrived(const PhaseArrival& arrival, const Context& context);

/// Records the fault of BlockState::overtaken; false.
bool report_overtaken(Context& context);

/// Whether the block may end: nothing is under way and, if it is the last one of its cluster, no
/// wait may be overtaken. False after a fault.
[[nodiscard]] bool check_exit(Span span, bool is_last, Context& context);

}  // namespace tilevm::sim
