// Binding of instruction calls: `Name(args, key=value)` becomes an isa::Instruction by walking the
// schema of the instruction that has that name. This code contains no mnemonic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::frontend {

/// A call whose operands are bound.
struct BoundCall {
  isa::Instruction inst;
  std::vector<Span> slot_spans;
  const ast::Argument* out = nullptr;  ///< `out=`, not resolved
};

/// A tile, or a scalar beside one.
struct TileOrScalar {
  isa::VarId tile{};
  std::optional<isa::Expr> scalar{};
};

/// Binds operands that are tensors, `StoreGlobal(Cast(acc, f16), ..)`: emits what they need before
/// the statement. Each gives nothing after a report.
class OperandBinder {
 public:
  OperandBinder() = default;
  OperandBinder(const OperandBinder&) = delete;
  OperandBinder& operator=(const OperandBinder&) = delete;
  virtual ~OperandBinder() = default;

  virtual std::optional<isa::VarId> operand(const ast::Expr& expr, Wanted wanted) = 0;
  virtual std::optional<TileOrScalar> tile_or_scalar(const ast::Expr& expr) = 0;
  /// A tile of one value, with the type of `like`.
  virtual std::optional<isa::VarId> splat(const isa::Expr& value, const ast::Expr& tree,
                                          isa::VarId like) = 0;
};

/// Whether an instruction has this name.
[[nodiscard]] bool is_instruction(std::string_view name);

/// Reports a call of what is neither an instruction nor a function, with the nearest name.
void report_unknown_call(const ast::Call& call, const BindScope& scope);

/// Every instruction's name.
[[nodiscard]] std::vector<std::string> instruction_names();

/// Binds a call of an instruction; reports unknown instructions and operands, missing and
/// superfluous ones, and operands of the wrong kind.
[[nodiscard]] std::optional<BoundCall> bind_call(const ast::Call& call, Span span,
                                                 const BindScope& scope, OperandBinder& operands);

}  // namespace tilevm::frontend
