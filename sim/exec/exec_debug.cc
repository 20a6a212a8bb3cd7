// Instructions that show what a program does.
#include <algorithm>
#include <optional>
#include <utility>

#include "isa/analysis/assertion.h"
#include "isa/program/print.h"
#include "isa/rules/support.h"
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

/// The first element that is 0, and how many others are.
struct FalseElements {
  std::optional<isa::Index> first;
  std::int64_t others = 0;
};

FalseElements false_elements(const isa::RegisterLayout& layout, const Tile& tile,
                             const std::uint8_t* registers) {
  FalseElements found;
  for (std::int64_t k = 0; k < layout.size(); ++k) {
    isa::Index index = isa::unravel(k, layout.shape());
    const auto thread = static_cast<std::size_t>(layout.first_thread_of(index));
    const auto local = static_cast<std::size_t>(layout.local_of(index));
    if (isa::get_bits(registers + thread * tile.thread_bytes, local, 1) != 0) continue;
    if (found.first) {
      ++found.others;
    } else {
      found.first = std::move(index);
    }
  }
  return found;
}

/// Whether all elements of all threads are 1; replicas, too.
bool holds_everywhere(const Tile& tile, const std::uint8_t* registers) {
  for (std::size_t t = 0; t < tile.threads; ++t, registers += tile.thread_bytes) {
    for (std::size_t bit = 0; bit < tile.locals; bit += 64) {
      const auto bits = static_cast<unsigned>(std::min<std::size_t>(64, tile.locals - bit));
      if (isa::get_bits(registers, bit, bits) != isa::low_mask(bits)) return false;
    }
  }
  return true;
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
  return use_transfer(tile_operands(inst), preparation);
}

template <>
Action prepare(const isa::Assert& inst, const Preparation& preparation) {
  const Span span = preparation.slot_span(isa::position_of(&isa::Assert::condition));
  if (const auto* scalar = std::get_if<isa::ScalarOperand>(&inst.condition.value)) {
    return [value = ScalarCode(scalar->value), span,
            text = isa::assertion_text(inst)](Context& context) {
      std::uint64_t bits = 0;
      if (!context.evaluate(value, bits)) return false;
      return bits != 0 || context.fail(Code::assertion_failed, span, text);
    };
  }
  const isa::VarId var = std::get_if<isa::RegisterOperand>(&inst.condition.value)->var;
  return [&inst, &kernel = preparation.kernel, span, tile = preparation.tile(var),
          &layout = preparation.register_type(var).layout](Context& context) {
    const std::uint8_t* registers = context.state.registers.at(tile.offset);
    if (holds_everywhere(tile, registers)) return true;
    const FalseElements found = false_elements(layout, tile, registers);
    if (!found.first) return true;  // replicas that differ are reported where they are made
    context.fail(Code::assertion_failed, span, isa::assertion_text(inst));
    add_note(context.fault->diagnostic,
             isa::false_element_text(inst, *found.first, found.others, kernel));
    return false;
  };
}

template <>
UndefinedTransfer undefined_transfer(const isa::Assert& inst, const Preparation& preparation) {
  return use_transfer(tile_operands(inst), preparation);
}

}  // namespace tilevm::sim
