// A debugger without a terminal: commands in, replies out.
//
// It runs the launches of an entry in one fixed order (machine.h), forwards and backwards
// (timeline.h). Every reply is a value; nothing is printed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "sim/api/sim.h"
#include "sim/debug/command.h"
#include "sim/debug/outside_view.h"
#include "sim/debug/provenance.h"
#include "sim/debug/reply.h"
#include "sim/debug/stops.h"
#include "sim/debug/timeline.h"

namespace tilevm::sim::debug {

/// What is debugged. The buffers are the run's tensors; their types and shapes are for looking.
struct SessionSpec {
  isa::VerifiedProgram program;
  std::vector<LaunchSpec> launches;
  std::vector<Buffer> buffers;
  std::vector<isa::DType> dtypes;
  std::vector<isa::Shape> shapes;
  Options options;
  TimelineOptions timeline;
};

class Session {
 public:
  /// Errors: usage (no launch, arguments), limit.
  [[nodiscard]] static Result<std::unique_ptr<Session>> make(SessionSpec spec);

  Reply execute(const Command& command);
  /// Where the last command found a name that is out of scope by now: at the last moment of its
  /// block. Nothing if the answer was of the present. The session has not moved.
  [[nodiscard]] std::optional<Position> take_past() { return std::exchange(past_, std::nullopt); }

  [[nodiscard]] Timeline& timeline() { return *timeline_; }
  [[nodiscard]] const isa::VerifiedProgram& program() const { return spec_.program; }
  [[nodiscard]] std::optional<std::int64_t> thread() const { return thread_; }
  /// The rank in the launch order of the block in focus. A block that does not run cannot get the
  /// focus.
  [[nodiscard]] std::uint64_t focus_rank() const { return focus_.rank; }
  void focus_on(std::uint64_t rank);
  /// Changes bytes of a tensor in memory by hand, as `set` does; they must lie inside.
  void write_bytes(const Tensor& tensor, std::size_t begin, std::vector<std::uint8_t> bytes);
  [[nodiscard]] Position position();
  /// Error (usage): the program has no such file.
  [[nodiscard]] Result<SourceLine> find_line(const command::NamedLine& named) const;
  /// The first line from `line` on, of its file, at which a breakpoint can be.
  [[nodiscard]] std::optional<SourceLine> line_from(SourceLine line);
  [[nodiscard]] Names names();
  /// The block in focus; nothing at the end of the run.
  [[nodiscard]] const BlockState* focus_block();

 private:
  explicit Session(SessionSpec spec) : spec_(std::move(spec)) {}

  struct Focus {
    std::size_t launch = 0;
    std::uint64_t rank = 0;
  };
  using Reason = reply::Stopped::Reason;
  using Test = std::function<bool()>;

  // Moving (session_move.cc).
  Reply run(const command::Step& step);
  Reply run(const command::Continue& run);
  Reply run(const command::Until& until);
  Reply run(const command::Finish& finish);
  Reply run(const command::Run& run);
  Reply run(const command::GoTo& go);
  Reply run(const command::FocusBlock& block);
  void go_to_fault();
  reply::Stopped run_until(const Test& reached);
  reply::Stopped step_once(bool over);
  reply::Stopped step_back(bool over);
  reply::Stopped continue_back();
  reply::Stopped search(const std::function<bool()>& matches, Reason reason);
  reply::Stopped stopped(Reason reason);
  reply::Stopped arrived(Timeline::Arrival arrival, std::optional<Fault> fault);
  [[nodiscard]] bool at_stop();
  [[nodiscard]] bool in_focus();
  [[nodiscard]] Test past_statement();
  Reply begin_of_block(std::uint64_t rank);

