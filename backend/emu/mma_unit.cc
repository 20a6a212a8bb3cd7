#include "backend/emu/mma_unit.h"

#include <algorithm>
#include <cstring>

#include "isa/base/check.h"
#include "isa/type/bits.h"

namespace tilevm::backend {

Fragment::Fragment(int code_bits, const isa::RegisterElement& element,
                   const isa::RegisterLayout& layout, std::int64_t lanes)
    : bits_(static_cast<unsigned>(code_bits)),
      size_(static_cast<std::size_t>(layout.size() * lanes / layout.num_threads())),
      locals_(static_cast<std::size_t>(layout.num_locals())) {
  const std::uint32_t register_bits = bits_ > 32 ? 64 : 32;
  const auto rows =
      static_cast<std::uint32_t>(size_) / static_cast<std::uint32_t>(layout.shape()[1]);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    for (std::int64_t local = 0; local < layout.num_locals(); ++local) {
      const isa::Index at = layout.element(lane, local);
      const auto bit = static_cast<std::uint32_t>(local * element.bits + element.shift);
      const std::uint32_t shift = bit % register_bits;
      TILEVM_CHECK(shift + bits_ <= register_bits, "an element of a fragment in two registers");
      elements_.push_back(
          {static_cast<std::uint16_t>(bit / register_bits * (register_bits / 8)),
           static_cast<std::uint8_t>(shift),
           static_cast<std::uint32_t>(at[1]) * rows + static_cast<std::uint32_t>(at[0])});
    }
  }
}

template <class Register>
void Fragment::gather_from(const WarpRegisters<const void>& registers,
                           std::span<std::uint64_t> codes) const {
  const auto mask = static_cast<Register>(isa::low_mask(bits_));
  const Element* element = elements_.data();
  for (const void* words : registers) {
    for (std::size_t i = 0; i < locals_; ++i, ++element) {
      Register word;
      std::memcpy(&word, static_cast<const std::uint8_t*>(words) + element->byte, sizeof word);
      codes[element->position] = word >> element->shift & mask;
    }
  }
}

template <class Register>
void Fragment::scatter_to(std::span<const std::uint64_t> codes,
                          const WarpRegisters<void>& registers) const {
  const auto mask = static_cast<Register>(isa::low_mask(bits_));
  const Element* element = elements_.data();
  for (void* words : registers) {
    for (std::size_t i = 0; i < locals_; ++i, ++element) {
      auto* const at = static_cast<std::uint8_t*>(words) + element->byte;
      const auto code = static_cast<Register>(codes[element->position]);
      Register word;
      std::memcpy(&word, at, sizeof word);
      word = (word & ~(mask << element->shift)) | (code & mask) << element->shift;
      std::memcpy(at, &word, sizeof word);
    }
  }
}

void Fragment::gather(const WarpRegisters<const void>& registers,
                      std::span<std::uint64_t> codes) const {
  bits_ > 32 ? gather_from<std::uint64_t>(registers, codes)
             : gather_from<std::uint32_t>(registers, codes);
}

void Fragment::scatter(std::span<const std::uint64_t> codes,
                       const WarpRegisters<void>& registers) const {
  bits_ > 32 ? scatter_to<std::uint64_t>(codes, registers)
             : scatter_to<std::uint32_t>(codes, registers);
}

namespace {

Fragment operand_fragment(const isa::MmaShape& shape, const isa::DType& type,
                          const isa::RegisterLayout& layout) {
  return {type.bits, register_element(shape, type), layout};
}

/// The part of a matrix of u2 that an instruction's selector names: as many columns as a has.
std::span<const std::uint64_t> select_places(const isa::MmaShape& shape, int selector,
                                             std::span<const std::uint64_t> all) {
  const auto count = static_cast<std::size_t>(shape.m * shape.stored_k());
  return all.subspan(count * static_cast<std::size_t>(selector), count);
}

std::span<const std::uint64_t> gathered(const std::optional<Fragment>& fragment,
                                        const WarpRegisters<const void>& registers,
                                        std::vector<std::uint64_t>& codes) {
  if (!fragment) return {};
  codes.resize(fragment->size());
  fragment->gather(registers, codes);
  return codes;
}

}  // namespace

MmaUnit::MmaUnit(const isa::MmaShape& shape)
    : shape_(shape),
      a_(operand_fragment(shape, shape.a, shape.a_layout)),
      b_(operand_fragment(shape, shape.b, shape.b_layout)),
      c_(shape.accumulator.bits, {shape.accumulator.bits}, shape.c_layout) {
  if (shape.sparse) places_.emplace(2, isa::RegisterElement{2}, shape.places_layout);
  if (shape.scaling == isa::MmaScaling::none) return;
  constexpr isa::RegisterElement byte{8};
  a_scales_.emplace(shape.scale.bits, byte, shape.a_scales_layout);
  b_scales_.emplace(shape.scale.bits, byte, shape.b_scales_layout);
}

void MmaUnit::run(const MmaModel& model, const WarpRegisters<const void>& a,
                  const WarpRegisters<const void>& b, const WarpRegisters<void>& c,
                  const WarpExtras& extras) const {
  // The largest operand has 16 * 256 elements (m16n8k256 of bits).
  thread_local std::vector<std::uint64_t> a_codes, b_codes, c_codes, places;
  thread_local std::vector<std::uint64_t> a_scales, b_scales;
  a_codes.resize(a_.size());
  b_codes.resize(b_.size());
  c_codes.resize(c_.size());
  WarpRegisters<const void> c_before{};
  std::copy(c.begin(), c.end(), c_before.begin());
  a_.gather(a, a_codes);
  b_.gather(b, b_codes);
  c_.gather(c_before, c_codes);
  MmaExtras codes{.a_scales = gathered(a_scales_, extras.a_scales, a_scales),
                  .b_scales = gathered(b_scales_, extras.b_scales, b_scales)};
  if (places_) {
    codes.places = select_places(shape_, extras.selector, gathered(places_, extras.places, places));
  }
  model(shape_, a_codes, b_codes, c_codes, codes);
  c_.scatter(c_codes, c);
}

}  // namespace tilevm::backend
