// DotSparse: the places of stored elements, which must ascend in each pair, and what the other
// engines of a product need of them. The products themselves are those of Dot (exec_dot.cc,
// exec_dot_integer.cc).
#include <algorithm>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/dot/dot_tiling.h"
#include "isa/inst/slot_table.h"
#include "sim/exec/dot_actions.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// The position of the slot of metadata.
std::size_t metadata_slot(const isa::Instruction& inst) {
  const auto slots = isa::entry_of(inst).slots;
  const auto found = std::ranges::find(slots, isa::ProductRole::metadata, &isa::SlotEntry::role);
  TILEVM_CHECK(found != slots.end(), "a sparse product without metadata");
  return static_cast<std::size_t>(found - slots.begin());
}

}  // namespace

SparsePlaces::SparsePlaces(isa::VarId metadata, const MatrixOrder& order,
                           const Preparation& preparation)
    : tile_(preparation.tile(metadata)),
      layout_(isa::as_batch(preparation.register_type(metadata).layout)),
      shape_(preparation.register_type(metadata).shape()),
      owners_(preparation.tables.owners(preparation.register_type(metadata), order)),
      rows_(order.column),
      mnemonic_(isa::mnemonic(preparation.stmt.inst)),
      name_(preparation.name(metadata)),
      span_(preparation.slot_span(metadata_slot(preparation.stmt.inst))) {}

/// Neighbours in a row are `rows_` apart.
bool SparsePlaces::gather(Context& context) const {
  std::vector<std::uint32_t>& places = context.scratch.codes_places;
  places.resize(owners_->size());
  sim::gather(*owners_, tile_.bits, context.state.registers.at(tile_.offset), places.data());
  if (!context.settings.checks.bounds) return true;
  bool ascend = true;
  for (std::size_t pair = 0; pair < places.size(); pair += 2 * rows_) {
    for (std::size_t m = 0; m < rows_; ++m) {
      ascend &= places[pair + m] < places[pair + rows_ + m];
    }
  }
  return ascend || report(context);
}

/// Undefined places get no report here: they make the result undefined.
bool SparsePlaces::report(Context& context) const {
  const UndefinedRegisters& undefined = context.state.undefined;
  const std::uint8_t* registers = context.state.registers.at(tile_.offset);
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  const auto look = [&](std::size_t t, std::size_t i) -> std::optional<Offender<Pair>> {
    const isa::Index index =
        layout_.element(static_cast<std::int64_t>(t), static_cast<std::int64_t>(i));
    if (index[2] % 2 != 0) return std::nullopt;
    const isa::Index next{index[0], index[1], index[2] + 1};
    const auto holder = static_cast<std::size_t>(layout_.first_thread_of(next));
    const auto place = static_cast<std::size_t>(layout_.local_of(next));
    if (undefined.marked(tile_) &&
        (undefined.element(tile_, t, i) || undefined.element(tile_, holder, place))) {
      return std::nullopt;
    }
    const auto at = [&](std::size_t thread, std::size_t local) {
      return code_at(registers + thread * tile_.thread_bytes,
                     static_cast<std::uint32_t>(local * tile_.bits), tile_.bits);
    };
    const Pair pair{at(t, i), at(holder, place)};
    if (pair.first < pair.second) return std::nullopt;
    return Offender<Pair>{isa::unravel(isa::ravel(index, layout_.shape()), shape_), pair};
  };
  std::vector<std::int32_t> holders;
  for (std::int64_t t = 0; t < layout_.num_threads(); ++t) {
    if (layout_.first_thread_of(layout_.element(t, 0)) == t) {
      holders.push_back(static_cast<std::int32_t>(t));
    }
  }
  const auto found = find_offenders(holders, tile_.locals, look);
  if (found.count == 0) return true;
  context.fail(
      Code::unordered_places, span_,
      fmt::format("`{}` takes pairs of places that do not ascend: {} of {}, first "
                  "{} and the next, which are {} and {}",
                  mnemonic_, found.count, layout_.size() / 2, element_text(name_, found.first),
                  found.detail.first, found.detail.second));
  context.fault->thread = static_cast<std::int64_t>(found.thread);
  return false;
}

template <>
Action prepare(const isa::DotSparse& inst, const Preparation& preparation) {
  const isa::DotPlan& plan = preparation.info.dot_plan(preparation.stmt);
  const auto rule = isa::mma_rule(preparation.program.target(), *plan.shape);
  TILEVM_CHECK(rule.has_value(), "a plan uses an instruction without a rule");
  const isa::ProductOperands product = isa::product_operands(inst);
  if (rule->method == isa::MmaMethod::integer) return prepare_integer_dot(product, preparation);
  return prepare_block_dot(product, plan, *rule, preparation);
}

template <>
UndefinedTransfer undefined_transfer(const isa::DotSparse& inst, const Preparation& preparation) {
  return product_transfer(isa::product_operands(inst), preparation);
}

template <>
ShadowFlow shadow_flow(const isa::DotSparse& inst, const Preparation& preparation) {
  return multiplied(isa::product_operands(inst), preparation);
}

template <>
DataFlow data_flow(const isa::DotSparse& inst, const Preparation& preparation) {
  return product_flow(isa::product_operands(inst), preparation);
}

}  // namespace tilevm::sim
