// Instructions that show what a program does.
#include <cstring>

#include "isa/program/print.h"
#include "isa/type/bits.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {
namespace {

void put(std::uint64_t code, std::size_t bytes, std::uint8_t* to) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(code >> 8 * i);
}

/// Writes the shown elements of a tile in row-major order, each from the first thread that holds
/// it.
void record_tile(const isa::PrintSite& site, const isa::RegisterLayout& layout, const Tile& tile,
                 const std::uint8_t* registers, std::uint8_t* to) {
  const std::int64_t count = isa::element_count(site.shown);
  isa::Index index(site.shape.size(), 0);
  for (std::int64_t k = 0; k < count; ++k, to += site.element_bytes) {
    std::int64_t rest = k;
    for (std::size_t d = index.size(); d-- > 0; rest /= site.shown[d]) {
      index[d] = site.tile_index(d, rest % site.shown[d]);
    }
    const auto thread = static_cast<std::size_t>(layout.first_thread_of(index));
    const auto local = static_cast<std::size_t>(layout.local_of(index));
    put(isa::get_bits(registers + thread * tile.thread_bytes, local * tile.bits, tile.bits),
        site.element_bytes, to);
  }
}

}  // namespace

template <>
Action prepare(const isa::Print& inst, const Preparation& preparation) {
  const std::uint32_t number = preparation.info.print_site(preparation.stmt);
  const isa::PrintSite& site = preparation.info.prints[number];  // lives as long as the program
  if (const auto* tile = std::get_if<isa::RegisterOperand>(&inst.value.value)) {
    return [number, &site, tile = preparation.tile(tile->var),
            &layout = preparation.register_type(tile->var).layout](Context& context) {
      std::uint8_t* to = context.state.prints.add(number, site);
      if (to == nullptr) return true;
      record_tile(site, layout, tile, context.state.registers.at(tile.offset), to);
      return true;
    };
  }
  const auto& scalar = *std::get_if<isa::ScalarOperand>(&inst.value.value);
  return [number, &site, value = ScalarCode(scalar.value)](Context& context) {
    std::uint64_t bits = 0;
    if (!context.evaluate(value, bits)) return false;
    std::uint8_t* to = context.state.prints.add(number, site);
    if (to != nullptr) put(bits, site.element_bytes, to);
    return true;
  };
}

template <>
UndefinedTransfer undefined_transfer(const isa::Print& inst, const Preparation& preparation) {
  return use_transfer("Print", tile_operands(inst), preparation);
}

}  // namespace tilevm::sim
