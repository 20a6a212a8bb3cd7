// A kernel under construction: what exists at the current statement, and what may be done with it.
//
// The builder keeps what makes a program valid beyond its types: which tiles have defined elements,
// which memory was touched since the last barrier, which part of global memory belongs to the
// block. Types are those of the type rules (isa/rules): an instruction that they refuse is a defect
// of the generator, and is reported as such.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isa/numeric/target.h"
#include "isa/program/program.h"
#include "vm/fuzz/draw.h"

namespace tilevm::vm::fuzz {

/// A register tile whose elements all have values.
struct Tile {
  isa::VarId var;
  isa::RegisterType type;
};

struct ScalarVariable {
  isa::VarId var;
  isa::ScalarKind kind = isa::ScalarKind::i32;
  bool assignable = true;  ///< false: a loop counts with it
};

/// A view that the kernel only reads.
struct InputView {
  isa::VarId var;
  isa::DType dtype;
  isa::Shape extents;
};

/// Memory that a block both writes and reads: a shared tensor, or its part of a workspace.
struct OwnMemory {
  isa::VarId var;
  isa::DType dtype;
  isa::Shape shape;  ///< shape of the block's part
  bool shared = false;
  bool defined = false;                ///< every element has a value
  bool read = false, written = false;  ///< whether it was read or written since the last barrier
};

/// What a kernel is launched with, one entry a parameter.
using LaunchArgument = std::variant<isa::PipelineTensor, isa::Scalar>;

struct FinishedKernel {
  isa::Kernel kernel;
  std::vector<LaunchArgument> arguments;
  std::string defect;  ///< empty if every instruction passed its type rule
};

class KernelBuilder {
 public:
  KernelBuilder(Draw& draw, const isa::Target& target, std::string name, bool whole_warps);

  Draw& draw() { return draw_; }
  [[nodiscard]] const isa::Target& target() const { return target_; }
  [[nodiscard]] std::int64_t threads() const { return threads_; }
  [[nodiscard]] bool threads_are_given() const { return kernel_.threads.has_value(); }
  [[nodiscard]] const std::vector<std::int64_t>& grid() const { return grid_; }
  [[nodiscard]] std::int64_t blocks() const;
  /// Whether the current statement stands in a loop or a branch.
  [[nodiscard]] int depth() const { return static_cast<int>(scopes_.size()); }
  [[nodiscard]] int loops() const { return loops_; }

  // --- Statements ---

  /// Adds an instruction and gives its first result, if it has one. With `into` the result is
  /// written into that variable. A defect gives an invalid id.
  isa::VarId add(isa::Instruction inst, std::optional<isa::VarId> into = {});
  /// Adds an instruction with several results; gives all of them, or nothing.
  std::vector<isa::VarId> add_all(isa::Instruction inst);
  /// Adds an instruction at the begin of the kernel: of instructions that refer to parameters
  /// alone.
  isa::VarId add_first(isa::Instruction inst);
  void add_statement(decltype(isa::Stmt::node) node);
  /// Adds an element-wise or similar instruction; now and then its result replaces a tile.
  void compute(const isa::Instruction& inst);
  /// Begins a nested block, and ends it; what it declared is gone.
  void open();
  isa::Block close();
  void enter_loop() { ++loops_; }
  void leave_loop() { --loops_; }

  // --- Scalars ---

  isa::VarId declare_scalar(isa::Expr value, bool assignable = true);
  [[nodiscard]] isa::Expr use(const ScalarVariable& scalar) const;
  [[nodiscard]] isa::Expr block_index(std::size_t dim) const;
  /// The number of the block, x fastest.
  [[nodiscard]] isa::Expr block_number() const;
  [[nodiscard]] const std::vector<ScalarVariable>& scalars() const { return scalars_; }
  void add_scalar(ScalarVariable scalar) { scalars_.push_back(scalar); }
  isa::VarId new_variable(char prefix, isa::Type type);
  /// Any scalar value; no operation in it can fault.
  isa::Expr any_scalar(int depth);
  isa::Expr any_integer(int depth);
  /// A condition that is not known before the run.
  isa::Expr condition();
  /// A constant, or a parameter that has this value.
  isa::Expr known(std::int64_t value);
  /// An integer from `first` to `last`, perhaps known only at run time.
  isa::Expr within(std::int64_t first, std::int64_t last);

  // --- Tiles ---

