// The commands of a debugger, as values. Text becomes commands in vm/debug.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/debug/expression.h"
#include "sim/debug/machine_state.h"

namespace tilevm::sim::debug {

/// A part of a dimension: one index, or [begin, end) with ends that may be left out.
struct Range {
  std::optional<std::int64_t> begin, end;
  bool is_index = false;  ///< `begin` alone
};

/// A tensor, or a part of one: "acc", "acc[3, 0:4]", "acc@5" (what a thread holds).
struct Selection {
  std::string tensor;
  std::vector<Range> ranges;  ///< one a dimension; none: the whole tensor
  std::optional<std::int64_t> thread;
  std::string text;  ///< text as the user wrote it
};

namespace command {

/// Statements of the block in focus: `over` takes a loop or a branch as one.
struct Step {
  std::uint64_t count = 1;
  bool over = false;
  bool back = false;
};
/// To the next stop, or the one before.
struct Continue {
  std::uint64_t count = 1;
  bool back = false;
};
/// A line as a user names it. `file` is a path or its last part; empty: the program's own file.
struct NamedLine {
  std::string file;
  int line = 0;
};
/// To a line; without one, past the statement, out of a loop that ends there.
struct Until {
  std::optional<NamedLine> line;
};
/// To the end of the innermost loop, or of the block; `back`: to the begin.
struct Finish {
  bool back = false;
};
/// From the begin of the run to the first stop.
struct Run {};
struct GoTo {
  Moment moment = 0;
};
/// To the begin of a block, or, if the block is running, only with the focus.
struct FocusBlock {
  std::array<std::int64_t, 3> block{};
};
/// Nothing: all threads.
struct FocusThread {
  std::optional<std::int64_t> thread;
};
struct Break {
  std::optional<NamedLine> line;  ///< line, if the stop is not at a name
  std::string name;               ///< name of a kernel, a function or an instruction
  ExpressionPtr condition;        ///< condition, or null
  std::uint64_t ignore = 0;       ///< hits that do not stop
  bool temporary = false;
};
struct Watch {
  Selection what;
  /// Instead of a part of the tensor: the elements in bytes [begin, end) of its memory.
  std::optional<std::size_t> begin, end;
  ExpressionPtr condition = {};  ///< condition, or null
  std::uint64_t ignore = 0;      ///< changes that do not stop
};
/// All of them without a number.
struct Delete {
  std::optional<int> number;
};
struct Enable {
  int number = 0;
  bool enabled = true;
};
struct Print {
  Selection what;
};
struct Compute {
  ExpressionPtr expression;
};
struct Layout {
  std::string tensor;
};
/// Which bits of a thread's registers are which element.
struct Bits {
  std::string tensor;
  std::int64_t thread = 0;
};
/// Elements in memory, with what is known of each. With a count: so many in row-major order from
/// the first one on.
struct Memory {
  Selection what;
  std::optional<std::int64_t> count = {};
};
enum class Topic : std::uint8_t {
  blocks,
  races,
  groups,
  barriers,
  stats,
  cost,
  locals,  ///< scalars, and the tensors of the block
  scalars,
  tensors,
  breakpoints,
  snapshots,
};
struct Info {
  Topic topic{};
};
struct Set {
  Selection what;
  ExpressionPtr value;
};
/// Where an element comes from; the last `levels` steps, copies only if asked for.
struct Why {
  Selection what;
  std::size_t levels = 10;
  bool copies = false;
  std::string via;  ///< where a value has several sources: the variable that is followed
  /// Instead of an element: a branch of a step of the last answer, both counted from 1.
  struct Branch {
    std::size_t step = 0, branch = 0;
  };
  std::optional<Branch> from = {};
};
struct WhoWrote {
  Selection what;
};
struct LastChange {
  Selection what;
};
/// The latest statements of the block in focus.
struct Trace {
  std::uint64_t count = 10;
};
struct Where {};
/// A hash of the whole state, memory included.
struct Hash {};

}  // namespace command

using Command =
    std::variant<command::Step, command::Continue, command::Until, command::Finish, command::Run,
                 command::GoTo, command::FocusBlock, command::FocusThread, command::Break,
                 command::Watch, command::Delete, command::Enable, command::Print, command::Compute,
                 command::Layout, command::Bits, command::Memory, command::Info, command::Set,
                 command::Why, command::WhoWrote, command::LastChange, command::Trace,
                 command::Where, command::Hash>;

}  // namespace tilevm::sim::debug
