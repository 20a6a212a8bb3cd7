#include "backend/emu/mma_unit.h"

#include <algorithm>

#include "isa/type/bits.h"

namespace tilevm::backend {

Fragment::Fragment(const isa::DType& type, const isa::RegisterLayout& layout)
    : bits_(static_cast<unsigned>(type.bits)),
      size_(static_cast<std::size_t>(layout.size())),
      locals_(static_cast<std::size_t>(layout.num_locals())) {
  const auto columns = static_cast<std::uint32_t>(layout.shape()[1]);
  for (std::int64_t lane = 0; lane < layout.num_threads(); ++lane) {
    for (std::int64_t local = 0; local < layout.num_locals(); ++local) {
      const isa::Index at = layout.element(lane, local);
      elements_.push_back(
          {static_cast<std::uint32_t>(local) * bits_,
           static_cast<std::uint32_t>(at[0]) * columns + static_cast<std::uint32_t>(at[1])});
    }
  }
}

void Fragment::gather(const WarpRegisters<const void>& registers,
                      std::span<std::uint64_t> codes) const {
  const Element* element = elements_.data();
  for (const void* words : registers) {
    for (std::size_t i = 0; i < locals_; ++i, ++element) {
      codes[element->position] =
          isa::get_bits(static_cast<const std::uint8_t*>(words), element->bit, bits_);
    }
  }
}

void Fragment::scatter(std::span<const std::uint64_t> codes,
                       const WarpRegisters<void>& registers) const {
  const Element* element = elements_.data();
  for (void* words : registers) {
    for (std::size_t i = 0; i < locals_; ++i, ++element) {
      isa::put_bits(static_cast<std::uint8_t*>(words), element->bit, bits_,
                    codes[element->position]);
    }
  }
}

MmaUnit::MmaUnit(const isa::MmaShape& shape)
    : shape_(shape),
      a_(shape.a, shape.a_layout),
      b_(shape.b, shape.b_layout),
      c_(shape.accumulator, shape.c_layout),
      places_(isa::unsigned_int(2), shape.sparse ? shape.places_layout : shape.a_layout) {}

namespace {

/// The part of a matrix of u2 that an instruction's selector names: as many columns as a has.
void select_places(const isa::MmaShape& shape, int selector, const std::vector<std::uint64_t>& from,
                   std::vector<std::uint64_t>& to) {
  const auto rows = static_cast<std::size_t>(shape.m);
  const auto columns = static_cast<std::size_t>(shape.stored_k());
  const std::size_t all = columns * static_cast<std::size_t>(shape.selectors);
  const std::size_t first = columns * static_cast<std::size_t>(selector);
  to.resize(rows * columns);
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t p = 0; p < columns; ++p) to[m * columns + p] = from[m * all + first + p];
  }
}

}  // namespace

void MmaUnit::run(const MmaModel& model, const WarpRegisters<const void>& a,
                  const WarpRegisters<const void>& b, const WarpRegisters<void>& c,
                  const WarpPlaces& places) const {
  // The largest operand has 16 * 256 elements (m16n8k256 of bits).
  thread_local std::vector<std::uint64_t> a_codes, b_codes, c_codes, all_places, place_codes;
  a_codes.resize(a_.size());
  b_codes.resize(b_.size());
  c_codes.resize(c_.size());
  WarpRegisters<const void> c_before{};
  std::copy(c.begin(), c.end(), c_before.begin());
  a_.gather(a, a_codes);
  b_.gather(b, b_codes);
  c_.gather(c_before, c_codes);
  place_codes.clear();
  if (shape_.sparse) {
    all_places.resize(places_.size());
    places_.gather(places.registers, all_places);
    select_places(shape_, places.selector, all_places, place_codes);
  }
  model(shape_, a_codes, place_codes, b_codes, c_codes);
  c_.scatter(c_codes, c);
}

}  // namespace tilevm::backend
