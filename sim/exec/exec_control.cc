// Instructions that order threads and blocks, or end a block.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "isa/inst/control.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "sim/access/semaphore.h"
#include "sim/checks/block_races.h"
#include "sim/checks/happens_before.h"
#include "sim/checks/redundancy.h"
#include "sim/exec/async_copy.h"
#include "sim/exec/global_moves.h"
#include "sim/exec/semantics.h"
#include "sim/state/shadow_values.h"

namespace tilevm::sim {
namespace {

/// One execution of a semaphore access: the element's address and the instruction's value.
struct Turn {
  const SemaphoreAccess& access;
  MemoryAddress address{};
  Coordinates index{};
  std::uint32_t value = 0, compare = 0;
};

template <class Inst>
std::shared_ptr<const SemaphoreAccess> make_access(const Inst& inst,
                                                   const Preparation& preparation) {
  const isa::DType& type = preparation.global_type(inst.view.var).dtype;
  Tile tile;
  tile.threads = tile.locals = 1;
  tile.bits = semaphore_bits;
  tile.thread_bytes = semaphore_bits / 8;
  const auto code_of = [&](const isa::ScalarOperand& operand) {
    return ScalarCode(
        isa::Expr::convert(operand.value, *isa::semaphore_kind(type), operand.value.span()));
  };
  std::optional<ScalarCode> compare;
  if constexpr (requires { inst.compare; }) compare = code_of(inst.compare);
  return std::make_shared<const SemaphoreAccess>(
      SemaphoreAccess{make_global_access(inst.view.var, {}, inst.offset, tile,
                                         preparation.tables.parts(isa::Shape{}), preparation),
                      code_of(inst.value), std::move(compare), Inst::schema.description.sync});
}

bool find_turn(Context& context, Turn& turn) {
  const GlobalAccess& element = turn.access.element;
  if (!find_element(element, context, turn.index, turn.address.bit)) return false;
  turn.address.buffer = static_cast<std::size_t>(context.state.views[element.view].buffer);
  std::uint64_t value = 0;
  if (!context.evaluate(turn.access.value, value)) return false;
  turn.value = static_cast<std::uint32_t>(value);
  if (turn.access.compare) {
    if (!context.evaluate(*turn.access.compare, value)) return false;
    turn.compare = static_cast<std::uint32_t>(value);
  }
  return true;
}

/// Whether the element has a defined value; false after a fault. A release needs one, too: a block
/// that already waits would compare undefined bits.
bool is_defined(const Turn& turn, Context& context) {
  const std::uint8_t* undefined = context.memory[turn.address.buffer].undefined;
  if (!context.settings.checks.uninitialized || undefined == nullptr ||
      isa::get_bits(undefined, turn.address.bit, semaphore_bits) == 0) {
    return true;
  }
  const GlobalAccess& element = turn.access.element;
  const auto rank = context.state.views[element.view].rank;
  context.fail(Code::uninitialized_read, element.span,
               fmt::format("`{}` meets `{}[{}]`, which has no defined value", element.mnemonic,
                           element.view_name,
                           fmt::join(turn.index.begin(), turn.index.begin() + rank, ", ")));
  add_note(context.fault->diagnostic, "a workspace for semaphores and counters needs `init=0`",
           element.view_span);
  return false;
}

/// Whether no other index of the view is the same element; false after a fault.
bool is_alone(const Turn& turn, Context& context) {
  const GlobalAccess& element = turn.access.element;
  if (context.settings.uses == nullptr) return true;
  const auto other = context.settings.turns->other_index(element.view, turn.address, turn.index);
  if (!other) return true;
  const auto rank = context.state.views[element.view].rank;
  const auto name = [&](const Coordinates& index) {
    return fmt::format("`{}[{}]`", element.view_name,
                       fmt::join(index.begin(), index.begin() + rank, ", "));
  };
  context.fail(
      Code::race, element.span,
      fmt::format("`{}` meets {}, which is the same element of memory as {}: two semaphores "
                  "are one",
                  element.mnemonic, name(turn.index), name(*other)));
  add_note(context.fault->diagnostic, "the strides of this view must keep its elements apart",
           element.view_span);
  return false;
}

void store(const Turn& turn, std::uint32_t value, Context& context) {
  const MemoryBuffer& buffer = context.memory[turn.address.buffer];
  const GlobalAccess& element = turn.access.element;
  tell_observer({&element, context.state.views[element.view], {turn.index}, GlobalUse::release},
                context);
  isa::put_bits(buffer.data, turn.address.bit, semaphore_bits, value);
  if (buffer.shadow != nullptr) {
    buffer.shadow->store(element.dtype, turn.address.bit,
                         ShadowSlot(value_of(element.dtype, value)));
  }
  context.settings.turns->stored(turn.address, {context.state.order, element.statement, value});
}

/// Begins a new segment of the block, in which pending copies still read; false after a race.
bool begin_segment(Context& context) {
  ++context.state.turns;
  const auto& copies = context.state.shared.copies;
  return std::all_of(copies.begin(), copies.end(), [&](const PendingCopy& copy) {
    return copy.stage == PendingCopy::Stage::retired || keep_reading(copy, context);
  });
}

/// The block passes: a barrier for its threads, and a turn in the happens-before order of blocks,
/// which found a value and leaves one.
bool pass(const Turn& turn, std::uint32_t before, std::uint32_t after, Context& context) {
  end_counterfactuals(context);
  complete_barrier(context);
  if (context.settings.observers.happens_before != nullptr) {
    context.settings.observers.happens_before->take_turn(
        {.block = context.state.order}, turn.address, turn.access.sync,
        {&turn.access.element, turn.index, before, after});
  }
  return begin_segment(context);
}

/// Repeats a turn in a replay; false after a race.
bool replay(const Turn& turn, GlobalUse use, Context& context) {
  const GlobalAccess& element = turn.access.element;
  const TouchedIntervals pieces{.bits = {{turn.address.bit, turn.address.bit + semaphore_bits}}};
  return context.settings.observers.replay->check(
             {&element, context.state.views[element.view], {turn.index}, use}, pieces, context) &&
         begin_segment(context);
}

/// An atomic instruction, which gives what the element was; `after` says what it becomes, nothing
/// if the element is left alone. Without a store nothing is released.
template <class Inst, class After>
Action update_element(const Inst& inst, const Preparation& preparation, After after) {
  return [access = make_access(inst, preparation), after,
          result = static_cast<std::size_t>(preparation.result().index)](Context& context) {
    Turn turn{*access};
    if (!find_turn(context, turn)) return false;
    const BlockState& state = context.state;
    std::uint64_t& scalar = context.state.scalars[result];
    if (context.settings.observers.replay != nullptr) {
      scalar = context.settings.turns->given(state.order, state.turns);
      return replay(turn, GlobalUse::release, context);
    }
    if (!is_defined(turn, context) || !is_alone(turn, context)) return false;
    const std::uint32_t before = load_semaphore(turn.address, context.memory);
    scalar = access->value.kind() == isa::ScalarKind::i32
                 ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(before)})
                 : before;
    if (context.settings.observers.happens_before != nullptr) {
      context.settings.turns->gave(state.order, state.turns, scalar);
    }
    const std::optional<std::uint32_t> stored = after(turn, before);
    if (!stored) return pass(turn, before, before, context);
    store(turn, *stored, context);
    return pass(turn, before, *stored, context);
  };
}

}  // namespace

