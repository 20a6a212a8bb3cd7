// Type rules: what an instruction requires of its operands and what it gives.
//
// A rule assumes that every operand names a variable of the right kind (check_operands) and reports
// every other error with a location and a way out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/inst/instruction_set.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// What a rule may ask and how it reports.
class RuleContext {
 public:
  RuleContext(const Kernel& kernel, const Target& target, Diagnostics& diagnostics, Span statement,
              const std::vector<Span>& slot_spans)
      : kernel_(kernel),
        target_(target),
        diagnostics_(diagnostics),
        statement_(statement),
        slot_spans_(slot_spans) {}

  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const Target& target() const { return target_; }

  [[nodiscard]] const Variable& variable(VarId var) const { return kernel_.variable(var); }
  [[nodiscard]] const RegisterType& type(RegisterOperand operand) const;
  [[nodiscard]] const SharedType& type(SharedOperand operand) const;
  [[nodiscard]] const GlobalType& type(GlobalOperand operand) const;
  [[nodiscard]] const PointerType& type(PointerOperand operand) const;
  [[nodiscard]] const BarrierType& type(BarrierOperand operand) const;
  /// "`acc`".
  [[nodiscard]] std::string name(VarId var) const { return "`" + variable(var).name + "`"; }

  /// The type that the statement's `out=` or target already has, if it is a register tile.
  const RegisterType* expected = nullptr;

  /// Reports an error at a slot (its position in the schema), or at the whole statement.
  Diagnostic& error(Code code, std::size_t slot, std::string message) const;
  Diagnostic& error(Code code, std::string message) const;
  [[nodiscard]] Span span(std::size_t slot) const;

 private:
  const Kernel& kernel_;
  const Target& target_;
  Diagnostics& diagnostics_;
  Span statement_;
  const std::vector<Span>& slot_spans_;
};

/// The types of the results; nothing after a report.
using RuleResult = std::optional<std::vector<Type>>;

/// The rule of an instruction whose operands have the right kinds: a specialisation for each, in
/// the source that is named like its header. The template itself has no definition, so an
/// instruction without a rule does not link.
template <class Inst>
RuleResult result_types(const Inst& inst, const RuleContext& context);

// Families.
RuleResult binary_types(BinaryOp op, RegisterOperand a, RegisterOperand b, const RuleContext&);
RuleResult unary_types(UnaryOp op, RegisterOperand a, const RuleContext&);
template <BinaryOp op>
RuleResult result_types(const Binary<op>& inst, const RuleContext& context) {
  return binary_types(op, inst.a, inst.b, context);
}
template <UnaryOp op>
RuleResult result_types(const Unary<op>& inst, const RuleContext& context) {
  return unary_types(op, inst.a, context);
}

/// Checks the kinds of the operands, then applies the instruction's rule.
RuleResult infer(const Instruction& instruction, const RuleContext& context);

/// The position of a tile in a tensor of `tensor_rank` dimensions: entry i gives, for
/// tensor dimension i, the offset and the tile dimension along it (or -1). Missing
/// offsets start the tile at zero, aligned with the last dimensions. No dimension of the tile is
/// along `indexed`, where an index says where its elements are (tile_move.h).
struct TilePlacement {
  struct Dimension {
    Expr offset;
    int tile_dim = -1;
  };
  std::vector<Dimension> dimensions;
};
[[nodiscard]] TilePlacement place_tile(const std::optional<OffsetList>& offset, int tensor_rank,
                                       int tile_rank, std::optional<int> indexed = {});

}  // namespace tilevm::isa
