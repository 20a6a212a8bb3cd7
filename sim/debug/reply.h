// What a debugger answers, as values. vm/debug makes text and JSON of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "isa/base/source.h"
#include "sim/api/counters.h"
#include "sim/api/sim.h"
#include "sim/debug/expression.h"
#include "sim/debug/machine_state.h"
#include "sim/debug/source_line.h"
#include "sim/debug/timeline.h"

namespace tilevm::sim::debug {

/// A place in a run: before the step from a moment.
struct Position {
  enum class Kind : std::uint8_t {
    statement,  ///< moment before a statement
    block_end,  ///< the block has run its last statement
    waiting,    ///< the block waits for another
    stuck,      ///< no block can run
    run_end,    ///< all launches have ended
  };
  Kind kind = Kind::run_end;
  Moment moment = 0;
  std::size_t launch = 0, launches = 0;
  std::string kernel;
  std::vector<std::int64_t> block;  ///< one entry a grid extent
  SourceLine line;
  Span span{};
  /// The inlined calls that the statement is in, the innermost first.
  struct Call {
    std::string function;
    SourceLine line;  ///< line of the call
    Span span{};      ///< range of the call
  };
  std::vector<Call> calls;
  std::string_view mnemonic;  ///< mnemonic, or empty
};

/// A value that a statement wrote.
struct Written {
  std::string name;
  std::optional<isa::Scalar> scalar;
  isa::DType dtype;  ///< type of the tile's elements, if it is not a scalar
  isa::Shape shape;
  std::uint64_t hash = 0;  ///< hash of the elements
};

/// A watched part of a tensor before and after a step.
struct WatchChange {
  int number = 0;
  std::string text;
  isa::DType dtype;
  isa::Index index;  ///< index of the first element that changed
  Element before, after;
  std::size_t changed = 0, elements = 0;
  SourceLine line;  ///< line of the statement that changed it
  std::vector<std::int64_t> block;
};

namespace reply {

/// An element that a load or a copy looked for and that its view does not have.
struct OutsideView {
  std::string view;    ///< the name of the view
  isa::Shape extents;  ///< the extents of the view
  isa::Index index;    ///< empty if an index tile named the element; `why` shows its value
};

struct Computed {
  std::string text;
  Value value;
};

struct Stopped {
  enum class Reason : std::uint8_t {
    start,
    step,
    breakpoint,
    watch,
    fault,
    run_end,
    interrupted,
    begin,      ///< begin of the run, reached backwards
    arrived,    ///< where the user wanted to go
    block_end,  ///< the block in focus has ended, and another is in focus now
  };
  Reason reason{};
  int breakpoint = 0;
  std::uint64_t hits = 0;
  Position position;
  std::vector<Written> wrote;  ///< writes of the statement before; only after steps forward
  /// Scalars of the block in focus that are not as they were at the last stop, beside those that
  /// the statement before wrote.
  std::vector<ScalarVariable> changed;
  std::vector<Computed> condition;  ///< what the condition of the breakpoint read
  std::string no_condition;         ///< why the condition had no value, if it had none
  std::optional<WatchChange> change;
  std::optional<Fault> fault;
};

/// Elements of a tensor. The shape is that of the part without the dimensions of single indices.
struct Tile {
  std::string text;  ///< what was asked for
  isa::DType dtype;
  std::string type;               ///< type of the whole tensor
  isa::Shape shape;               ///< shape of the part
  isa::Index origin;              ///< index of the part in the tensor
  std::vector<int> dims;          ///< dimension of the tensor of each dimension of the part
  std::vector<Element> elements;  ///< row-major
  // Over all elements of the part:
  std::size_t nan = 0, inf = 0, undefined = 0;
  std::optional<std::uint64_t> lowest, highest;  ///< codes of numbers that are defined
  /// Threads that hold the element, if it is a single one in registers.
  std::vector<std::int64_t> threads;
  std::int64_t local = 0;
  SourceLine overwritten;  ///< what has written the tile's registers again, if anything has
  std::vector<std::size_t> outside;         ///< elements that came from outside of a view
  std::optional<OutsideView> outside_view;  ///< where the first of them was looked for
};

/// What a thread holds of a tile.
struct ThreadTile {
  std::string text;
  isa::DType dtype;
  std::string type;
  std::int64_t thread = 0;
  std::vector<isa::Index> indices;  ///< index of each local place
  std::vector<Element> elements;
  std::vector<std::optional<OutsideView>> outside;  ///< where an element was looked for in vain
  std::vector<std::uint8_t> bytes;                  ///< the thread's bit stream
};

struct LayoutShown {
  std::string name, type;
  std::optional<isa::RegisterLayout> registers;
  std::optional<isa::MemoryLayout> memory;
  int element_bits = 0;
};

/// What is known of an element in memory.
struct MemoryElement {
  isa::Index index;
  std::uint64_t bit = 0;  ///< where it begins, in shared memory or in its buffer
  Element element;
  bool in_flight = false;
  std::uint64_t group = 0;  ///< the group that fills it; 0: not committed, or not in flight
  bool visible = true;      ///< whether all threads may see it: a barrier followed the last write
  std::optional<std::int64_t> writer;  ///< the only thread that may read it before a barrier
  SourceLine line;  ///< line of the last write; 0 if there is none, or it is not known
  /// Accesses since the last barrier, and those of a statement that was stopped by a fault.
  struct Reader {
    std::int64_t thread = 0;
    SourceLine line;
  };
  std::vector<Reader> readers;  ///< the first ones
  std::size_t more_readers = 0;
  /// Threads with which the faulty statement is about to touch it.
  std::vector<std::int64_t> next_threads;
};
struct MemoryShown {
  std::string text, type;
  isa::DType dtype;
  bool shared = false;
  std::vector<MemoryElement> elements;
  SourceLine next_line;      ///< line of the statement that `next_threads` belong to
  bool next_writes = false;  ///< whether that statement writes; else it reads
};

struct BlockInfo {
  std::vector<std::int64_t> block;
  SourceLine line;
  std::uint64_t steps = 0;
  bool focus = false, ended = false;
  std::string waits_for;  ///< reason for its wait, or empty
};
struct Blocks {
  std::vector<BlockInfo> residents;
  std::uint64_t begun = 0, total = 0;
  std::size_t launch = 0, launches = 0;
  std::string kernel;
};

struct Race {
  std::optional<Fault> fault;
};

/// A copy in flight.
struct CopyInfo {
  SourceLine line;
  std::string tensor;
  PendingCopy::Stage stage{};
  std::uint64_t group = 0;
  bool arrived = false;
  std::size_t bytes = 0;
};
/// An asynchronous product in flight.
struct ProductInfo {
  SourceLine line;
  std::string result;       ///< name of the tile to which it adds
  std::string warps;        ///< name of its group of warps; empty in a kernel without groups
  std::uint64_t group = 0;  ///< commit group, counted by each group of warps; 0: not committed
};
struct Groups {
  std::uint64_t committed = 0;
  std::vector<CopyInfo> copies;
  std::vector<ProductInfo> products;
};

struct BarrierInfo {
  SourceLine line;
  std::string_view mnemonic;
  std::uint64_t executed = 0;
};
struct Barriers {
  std::uint64_t epoch = 0;  ///< barriers that the block has passed
  std::vector<BarrierInfo> barriers;
};

struct StatInfo {
  SourceLine line;
  std::string_view mnemonic;
  std::uint64_t executed = 0;
};
struct Stats {
  std::uint64_t steps = 0;
  std::vector<StatInfo> statements;
};

/// What the next statement of the block in focus costs in memory accesses.
struct Cost {
  Position position;
  AccessCounts counts;
  bool moves = false;
};

struct Scalars {
  std::vector<ScalarVariable> scalars;
};

struct TensorInfo {
  std::string name, type;
  Moment written = 0;  ///< 0: not yet, or not known
};
struct Tensors {
  std::vector<TensorInfo> tensors;
};

/// The variables of the block in focus.
struct Locals {
  Scalars scalars;
  Tensors tensors;
};

struct BreakInfo {
  int number = 0;
  std::string what;  ///< unless it is at a line
  SourceLine line;
  std::string condition;
  std::uint64_t hits = 0;
  bool enabled = true, temporary = false, is_watch = false;
};
struct Breakpoints {
  std::vector<BreakInfo> list;
};

struct Snapshots {
  SnapshotUse use;
};

/// A step of a value's way, from the newest to the oldest.
struct Cause {
  enum class Kind : std::uint8_t {
    statement,
    input,      ///< memory as it was when the run began
    parameter,  ///< a scalar that the launch gave
    zeros,
    unknown,
  };
  Kind kind = Kind::statement;
  Position position;  ///< position of the statement that wrote the value
  std::string place;  ///< "acc[3, 5]", "byte 34 of b"
  std::optional<std::int64_t> thread, local;
  std::string bits;  ///< "bits 12..17 of thread 5's registers", or empty
  isa::DType dtype;
  Element element;
  bool has_element = false;
  std::optional<isa::Scalar> scalar;   ///< the value of a scalar variable
  bool copy = false;                   ///< the value was only moved
  bool data_offset = false;            ///< a value that was read says which element was moved
  std::optional<OutsideView> outside;  ///< what was moved is not in its view
  /// What the value was made of, as texts; of many sources the largest.
  struct Source {
    std::string text;
    std::vector<std::size_t> branches;  ///< numbers of its values, from 1 on
  };
  std::vector<Source> sources;
  std::size_t more = 0;      ///< sources that are not listed
  std::size_t branches = 0;  ///< how many values can be followed
  std::size_t values = 0;    ///< how many of them, the first ones, the value was made of
  std::size_t followed = 0;  ///< the branch that the next step is; 0: there is none
  std::size_t skipped = 0;   ///< copies between this step and the one before
};
struct WhyShown {
  std::string text;
  std::vector<Cause> causes;
  bool more = false;      ///< the way goes on
  bool branches = false;  ///< a step has branches that were not followed
};

/// The last change of a part of a tensor.
struct Changed {
  std::string text;
  std::optional<WatchChange> change;  ///< nothing: it never changed
  Position position;                  ///< position before the statement that changed it
};

struct Traced {
  Position position;
  std::vector<Written> wrote;
};
struct TraceShown {
  std::vector<Traced> steps;
};

struct HashShown {
  std::uint64_t hash = 0;
};

struct Done {
  std::string message;
  int number = 0;   ///< number of a breakpoint that was made
  SourceLine line;  ///< line at which it stops
};

}  // namespace reply

using Reply =
    std::variant<Error, reply::Stopped, reply::Tile, reply::ThreadTile, reply::Computed,
                 reply::LayoutShown, reply::MemoryShown, reply::Blocks, reply::Race, reply::Groups,
                 reply::Barriers, reply::Stats, reply::Cost, reply::Scalars, reply::Tensors,
                 reply::Locals, reply::Breakpoints, reply::Snapshots, reply::WhyShown,
                 reply::Changed, reply::TraceShown, reply::HashShown, reply::Done>;

}  // namespace tilevm::sim::debug