  // Stops (session_stops.cc).
  Reply run(const command::Break& request);
  Reply run(const command::Watch& request);
  Reply run(const command::Delete& request);
  Reply run(const command::Enable& request);
  [[nodiscard]] const Breakpoint* hit(bool count);
  void describe_hit(const Breakpoint& breakpoint, reply::Stopped& stop);
  [[nodiscard]] Status place(const command::Break& request, Breakpoint& breakpoint,
                             std::string& what);
  void mark(const Breakpoint& breakpoint, bool stops);
  [[nodiscard]] const std::vector<std::size_t>& records_of(const Breakpoint& breakpoint,
                                                           const PreparedLaunch& launch) const;
  [[nodiscard]] bool holds(const ExpressionPtr& condition, std::size_t resident);
  [[nodiscard]] bool holds_after_step(const ExpressionPtr& condition);
  [[nodiscard]] Result<Watchpoint> watched(const command::Watch& request);
  [[nodiscard]] std::optional<WatchChange> changed_watch();
  void remember_watches();
  [[nodiscard]] std::optional<std::vector<Element>> elements_of(const Watchpoint& watch);

  // Looking (session_look.cc, session_info.cc).
  Reply run(const command::Print& print);
  Reply run(const command::Compute& compute);
  Reply run(const command::Layout& layout);
  Reply run(const command::Bits& bits);
  Reply run(const command::Memory& memory);
  void add_next_access(const Tensor& tensor,
                       std::map<std::uint64_t, std::vector<std::int64_t>>& threads,
                       reply::MemoryShown& shown);
  Reply run(const command::Info& info);
  Reply run(const command::Where& where);
  Reply run(const command::Hash& hash);
  Reply run(const command::FocusThread& thread);
  Reply run(const command::Set& set);
  Reply run(const command::Trace& trace);
  [[nodiscard]] SourceLine overwritten_at(isa::VarId var);
  Reply shown_thread(const Selection& what, const Tensor& tensor, std::int64_t thread);
  void mark_outside(const Tensor& tensor, const Part& part, reply::Tile& tile);
  void mark_outside(const Tensor& tensor, reply::ThreadTile& tile);
  [[nodiscard]] std::vector<OutsideElement> find_outside(std::vector<Trail> trails);
  reply::Blocks blocks();
  reply::Race races();
  reply::Groups groups();
  reply::Barriers barriers();
  reply::Stats stats();
  Reply cost();
  reply::Scalars scalars();
  reply::Tensors tensors();
  reply::Locals locals();
  reply::Breakpoints breakpoints() const;

  // The past (session_past.cc).
  Reply run(const command::Why& why);
  [[nodiscard]] Result<TrailBranch> begin_of(const command::Why& why);
  Reply run(const command::WhoWrote& who);
  Reply run(const command::LastChange& change);
  [[nodiscard]] Reply in_past(const Command& command, const std::string& name, Reply present);
  [[nodiscard]] std::optional<Moment> last_moment_of(const std::string& name);
  void note_changes(reply::Stopped& stop);

  [[nodiscard]] Machine& machine() { return timeline_->machine(); }
  [[nodiscard]] std::optional<std::size_t> resident_of_focus();
  void follow();
  [[nodiscard]] std::optional<std::size_t> last_record(std::size_t resident);
  [[nodiscard]] std::vector<Written> written_by(std::size_t resident, std::size_t record);
  [[nodiscard]] Position position_of(std::size_t resident);
  [[nodiscard]] Implied implied();
  [[nodiscard]] std::uint64_t memory_hash();

  SessionSpec spec_;
  std::unique_ptr<Timeline> timeline_;
  Focus focus_;
  std::optional<std::int64_t> thread_;
  std::map<int, Breakpoint> breakpoints_;  // by number
  std::vector<Watchpoint> watchpoints_;
  int next_number_ = 1;
  std::vector<std::vector<TrailBranch>> why_branches_;  // by step of the last `why`
  std::map<int, StopTable> stop_tables_;                // by kernel
  std::vector<const StopTable*> stop_at_;               // by launch
  void make_stop_tables();

  /// The scalars of the block in focus at the last stop, by variable; without a value where it had
  /// none.
  struct SeenScalars {
    Focus block;
    bool known = false;
    std::vector<std::optional<std::uint64_t>> bits;
  };
  SeenScalars seen_;
  std::optional<Moment> fault_at_;  // the moment of the last stop, if it was a fault
  std::optional<Position> past_;
};

}  // namespace tilevm::sim::debug
