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
std::size_t shared_slot(const ResolvedAccess& resolved, std::size_t t, std::size_t i) {
  const SharedAccess& access = *resolved.access;
  return access.shadow + (resolved.bit_of(t, i) - access.tensor_bits) / access.tile.bits;
}

/// Calls f(thread, place) for the first holder of each element.
template <class Access, class F>
void for_each_holder(const Access& access, F&& f) {
  for (const std::int32_t first : access.parts->first_threads) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) f(static_cast<std::size_t>(first), i);
  }
}

/// Stores value(thread, place) for the first holder of each element.
template <class Value>
void store_shared(const ResolvedAccess& to, Context& context, Value&& value) {
  for_each_holder(*to.access, [&](std::size_t t, std::size_t i) {
    context.state.shadow.shared[shared_slot(to, t, i)] = value(t, i);
  });
}

/// The shadow in global memory, where the view and the buffer have the element, at which the cursor
/// is then.
template <class Value>
void store_global(const GlobalAccess& access, TileInView& cursor, Value&& value) {
  ShadowMemory* memory = cursor.buffer().shadow;
  if (memory == nullptr) return;
  for_each_holder(access, [&](std::size_t t, std::size_t i) {
    if (!cursor.locate(t, i) || !cursor.in_buffer()) return;
    memory->store(access.dtype, cursor.bit(), value(t, i));
  });
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
  store_global(access, cursor, [&](std::size_t t, std::size_t i) {
    const MemoryBuffer& buffer = cursor.buffer();
    return combined(*access.combines, access.dtype, buffer.shadow->load(access.dtype, cursor.bit()),
                    isa::get_bits(buffer.data, cursor.bit(), access.tile.bits),
                    context.state.shadow.at(access.tile, t, i));
  });
}

void combine_shadow(const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  store_shared(to, context, [&](std::size_t t, std::size_t i) {
    const unsigned bits = access.tile.bits;
    return combined(*access.combines, access.dtype,
                    context.state.shadow.shared[shared_slot(to, t, i)],
                    isa::get_bits(context.state.shared.bytes.data(), to.bit_of(t, i), bits),
                    context.state.shadow.at(access.tile, t, i));
  });
}

void load_shadow(const GlobalAccess& access, TileInView& cursor, Context& context) {
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      set_register(access.tile, access.dtype, t, i, slot_at(access, cursor, t, i), context.state);
    }
  }
}

void store_shadow(const GlobalAccess& access, TileInView& cursor, Context& context) {
  store_global(access, cursor, [&](std::size_t t, std::size_t i) {
    return ShadowSlot(context.state.shadow.at(access.tile, t, i));
  });
}

void store_shadow(const GlobalAccess& access, TileInView& cursor,
                  const std::vector<ShadowSlot>& slots) {
  store_global(access, cursor, [&](std::size_t, std::size_t i) { return slots[i]; });
}

std::vector<ShadowSlot> read_shadow(const GlobalAccess& access, TileInView& cursor) {
  std::vector<ShadowSlot> slots(access.tile.locals);  // one thread holds all
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = slot_at(access, cursor, 0, i);
  return slots;
}

void load_shadow(const ResolvedAccess& from, Context& context) {
  const SharedAccess& access = *from.access;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const ShadowSlot slot = context.state.shadow.shared[shared_slot(from, t, i)];
      set_register(access.tile, access.dtype, t, i, slot, context.state);
    }
  }
}

std::vector<ShadowSlot> read_slots(const ResolvedAccess& from, const Context& context) {
  std::vector<ShadowSlot> slots(from.access->tile.locals);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i] = context.state.shadow.shared[shared_slot(from, 0, i)];
  }
  return slots;
}

void read_shadow(const ResolvedAccess& from, ShadowPairs& values, Context& context) {
  const SharedAccess& access = *from.access;
  values.own.resize(access.tile.locals);
  values.shadow.resize(access.tile.locals);
  for (std::size_t i = 0; i < access.tile.locals; ++i) {
    const std::uint64_t code =
        isa::get_bits(context.state.shared.bytes.data(), from.bit_of(0, i), access.tile.bits);
    values.own[i] = value_of(access.dtype, code);
    const ShadowSlot& slot = context.state.shadow.shared[shared_slot(from, 0, i)];
    values.shadow[i] = slot.value().value_or(values.own[i]);
  }
}

void store_shadow(const ResolvedAccess& to, Context& context) {
  store_shared(to, context, [&](std::size_t t, std::size_t i) {
    return ShadowSlot(context.state.shadow.at(to.access->tile, t, i));
  });
}

void store_shadow(const ResolvedAccess& to, const std::vector<ShadowSlot>& slots,
                  Context& context) {
  store_shared(to, context, [&](std::size_t, std::size_t i) { return slots[i]; });
}

}  // namespace tilevm::sim
