// The simulator: runs the thread blocks of a kernel on the host, bit for bit as the GPU would.
//
//   VerifiedProgram --plan.h--> Plan (flat records, index tables) --block_interpreter.h-->
//   BlockState per block
//
// Blocks run in parallel on host threads; results, counters and the reported fault do not depend on
// how many there are, as long as no two blocks race for the same global elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "isa/inst/expr.h"
#include "isa/program/print.h"
#include "isa/verify/verify.h"
#include "sim/api/counters.h"
#include "sim/api/error_stats.h"
#include "sim/api/probe.h"
#include "sim/api/progress.h"
#include "sim/api/shadow_memory.h"
#include "sim/api/trace.h"

namespace tilevm::sim {

/// A buffer of global memory: a dense little-endian bit stream (isa/type/bits.h). The name is for
/// messages.
struct Buffer {
  std::string name;
  std::vector<std::uint8_t> bytes;
  /// The undefined mask, by bit: set where memory has no defined value, as after an allocation.
  /// Empty: all bits are defined. A run clears the bits that it writes, and empties the mask when
  /// no set bit is left.
  std::vector<std::uint8_t> undefined = {};
  /// The elements' values without rounding; kept from launch to launch. If absent, writes lose
  /// their shadow values.
  std::optional<ShadowMemory> shadow = {};
};

/// Bytes that the shadow values of one buffer or workspace may take: 8 for each element.
inline constexpr std::size_t max_shadow_bytes = std::size_t{1} << 31;

/// Makes a Buffer::shadow for elements of this type. Error (limit): not enough memory.
[[nodiscard]] Result<ShadowMemory> make_shadow(std::string_view name, const isa::DType& type,
                                               std::size_t bytes);

/// The argument of a kernel parameter: an index into the memory for a pointer, or the value of a
/// scalar.
using Argument = std::variant<int, isa::Scalar>;

/// The checks of a run. No check changes the result of a program that passes the check.
struct Checks {
  bool bounds = true;
  bool races = true;
  bool in_flight = true;
  bool uninitialized = true;
  bool replicas = true;
  bool redundant = true;
  bool unwritten = true;
  bool wraps = true;
  bool outside = false;
  bool padding = false;
};

/// A check by its name on the command line.
struct NamedCheck {
  std::string_view name;
  bool Checks::* member;
  std::string_view what;  ///< what the check finds

