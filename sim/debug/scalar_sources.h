// Trails, which `why` follows, and the scalars that a statement depends on: those it computes with,
// those in its offsets, and those in the conditions under which it ran. Each becomes a branch that
// `why` can follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "isa/analysis/statements.h"
#include "sim/debug/access_capture.h"
#include "sim/debug/reply.h"
#include "sim/debug/timeline.h"

namespace tilevm::sim::debug {

/// Bits at one moment, in one of the memories, or a scalar variable.
struct Trail {
  enum class Space : std::uint8_t { registers, shared, global, scalar };
  Space space = Space::registers;
  std::size_t launch = 0;
  std::uint64_t rank = 0;  ///< rank of the block, unless in global memory
  isa::VarId var;          ///< variable of a tile in registers, or of a scalar
  std::size_t thread = 0;
  const std::uint8_t* buffer = nullptr;  ///< buffer in global memory
  /// In the thread's stream, in shared memory or in the buffer. Ascending order of the bits of the
  /// value; the first one is followed. A scalar has its 64 bits.
  std::vector<BitRange> bits;
};

/// A value that another was made of, and when it was there.
struct TrailBranch {
  Trail trail;
  Moment moment = 0;
};

/// The trail of a scalar variable of a block.
[[nodiscard]] inline Trail scalar_trail(isa::VarId var, std::size_t launch, std::uint64_t rank) {
  Trail trail;
  trail.space = Trail::Space::scalar;
  trail.launch = launch;
  trail.rank = rank;
  trail.var = var;
  trail.bits = {{0, 64}};
  return trail;
}

/// The conditions that earlier steps of an answer have listed: launch, block, statement, moment.
using ListedConditions = std::set<std::tuple<std::size_t, std::uint64_t, std::int32_t, Moment>>;

/// Lists the scalars of the statement before which a block of the present launch is.
class ScalarSources {
 public:
  ScalarSources(Timeline& timeline, const std::vector<isa::DType>& dtypes,
                const std::vector<isa::Shape>& shapes, std::uint64_t rank, reply::Cause& cause,
                std::vector<TrailBranch>& branches);

  /// Scalars that the value was computed with; the bits of the value if it is an element of a tile
  /// with this row-major number.
  void list_values(std::optional<std::int64_t> element);
  /// The range of a `for` statement, which was evaluated when the loop was entered.
  void list_range();
  /// Scalars of the offset, the index tile's element, and the scalars of the view's extents.
  /// `moved` is the element that the statement's access moves.
  void list_offsets(const AccessCapture& capture, const std::optional<MovedElement>& moved);
  /// Scalars of the conditions around the statement, unless `listed` has them.
  void list_conditions(ListedConditions& listed);

  /// A statement that would have written a variable, if the condition around it had held.
  struct NotTaken {
    isa::StmtId condition, writer;
    Moment moment = 0;  ///< moment at which the condition was evaluated
  };
  /// The branches that were not taken since a variable was written at a moment.
  [[nodiscard]] std::vector<NotTaken> find_not_taken(isa::VarId var, Moment written);
  void list_not_taken(const std::vector<NotTaken>& found);

  /// The number of branches that are values: of those one may be followed.
  [[nodiscard]] std::size_t values() const { return values_; }
  [[nodiscard]] const isa::Stmt* statement() const { return statement_; }

 private:
  void add(std::string_view word, const std::vector<isa::VarId>& vars);
  void add_condition(const isa::Stmt& outer, isa::StmtId inside, std::string_view word);
  [[nodiscard]] bool leads_to(const isa::Stmt& outer, isa::StmtId inside);
  void add_index_element(isa::VarId index, const isa::Index& moved, std::size_t thread);
  void add_view(isa::VarId view);
  [[nodiscard]] std::vector<isa::VarId> evaluated(const std::vector<isa::Expr>& exprs);
  [[nodiscard]] isa::Scalar value_of(isa::VarId var);
  [[nodiscard]] bool comes_from_data(isa::VarId var);
  [[nodiscard]] std::optional<Moment> decided_at(isa::StmtId id, PlanOp::Kind kind);
  [[nodiscard]] Trail trail(isa::VarId var);
  [[nodiscard]] std::size_t resident();
  [[nodiscard]] const std::vector<Moment>& last_run();
  [[nodiscard]] const BlockState& block();
  [[nodiscard]] Names names();
  template <class F>
  void at(Moment moment, F&& f);

  Timeline& timeline_;
  Machine& machine_;
  const std::vector<isa::DType>& dtypes_;
  const std::vector<isa::Shape>& shapes_;
  reply::Cause& cause_;
  std::vector<TrailBranch>& branches_;
  const isa::Kernel& kernel_;
  isa::Statements statements_;
  const isa::Stmt* statement_ = nullptr;  ///< next statement of the machine; null at a block's end
  std::size_t launch_;
  std::uint64_t rank_;
  std::size_t values_ = 0;
};

}  // namespace tilevm::sim::debug
