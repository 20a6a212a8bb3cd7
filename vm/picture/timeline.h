// A logical timeline of blocks: which statement each of them executes when, which copies and
// products are in flight meanwhile, and which warps take part where not all do.
//
// Time is counted in the statements of a block: statement n lasts from n - 1 to n. It says what
// follows what, not how long a GPU takes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/api/trace.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// What a statement means on a timeline.
enum class TickKind : std::uint8_t { other, memory, copy, commit, wait, barrier, dot, async_dot };

/// What a commit group has.
enum class FlightKind : std::uint8_t { copies, products };

struct Tick {
  std::uint64_t begin = 0;
  Span span{};
  std::string mnemonic;
  TickKind kind = TickKind::other;
  std::vector<std::int64_t> warps;  ///< warps that take part; empty: all
  std::uint16_t group = 0;          ///< index in isa::KernelInfo::groups
};

/// Copies or products of one commit group, from the first one's issue to the wait that retires it.
struct Flight {
  std::uint64_t begin = 0, end = 0;
  Span span{};  ///< range of the first one
  FlightKind kind = FlightKind::copies;
  std::uint16_t group = 0;  ///< warps that committed it
  std::uint64_t count = 0;
  bool waited = false;  ///< otherwise it was in flight when the block ended
};

struct BlockTimeline {
  int kernel = 0;
  std::uint64_t launch = 0;  ///< number of this kernel's launch
  std::array<std::int64_t, 3> block{};
  std::uint64_t steps = 0;
  std::vector<Tick> ticks;
  std::vector<Flight> flights;
};

struct Timeline {
  std::vector<BlockTimeline> blocks;  ///< timelines by kernel, launch and block
  bool cut = false;                   ///< there was more than was kept
};

/// Makes a timeline of the events of a traced run, from any thread.
class TimelineRecorder {
 public:
  TimelineRecorder(const isa::VerifiedProgram& program, std::uint64_t most_ticks);
  TimelineRecorder(const TimelineRecorder&) = delete;
  TimelineRecorder& operator=(const TimelineRecorder&) = delete;

  /// False once there is more than is kept.
  bool take(int kernel, const sim::TraceEvent& event);
  /// After the run.
  [[nodiscard]] Timeline finish();

 private:
  struct Known {
    TickKind kind = TickKind::other;
    FlightKind flight = FlightKind::copies;
    std::int64_t pending = 0;  ///< number of pending groups of a wait
    std::vector<std::int64_t> warps;
  };
  /// What one group of warps has in flight of one kind.
  struct InFlight {
    std::vector<Flight> committed;  ///< the oldest first
    Flight uncommitted;             ///< of a count of 0: none
  };
  struct Recording {
    BlockTimeline timeline;
    std::map<std::pair<std::uint16_t, FlightKind>, InFlight> in_flight;
  };
  using Block = std::array<std::int64_t, 3>;

  [[nodiscard]] Known look_up(int kernel, const isa::InstStmt& stmt) const;
  static void advance(const Known& known, const sim::TraceEvent& event, Recording& recording);

  const isa::VerifiedProgram& program_;
  std::uint64_t most_;
  std::uint64_t count_ = 0;
  bool cut_ = false;
  std::mutex mutex_;
  /// Known times by kernel, and by range in the source.
  std::vector<std::map<std::uint64_t, Known>> known_;
  std::map<std::pair<int, Block>, std::vector<Recording>> recordings_;
};

/// The Chrome trace format (chrome://tracing, ui.perfetto.dev): a process for each block, a thread
/// for its statements (for each group of warps of a kernel that has groups, or for each warp where
/// warps differ), asynchronous slices for copies and products in flight. A microsecond there is a
/// statement here.
[[nodiscard]] Json chrome_trace(const isa::VerifiedProgram& program, const Timeline& timeline);

/// A row for each statement of the text that a block executed, by groups of warps; time from left
/// to right in at most `width` columns; many lines, each with its line break.
[[nodiscard]] std::string draw_text(const isa::VerifiedProgram& program,
                                    const BlockTimeline& timeline, std::size_t width = 72);

/// The timeline as an SVG of at most a few thousand shapes.
[[nodiscard]] std::string draw_svg(const isa::VerifiedProgram& program,
                                   const BlockTimeline& timeline);

}  // namespace tilevm::vm