  [[nodiscard]] const std::vector<Tile>& tiles() const { return tiles_; }
  void add_tile(isa::VarId var);
  /// A tile of this type: one that exists, or one made for it.
  Tile tile(const isa::DType& dtype, const isa::RegisterLayout& layout);
  /// Any tile of at most so many bits a thread.
  Tile any_tile(std::int64_t bits_per_thread = 2048);
  /// A layout that other tiles have, or a new one.
  isa::RegisterLayout some_layout();
  /// A tile of any type and layout.
  Tile some_tile();
  isa::DType some_type();
  Tile load(const isa::DType& dtype, const isa::RegisterLayout& layout);
  Tile constant(const isa::DType& dtype, const isa::RegisterLayout& layout, isa::Expr value);

  // --- Memory ---

  /// Whether the extents of a view are known before the run.
  [[nodiscard]] bool has_constant_extents(isa::VarId view) const {
    const auto* type = std::get_if<isa::GlobalType>(&kernel_.variable(view).type);
    return type != nullptr && type->static_shape().has_value();
  }
  /// A view of an input in which a tile lies, at least in part.
  InputView input_view(const isa::DType& dtype, const isa::Shape& tile);
  /// Where a tile of this shape begins in a view: inside, at an edge, or outside.
  isa::OffsetList edge_offset(const isa::Shape& extents, const isa::Shape& tile);
  /// Where it begins in a tensor inside of which it must lie.
  isa::OffsetList inner_offset(const isa::Shape& extents, const isa::Shape& tile);
  /// Stores a tile in an output of its own.
  void store(const Tile& tile);
  void synchronize();
  /// Barriers that other instructions are.
  void note_barrier();
  std::vector<OwnMemory>& memories() { return memories_; }
  void before_read(OwnMemory& memory);
  void before_write(OwnMemory& memory);
  /// The entries of an offset that select the block's part of a tensor.
  [[nodiscard]] std::vector<isa::OffsetList::Entry> own_part() const;
  /// A random layout for a tensor that is written, and the elements that it takes.
  std::pair<std::optional<isa::ViewLayout>, std::int64_t> written_layout(const isa::Shape& shape);
  /// A new output of this type, with these extents for every block; gives the view.
  isa::VarId output_view(const isa::DType& dtype, const isa::Shape& extents);
  /// A view of a new output with exactly these extents.
  isa::VarId plain_output(const isa::DType& dtype, const isa::Shape& extents);

  /// Whether a block may have ended: then no other block may wait for it.
  bool may_have_ended = false;

  /// The states of memory before a branch, and their union after its arms.
  [[nodiscard]] std::vector<OwnMemory> memory_state() const { return memories_; }
  void set_memory_state(const std::vector<OwnMemory>& state);
  void join_memory_state(const std::vector<OwnMemory>& other);
  void assume_memory_touched();

  FinishedKernel finish();

 private:
  struct Scope {
    std::size_t tiles, scalars, views;
  };
  std::vector<isa::VarId> append(isa::Block& block, isa::Instruction inst,
                                 std::optional<isa::VarId> into);
  isa::VarId parameter(std::string name, isa::Type type, LaunchArgument argument);
  isa::VarId pointer(const isa::DType& dtype, std::int64_t elements,
                     isa::PipelineTensor::Role role);
  isa::Expr leaf();
  std::optional<isa::CacheHint> some_cache_hint();

  Draw& draw_;
  isa::Target target_;
  isa::Kernel kernel_;
  std::vector<LaunchArgument> arguments_;
  std::vector<std::int64_t> grid_;
  std::int64_t threads_ = 32;
  std::string prefix_;  ///< prefix of the names of the kernel's tensors
  isa::Block first_;    ///< statements before all others
  std::vector<isa::Block> blocks_;
  std::vector<Scope> scopes_;
  std::vector<Tile> tiles_;
  std::vector<ScalarVariable> scalars_;
  std::vector<isa::VarId> block_indices_;
  std::vector<InputView> views_;
  std::vector<OwnMemory> memories_;
  struct InputTensor {
    isa::VarId pointer;
    std::int64_t bits;
    isa::DType dtype;
  };
  std::vector<InputTensor> inputs_;
  struct OutputPart {
    isa::VarId view;
    isa::DType dtype;
    isa::Shape extents;
  };
  std::vector<OutputPart> outputs_;
  int loops_ = 0;
  int parameters_with_value_ = 0;
  std::string defect_;
};

}  // namespace tilevm::vm::fuzz
