#include "vm/naive/read_element.h"

#include "isa/type/bits.h"

namespace tilevm::vm::naive {

Element read_element(const ElementArithmetic& arithmetic, const std::uint8_t* stream,
                     const ResidueMemory* residues, const isa::DType& type, std::uint64_t bit) {
  const std::uint64_t code = isa::get_bits(stream, bit, type.bits);
  if (residues == nullptr) return code;
  if (const Residue own = residues->load(type, bit); own.is_given()) return {code, own};
  if (!arithmetic.is_free() || !residues->has_residue(bit, type.bits)) return code;
  const std::vector<ResiduePart> parts = residues->parts(bit, type.bits);
  const ResiduePart& first = parts.front();
  const bool is_whole = parts.size() == 1 && first.begin == 0 && first.type.bits == type.bits;
  if (is_whole) return {code, first.residue};
  std::vector<Residue> all;
  std::uint64_t at = 0;
  for (const ResiduePart& part : parts) {
    all.emplace_back(part.begin, part.bits);
    const std::uint64_t own = (code >> at) & isa::low_mask(static_cast<unsigned>(part.bits));
    all.push_back(part.residue.is_given() ? part.residue
                                          : arithmetic.ring()->of_code(isa::u64, own));
    at += part.bits;
  }
  return {code, arithmetic.expression(Step::bits, 0, all)};
}

}  // namespace tilevm::vm::naive
