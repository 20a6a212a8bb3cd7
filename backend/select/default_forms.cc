#include "backend/select/default_forms.h"

#include <algorithm>
#include <variant>

#include "backend/select/trip_counts.h"

namespace tilevm::backend {
namespace {

// --- Tiles that move
// ------------------------------------------------------------------------------

Form select_move(const isa::RegisterMove& move, const isa::AccessPlan& plan) {
  TileAccess access{.tile = move.tile, .tensor = move.tensor, .plan = &plan, .stores = move.stores};
  access.cache = move.cache.value_or(isa::CacheHint::normal);
  if (move.indexed) access.index = move.indexed->index;
  if (move.combines) return CombiningAccesses{access, *move.combines};
  switch (plan.form) {
    case isa::AccessForm::bits:
      return ElementAccesses{access};
    case isa::AccessForm::matrix:
      return MatrixAccesses{access};
    case isa::AccessForm::bytes:
    case isa::AccessForm::copy:
      break;
  }
  return WideAccesses{access};
}

Form select_move(const isa::CopyMove&, const isa::AccessPlan& plan) {
  constexpr std::int64_t most_unrolled = 16;
  const bool unrolled = plan.count <= most_unrolled;
  if (plan.form == isa::AccessForm::copy) return PieceCopy{.plan = &plan, .unrolled = unrolled};
  return ElementCopy{.plan = &plan, .unrolled = unrolled};
}

Form form_of(const isa::Stmt& stmt, const Selection& selection) {
  if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) {
    return select_loop(*loop, selection);
  }
  const auto* inst = std::get_if<InstStmt>(&stmt.node);
  if (inst == nullptr) return Plain{};
  return std::visit(
      [&]<class Inst>(const Inst& instruction) -> Form {
        if constexpr (isa::moves_tile<Inst>()) {
          const isa::AccessPlan& plan = selection.info.access_plan(*inst);
          return std::visit([&](const auto& move) { return select_move(move, plan); },
                            isa::tile_move(instruction, *inst));
        } else if constexpr (HasForms<Inst>) {
          return select_form(instruction, *inst, selection);
        } else {
          return Plain{};
        }
      },
      inst->inst);
}

// --- Elements of tiles ---------------------------------------------------------------------------

/// Whether tv::binary_halves has the operation.
bool works_on_pairs(isa::BinaryOp op, const isa::DType& dtype) {
  const bool has = op == isa::BinaryOp::add || op == isa::BinaryOp::sub || op == isa::BinaryOp::mul;
  return has && (dtype == isa::f16 || dtype == isa::bf16);
}

bool has_pairs(const isa::RegisterType& tile) { return tile.layout.num_locals() % 2 == 0; }

}  // namespace

void select_default_forms(Selection& selection) {
  selection.statements.for_each([&](isa::StmtId id) {
    Form& form = selection.result.forms[id];
    if (std::holds_alternative<Plain>(form)) form = form_of(selection.statements[id], selection);
  });
}

Form select_form(const isa::CopyAsyncCommitGroup&, const InstStmt&, const Selection&) {
  return GroupCommit{};
}

/// The instruction takes only small numbers of pending groups. A smaller number, which waits for
/// more groups, is always correct.
Form select_form(const isa::CopyAsyncWaitGroup& inst, const InstStmt&, const Selection&) {
  constexpr std::int64_t most = 15;
  return GroupWait{.pending = std::min(most, inst.pending.value.constant_int().value_or(0))};
}

Form select_form(const isa::DotAsync&, const InstStmt& stmt, const Selection& selection) {
  return AsyncDot{&selection.info.dot_plan(stmt)};
}

Form select_form(const isa::DotAsyncWaitGroup& inst, const InstStmt&, const Selection&) {
  constexpr std::int64_t most = 7;  // PTX ISA, "wgmma.wait_group"
  return ProductWait{.pending = std::min(most, inst.pending.value.constant_int().value_or(0))};
}

Form select_form(const isa::Synchronize&, const InstStmt&, const Selection&) {
  return FullBarrier{};
}

Form select_form(const isa::Exit&, const InstStmt&, const Selection&) { return EarlyExit{}; }

