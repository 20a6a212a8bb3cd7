// Binding of instruction calls: `Name(args, key=value)` becomes an isa::Instruction by walking the
// schema of the instruction that has that name. This code contains no mnemonic.
#pragma once

#include <functional>
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

/// Binds an operand that is a tensor, `StoreGlobal(Cast(acc, f16), ..)`: emits what it needs before
/// the statement and gives its variable; nothing after a report.
using TensorOperand = std::function<std::optional<isa::VarId>(const ast::Expr&)>;

/// Whether an instruction has this name.
[[nodiscard]] bool is_instruction(std::string_view name);

/// Reports a call of what is neither an instruction nor a function, with the nearest name.
void report_unknown_call(const ast::Call& call, const BindScope& scope);

/// Every instruction's name.
[[nodiscard]] std::vector<std::string> instruction_names();

/// Binds a call of an instruction; reports unknown instructions and operands, missing and
/// superfluous ones, and operands of the wrong kind.
[[nodiscard]] std::optional<BoundCall> bind_call(const ast::Call& call, Span span,
                                                 const BindScope& scope,
                                                 const TensorOperand& tensor);

}  // namespace tilevm::frontend
