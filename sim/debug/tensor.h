// Tensors as a debugger sees them: by name, at one moment, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "isa/inst/tensor_type.h"
#include "sim/debug/machine.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim::debug {

struct Element {
  std::uint64_t code = 0;
  bool undefined = false;
  friend bool operator==(const Element&, const Element&) = default;
};

/// A tile in registers: which bits of which thread hold which element.
struct RegisterPlace {
  const isa::RegisterType* type = nullptr;
  Tile tile;
};
/// A tensor in the shared memory of a block.
struct SharedPlace {
  const isa::SharedType* type = nullptr;
  std::uint64_t first_bit = 0;
};
/// A view of global memory, or a tensor of the run in row-major order.
struct GlobalPlace {
  GlobalView view;
  MemoryBuffer buffer;
};

/// A tensor that a name stands for now.
struct Tensor {
  std::string name;
  isa::VarId var;  ///< variable of the kernel; none for a tensor of the run
  isa::DType dtype;
  isa::Shape shape;
  std::variant<RegisterPlace, SharedPlace, GlobalPlace> place;

  /// The first bit of an element in shared memory or in its buffer; nothing if the element is
  /// outside of the buffer, or in registers.
  [[nodiscard]] std::optional<std::uint64_t> bit_of(const isa::Index& index) const;
  /// An element; `block` may be null for tensors of global memory.
  [[nodiscard]] Element read(const BlockState* block, const isa::Index& index) const;
  /// An element of a register tile: the element at a place of a thread.
  [[nodiscard]] Element read(const BlockState& block, std::size_t thread, std::size_t place) const;
  /// Writes an element, in all of its replicas, and makes it defined. Pages of global memory are
  /// saved before.
  void write(BlockState* block, WriteLog& log, const isa::Index& index, std::uint64_t code) const;
};

/// A scalar variable, now.
struct ScalarVariable {
  std::string name;
  isa::Scalar value;
};

using Named = std::variant<Tensor, ScalarVariable>;

/// Looks up names at the moment where a machine is.
class Names {
 public:
  /// `resident` is the block in focus, if there is one.
  Names(Machine& machine, std::optional<std::size_t> resident,
        const std::vector<isa::Shape>& shapes, const std::vector<isa::DType>& dtypes)
      : machine_(machine), resident_(resident), shapes_(shapes), dtypes_(dtypes) {}

  /// What a name stands for: the variable of that name that was written last, else a tensor of the
  /// run; "$name" is always a tensor of the run. Error (usage): nothing has that name, or the
  /// variable has no value yet.
  [[nodiscard]] Result<Named> find(const std::string& name) const;
  [[nodiscard]] Result<Tensor> tensor(const std::string& name) const;
  /// A variable of the kernel as a tensor; nothing if it is none, or a view that is not made yet.
  [[nodiscard]] std::optional<Tensor> tensor_of(isa::VarId var) const;
  /// The variable of a name that was written last.
  [[nodiscard]] std::optional<isa::VarId> variable(const std::string& name) const;
  /// Whether a variable of the block has a value by now; parameters always have.
  [[nodiscard]] bool has_value(isa::VarId var) const;
  /// The moment after a variable was written last in this block; 0 if it was not.
  [[nodiscard]] Moment last_written(isa::VarId var) const;
  /// The variables of the block that have a value, in the order of the text.
  [[nodiscard]] std::vector<isa::VarId> live() const;
  /// The slot of the scalar variable that a name stands for (find).
  [[nodiscard]] std::size_t slot_of(const std::string& name) const;
  /// The name of a variable in messages: its own, or "Cast(..)" for that of a nested call.
  [[nodiscard]] std::string name_of(isa::VarId var) const;

 private:
  [[nodiscard]] const BlockState* block() const;
  [[nodiscard]] Named value_of(isa::VarId var, const std::string& name) const;
  [[nodiscard]] Error unknown(const std::string& name) const;
  [[nodiscard]] std::optional<Tensor> run_tensor(const std::string& name) const;

  Machine& machine_;
  std::optional<std::size_t> resident_;
  const std::vector<isa::Shape>& shapes_;  // of the run's tensors, by buffer
  const std::vector<isa::DType>& dtypes_;
};

}  // namespace tilevm::sim::debug