template <>
Action prepare(const isa::Synchronize&, const Preparation& preparation) {
  return [number = preparation.new_barrier()](Context& context) {
    synchronize(number, context);
    return true;
  };
}

/// If the element does not have the value, the block waits and runs this instruction again.
template <>
Action prepare(const isa::LockSemaphore& inst, const Preparation& preparation) {
  return [access = make_access(inst, preparation)](Context& context) {
    Turn turn{*access};
    if (!find_turn(context, turn)) return false;
    if (context.settings.observers.replay != nullptr) return replay(turn, GlobalUse::lock, context);
    if (!is_defined(turn, context) || !is_alone(turn, context)) return false;
    if (load_semaphore(turn.address, context.memory) != turn.value) {
      context.state.wait = Wait{access.get(), turn.address, turn.index, turn.value};
      return true;
    }
    context.state.wait.reset();
    return pass(turn, turn.value, turn.value, context);
  };
}

template <>
Action prepare(const isa::ReleaseSemaphore& inst, const Preparation& preparation) {
  return [access = make_access(inst, preparation)](Context& context) {
    Turn turn{*access};
    if (!find_turn(context, turn)) return false;
    if (context.settings.observers.replay != nullptr)
      return replay(turn, GlobalUse::release, context);
    if (!is_defined(turn, context) || !is_alone(turn, context)) return false;
    const std::uint32_t before = load_semaphore(turn.address, context.memory);
    store(turn, turn.value, context);
    return pass(turn, before, turn.value, context);
  };
}

template <>
Action prepare(const isa::AtomicAdd& inst, const Preparation& preparation) {
  return update_element(inst, preparation, [](const Turn& turn, std::uint32_t before) {
    return std::optional(before + turn.value);
  });
}

template <>
Action prepare(const isa::AtomicCombine& inst, const Preparation& preparation) {
  const isa::DType type = preparation.global_type(inst.view.var).dtype;
  return update_element(
      inst, preparation,
      [type, op = isa::combination(inst.op)](const Turn& turn, std::uint32_t before) {
        return std::optional(static_cast<std::uint32_t>(isa::apply(op, type, before, turn.value)));
      });
}

template <>
Action prepare(const isa::AtomicExchange& inst, const Preparation& preparation) {
  return update_element(inst, preparation,
                        [](const Turn& turn, std::uint32_t) { return std::optional(turn.value); });
}

template <>
Action prepare(const isa::AtomicCompareExchange& inst, const Preparation& preparation) {
  return update_element(inst, preparation, [](const Turn& turn, std::uint32_t before) {
    return before == turn.compare ? std::optional(turn.value) : std::nullopt;
  });
}

/// No record has this number, so the block has ended.
template <>
Action prepare(const isa::Exit&, const Preparation&) {
  return [](Context& context) {
    context.state.next = std::numeric_limits<std::size_t>::max();
    return true;
  };
}

}  // namespace tilevm::sim
