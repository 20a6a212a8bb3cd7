#include "sim/shadow/shadow_access.h"

#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::sim {
namespace {

/// The shadow value of element (t, i); empty outside the view or the buffer.
ShadowSlot slot_at(const GlobalAccess& access, TileInView& cursor, std::size_t t, std::size_t i) {
  const ShadowMemory* memory = cursor.buffer().shadow;
  if (memory == nullptr || !cursor.locate(t, i) || !cursor.in_buffer()) return {};
  return memory->load(access.dtype, cursor.bit());
}

/// Sets an element's shadow value. An empty slot counts as the value of the element's code.
void set_register(const Tile& tile, const isa::DType& type, std::size_t t, std::size_t i,
                  ShadowSlot slot, BlockState& state) {
  const std::optional<double> value = slot.value();
  state.shadow.at(tile, t, i) = value ? *value : value_at(type, tile, state.registers, t, i);
}

/// The index in ShadowValues::shared of an element of a thread.
std::size_t shared_slot(const TableLookup& runs, const SharedAccess& access, std::size_t t,
                        std::size_t i) {
  const RunTable& table = *runs.table;
  const std::uint64_t bit =
      runs.base_bits - access.tensor_bits + table.run_bits[t * table.runs + i / table.run_elements];
  return access.shadow + bit / access.tile.bits + i % table.run_elements;
}

/// Stores value(thread, place) for the first holder of each element.
template <class Value>
void store_shared(const TableLookup& runs, const SharedAccess& access, Context& context,
                  Value&& value) {
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      context.state.shadow.shared[shared_slot(runs, access, t, i)] = value(t, i);
    }
  }
}

/// What a slot of memory becomes, by the element's code so far.
ShadowSlot combined(isa::ReduceOp op, const isa::DType& type, const ShadowSlot& slot,
                    std::uint64_t code, double value) {
  const isa::RealFunction2 f = isa::unrounded(isa::combination(op), type);
  if (f == nullptr) return {};
  return ShadowSlot(f(slot.value().value_or(isa::to_double(isa::decode(type, code))), value));
}

}  // namespace

void combine_shadow(const GlobalAccess& access, TileInView& cursor, Context& context) {
  ShadowMemory* memory = cursor.buffer().shadow;
  if (memory == nullptr) return;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!cursor.locate(t, i) || !cursor.in_buffer()) continue;
      const std::uint64_t code =
          isa::get_bits(cursor.buffer().data, cursor.bit(), access.tile.bits);
      memory->store(
          access.dtype, cursor.bit(),
          combined(*access.combines, access.dtype, memory->load(access.dtype, cursor.bit()), code,
                   context.state.shadow.at(access.tile, t, i)));
    }
  }
}

void combine_shadow(const TableLookup& runs, const SharedAccess& access, Context& context) {
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::size_t number = shared_slot(runs, access, t, i);
      ShadowSlot& slot = context.state.shadow.shared[number];
      const std::uint64_t bit = access.tensor_bits + (number - access.shadow) * access.tile.bits;
      const std::uint64_t code =
          isa::get_bits(context.state.shared.bytes.data(), bit, access.tile.bits);
      slot = combined(*access.combines, access.dtype, slot, code,
                      context.state.shadow.at(access.tile, t, i));
    }
  }
}

void load_shadow(const GlobalAccess& access, TileInView& cursor, Context& context) {
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      set_register(access.tile, access.dtype, t, i, slot_at(access, cursor, t, i), context.state);
    }
  }
}

void store_shadow(const GlobalAccess& access, TileInView& cursor, Context& context) {
  ShadowMemory* memory = cursor.buffer().shadow;
  if (memory == nullptr) return;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!cursor.locate(t, i) || !cursor.in_buffer()) continue;
      memory->store(access.dtype, cursor.bit(),
                    ShadowSlot(context.state.shadow.at(access.tile, t, i)));
    }
  }
}

std::vector<ShadowSlot> read_shadow(const GlobalAccess& access, TileInView& cursor) {
  std::vector<ShadowSlot> slots(access.tile.locals);  // one thread holds all
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = slot_at(access, cursor, 0, i);
  return slots;
}

void load_shadow(const TableLookup& runs, const SharedAccess& access, Context& context) {
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const ShadowSlot slot = context.state.shadow.shared[shared_slot(runs, access, t, i)];
      set_register(access.tile, access.dtype, t, i, slot, context.state);
    }
  }
}

void store_shadow(const TableLookup& runs, const SharedAccess& access, Context& context) {
  store_shared(runs, access, context, [&](std::size_t t, std::size_t i) {
    return ShadowSlot(context.state.shadow.at(access.tile, t, i));
  });
}

void store_shadow(const TableLookup& runs, const SharedAccess& access,
                  const std::vector<ShadowSlot>& slots, Context& context) {
  store_shared(runs, access, context, [&](std::size_t, std::size_t i) { return slots[i]; });
}

}  // namespace tilevm::sim