Form select_binary(isa::BinaryOp op, isa::VarId a, isa::VarId b, const InstStmt& stmt,
                   const Selection& selection) {
  const isa::RegisterType& result = selection.tile(stmt.results[0]);
  const bool alike = selection.tile(a) == result && selection.tile(b) == result;
  const bool pairs = works_on_pairs(op, result.dtype);
  if (!alike && pairs && has_pairs(result)) return PairLoop{op, {a, b}};
  const bool hides = class_of(op) == isa::BinaryClass::quotient && selection.known.may_be_known(b);
  if (!alike || isa::is_comparison(op)) return ElementLoop{op, {a, b}, hides};
  using Unit = TileFunction::Unit;
  if (isa::is_bit_by_bit(op)) return TileFunction{op, {a, b}, Unit::word};
  return TileFunction{op, {a, b}, pairs ? Unit::pair : Unit::element, hides};
}

Form select_unary(isa::UnaryOp op, isa::VarId a, const Selection& selection) {
  const bool hides =
      class_of(op) == isa::UnaryClass::approximation && selection.known.may_be_known(a);
  return TileFunction{op, {a}, TileFunction::Unit::element, hides};
}

Form select_form(const isa::Fma& inst, const InstStmt& stmt, const Selection& selection) {
  const std::vector operands{inst.a.var, inst.b.var, inst.c.var};
  const bool pairs = selection.tile(inst.a.var).dtype.bits == 16;
  if (pairs && has_pairs(selection.tile(stmt.results[0]))) {
    return PairLoop{FusedMultiplyAdd{}, operands};
  }
  return ElementLoop{FusedMultiplyAdd{}, operands};
}

Form select_form(const isa::Where& inst, const InstStmt&, const Selection&) {
  return ElementLoop{ChooseElement{}, {inst.condition.var, inst.a.var, inst.b.var}};
}

Form select_product(const isa::ProductOperands& operands, const InstStmt& stmt,
                    const Selection& selection) {
  constexpr std::size_t most_unrolled = 4096;  // multiply-adds
  const isa::DotPlan& plan = selection.info.dot_plan(stmt);
  const isa::VarId result = stmt.results[0];
  const bool beside = result == operands.left || result == operands.right ||
                      result == operands.metadata || result == operands.left_scales ||
                      result == operands.right_scales;
  const DotForm dot{&plan, beside};
  switch (plan.method) {
    case isa::DotMethod::mma:
      return MmaDot{dot};
    case isa::DotMethod::bipolar:
      return BipolarDot{dot};
    case isa::DotMethod::chain:
      break;
  }
  return ChainDot{dot, plan.chain.a_row.size() * plan.chain.a_depth.size() <= most_unrolled};
}

namespace {

/// Whether one instruction (redux) combines elements over a warp: integers of 32 bits, whose order
/// does not matter, over all lanes. Over fewer lanes it is not faster than shuffles.
bool combines_warps(const isa::Reduce& inst, const isa::ReductionPlan& plan,
                    const isa::DType& element) {
  const isa::DType type = isa::accumulator(inst.op, element);
  const bool has_instruction = !isa::gives_index(inst.op) && inst.op != isa::ReduceOp::mul &&
                               (type == isa::i32 || type == isa::u32);
  std::int64_t lanes = 1;
  for (const isa::ReductionStep& step : plan.lanes) lanes *= step.size;
  return has_instruction && lanes == isa::warp_size;
}

}  // namespace

Form select_form(const isa::Reduce& inst, const InstStmt& stmt, const Selection& selection) {
  const isa::RegisterType& source = selection.tile(inst.src.var);
  CombinedElements form{
      isa::plan_reduction(source.layout, inst.dims.dims, selection.tile(stmt.results[0]).layout)};
  form.by_warp = combines_warps(inst, form.plan, source.dtype);
  return form;
}

Form select_form(const isa::Scan& inst, const InstStmt&, const Selection& selection) {
  return ScannedElements{
      isa::plan_scan(selection.tile(inst.src.var).layout, inst.dim.dims.front())};
}

}  // namespace tilevm::backend
