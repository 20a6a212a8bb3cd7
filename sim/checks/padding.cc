#include "sim/checks/padding.h"

#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "isa/type/bits.h"
#include "sim/access/copy_plan.h"
#include "sim/checks/neutral_elements.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// Where padding of an access comes from.
Origin origin_of(const GlobalAccess& access) { return {access.mnemonic, access.span, {}}; }

/// Whether an element of a tile in registers is marked, and changes what it is combined with.
bool matters(const Tile& tile, const isa::DType& type, std::optional<isa::ReduceOp> combines,
             std::size_t t, std::size_t i, const Context& context) {
  if (!context.state.undefined.element(tile, t, i)) return false;
  if (!combines) return true;
  const std::uint8_t* const thread =
      context.state.registers.at(tile.offset + t * tile.thread_bytes);
  return !is_neutral(isa::get_bits(thread, i * tile.bits, tile.bits), *combines, type);
}

bool report_padding(const GlobalAccess& access, const Offenders<NoDetail>& found,
                    Context& context) {
  const std::string_view verb = access.combines ? "combines" : "stores";
  context.fail(
      Code::padding_used, access.span,
      fmt::format("`{}` {} {} that depend{} on elements outside of a view, first {}",
                  access.mnemonic, verb, elements_text(found.count, access.view_name),
                  found.count == 1 ? "s" : "", element_text(access.view_name, found.first)));
  context.fault->thread = static_cast<std::int64_t>(found.thread);
  const Origin& origin = context.state.undefined.origin(access.tile);
  add_note(
      context.fault->diagnostic,
      fmt::format("this `{}` gave zeros for elements outside of its view: replace them by what "
                  "changes nothing before they are combined, such as `Where(inside, x, 0)` "
                  "before a sum and `Where(inside, x, -inf)` before a maximum",
                  origin.mnemonic),
      origin.span);
  return false;
}

}  // namespace

std::vector<std::uint8_t> padding_of(PlacedTile& placed) {
  auto& [access, cursor, strided] = placed;
  const Tile& tile = access.tile;
  std::vector<std::uint8_t> mask(tile.bytes(), 0);
  const std::uint8_t* const workspace = cursor.buffer().undefined;
  if (strided.table != nullptr && workspace == nullptr) return mask;
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      std::uint64_t bits = all_bits;
      if (cursor.locate(t, i)) {
        const bool is_kept = workspace != nullptr && cursor.in_buffer();
        bits = is_kept ? isa::get_bits(workspace, cursor.bit(), tile.bits) : 0;
      }
      isa::put_bits(mask.data() + t * tile.thread_bytes, i * tile.bits, tile.bits, bits);
    }
  }
  return mask;
}

void load_padding(PlacedTile& placed, Context& context) {
  UndefinedRegisters& undefined = context.state.undefined;
  const Tile& tile = placed.access.tile;
  const std::vector<std::uint8_t> mask = padding_of(placed);
  std::memcpy(undefined.at(tile.offset), mask.data(), mask.size());
  undefined.update(tile, origin_of(placed.access));
}

bool store_padding(PlacedTile& placed, Context& context) {
  auto& access = placed.access;
  auto& cursor = placed.cursor;
  const Tile& tile = access.tile;
  std::uint8_t* const workspace = cursor.buffer().undefined;
  if (workspace == nullptr && !context.state.undefined.marked(tile)) return true;
  const bool is_marked = context.state.undefined.marked(tile);
  const auto found = find_offenders(
      access.parts->first_threads, tile.locals,
      [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
        if (!cursor.locate(t, i) || !cursor.in_buffer()) return {};
        const bool marked =
            is_marked && matters(tile, access.dtype, access.combines, t, i, context);
        if (workspace != nullptr && (marked || !access.combines)) {
          isa::put_bits_atomic(workspace, cursor.bit(), tile.bits, marked ? all_bits : 0);
        }
        if (!marked || workspace != nullptr) return {};
        return Offender<>{cursor.index()};
      });
  return found.count == 0 || report_padding(access, found, context);
}

void store_shared_padding(const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  const UndefinedRegisters& undefined = context.state.undefined;
  SharedMemory& shared = context.state.shared;
  if (!undefined.marked(access.tile)) return define_shared(to, shared);
  write_shared(to, undefined.at(access.tile.offset), shared.undefined.data());
  context.state.padding[access.tensor_number] = undefined.origin(access.tile);
}

void arrive_padding(const PendingCopy& copy, const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  write_shared(to, copy.padding.data(), context.state.shared.undefined.data());
  if (has_bits(copy.padding.data(), copy.padding.size())) {
    context.state.padding[access.tensor_number] = origin_of(copy.plan->source);
  }
}

void combine_shared_padding(const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  const Tile& tile = access.tile;
  if (!context.state.undefined.marked(tile)) return;
  bool any = false;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (!matters(tile, access.dtype, access.combines, t, i, context)) continue;
      isa::put_bits(context.state.shared.undefined.data(), to.bit_of(t, i), tile.bits, all_bits);
      any = true;
    }
  }
  if (any) context.state.padding[access.tensor_number] = context.state.undefined.origin(tile);
}

}  // namespace tilevm::sim