  /// Whether `all` includes the check.
  [[nodiscard]] constexpr bool is_default() const { return Checks{}.*member; }
};
inline constexpr std::array<NamedCheck, 10> named_checks{{
    {"bounds", &Checks::bounds,
     "accesses outside of a buffer or a shared tensor; fixed indices outside of a view (warnings)"},
    {"races", &Checks::races, "threads of a block, or blocks, that race for memory"},
    {"in_flight", &Checks::in_flight, "accesses to what an asynchronous copy still moves"},
    {"uninitialized", &Checks::uninitialized, "elements without a defined value that matter"},
    {"replicas", &Checks::replicas, "replicas of an element that differ"},
    {"redundant", &Checks::redundant, "barriers and waits that this run does not need (notes)"},
    {"unwritten", &Checks::unwritten, "elements of outputs that nothing has stored (warnings)"},
    {"wraps", &Checks::wraps, "offsets and strides whose arithmetic wraps around"},
    {"outside", &Checks::outside, "elements of an index tile outside of a view (warnings)"},
    {"padding", &Checks::padding, "elements of outputs that depend on elements outside of a view"},
}};

/// When the data of an asynchronous copy arrives. No program that passes the check `in_flight` can
/// tell the difference.
struct Completion {
  enum class Time : std::uint8_t {
    latest,    ///< when its group is waited for
    earliest,  ///< copies arrive at once
    random,    ///< copies arrive at some time between, in any order, by the seed
  };
  Time time = Time::latest;
  std::uint64_t seed = 0;
};

/// Which of the groups of warps of a block runs next where several can: no program without faults
/// can tell the difference, and the fault that is reported does not depend on it either.
struct GroupSchedule {
  enum class Kind : std::uint8_t {
    first,   ///< a group runs until it waits or ends, then the first one that can run
    last,    ///< a group runs until it waits or ends, then the last one that can run
    random,  ///< any group that can run, by the seed, after each instruction that orders groups
  };
  Kind kind = Kind::first;
  std::uint64_t seed = 0;
};

/// The order in which blocks begin. No program that passes the check `races` can tell the
/// difference. After a fault, prints are kept only if the order is ascending, since only then the
/// blocks that ran before the fault are known.
struct BlockOrder {
  enum class Kind : std::uint8_t { ascending, descending, random };
  Kind kind = Kind::ascending;
  std::uint64_t seed = 0;
};

inline constexpr std::uint64_t default_max_steps = std::uint64_t{1} << 28;

/// Prepared kernels of one program, kept from launch to launch (sim/launch/kept_plans.h).
class KeptPlans;
/// For Options::plans.
[[nodiscard]] std::shared_ptr<KeptPlans> keep_plans(const isa::VerifiedProgram& program);

struct Options {
  int threads = 0;  ///< host threads; 0: all cores
  /// Statements that one block may execute; the default takes seconds where they are the cheapest.
  std::uint64_t max_steps = default_max_steps;
  Checks checks{};
  Completion completion{};
  BlockOrder block_order{};
  GroupSchedule group_schedule{};
  /// Most blocks that have begun and not ended, in a launch whose blocks wait for one another. The
  /// default is an H100 or H200 with one block on each multiprocessor.
  std::uint64_t resident_blocks = 132;
  /// Other orders in which a small launch runs again if its blocks order themselves, to find what
  /// may happen in them.
  std::uint64_t explored_orders = 24;
  bool count_accesses = false;  ///< Counters::statements
  bool keep_shadow = false;     ///< Report::errors
  Trace trace{};
  Probes probes{};
  Progress* progress = nullptr;  ///< told how many blocks have ended, if there is one
  /// Where a kernel is prepared once; null, or of another program: for this launch alone.
  std::shared_ptr<KeptPlans> plans = nullptr;
};

/// Why a run stopped: an error of the program with its span, and the block and thread that met it.
struct Fault {
  Diagnostic diagnostic;
  std::vector<std::int64_t> block;  ///< block index, one entry a grid extent; empty: no block ran
  std::optional<std::int64_t> thread;  ///< the thread inside the block, where there is one
};

/// A barrier or a wait of the text.
struct BarrierUse {
  std::string_view mnemonic;
  Span span{};
  bool executed = false;
  bool needed = true;  ///< the run would be wrong without this one alone
};

/// An instruction of the text that computes, and the errors of its results over all blocks.
struct StatementErrors {
  Span span{};
  std::size_t instruction = 0;  ///< index in isa::Instruction
  isa::DType dtype;             ///< element type of the result, as is the shape
  isa::Shape shape;
  ErrorStats own;          ///< errors against the exact result of its operands as they are
  ErrorStats accumulated;  ///< errors against the shadow values
};

/// Bits [begin, end) of a buffer.
struct BitRange {
  std::uint64_t begin = 0, end = 0;
};

/// What a launch stored to a buffer: ascending ranges of whole granules, which no element of a view
/// splits.
struct StoredBits {
  bool known = false;  ///< false: not followed
  std::vector<BitRange> ranges;
};

/// A StoreGlobal of the text.
struct StoreUse {
  Span span{};
  std::uint64_t executed = 0;  ///< number of executions by blocks
  std::uint64_t outside = 0;   ///< number of these with the whole tile outside of the view
};

/// A statement of the text that named elements outside of its view: by an index without a colon, or
/// by an index tile (Checks::outside).
struct OutsideUse {
  Span span{};
  std::string_view mnemonic;
  std::string view;                 ///< name of the view
  bool indexed = false;             ///< whether an index tile named them
  std::uint64_t count = 0;          ///< executions; of an index tile, elements
  std::size_t dim = 0;              ///< dimension of the view in which the first one left it
  std::int64_t index = 0;           ///< index of the first along `dim`
  std::int64_t extent = 0;          ///< extent of the view along `dim`
  std::vector<std::int64_t> block;  ///< block that comes first in the order
};

/// Which orders of its blocks a launch ran in.
enum class OrdersRun : std::uint8_t {
  alike,  ///< blocks do not order themselves, so that one order shows what any does
  some,   ///< blocks order themselves, and several orders were run
  one,    ///< they do, and the launch or its memory is too large for more than one
};

struct Report {
  std::optional<Fault> fault;  ///< fault of the block that comes first in the order; x is fastest
  Counters counters;
  isa::LaunchPrints prints;          ///< up to the fault
  std::vector<BarrierUse> barriers;  ///< uses in the order of the text; empty if not checked
  /// By the caller's buffer, and in the order of the text; empty unless Checks::unwritten and
  /// Checks::races are on.
  std::vector<StoredBits> stored;
  std::vector<StoreUse> stores;
  std::vector<OutsideUse> outside;     ///< uses in the order of the text
  std::array<std::int64_t, 3> grid{};  ///< the extents
  OrdersRun orders = OrdersRun::alike;
  /// In the order of the text; empty unless Options::keep_shadow.
  std::vector<StatementErrors> errors;
};

/// Runs every block of a kernel. `arguments` has one entry a parameter, `memory` is updated in
/// place (after a fault its contents are unspecified). Workspaces of the kernel are allocated here
/// and start as zeros. Errors: arguments that do not fit the parameters (usage), not enough memory
/// (limit). Everything that the program does wrong is a Fault.
[[nodiscard]] Result<Report> run_kernel(const isa::VerifiedProgram& program, int kernel,
                                        const std::vector<Argument>& arguments,
                                        std::vector<Buffer>& memory, const Options& options = {});

}  // namespace tilevm::sim
