#include "sim/state/shadow_values.h"

#include <bit>

#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::sim {

double value_of(const isa::DType& type, std::uint64_t code) {
  if (type == isa::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  if (type == isa::f64) return std::bit_cast<double>(code);
  return isa::to_double(isa::decode(type, code));
}

double value_at(const isa::DType& type, const Tile& tile, const RegisterSlab& registers,
                std::size_t thread, std::size_t place) {
  return value_of(type, isa::get_bits(registers.at(tile.offset) + thread * tile.thread_bytes,
                                      place * tile.bits, tile.bits));
}

std::size_t shared_shadow(const isa::Kernel& kernel, const isa::KernelInfo& info,
                          std::size_t tensor) {
  std::size_t begin = 0;
  for (std::size_t k = 0; k < info.shared.size() && k < tensor; ++k) {
    const auto* type = std::get_if<isa::SharedType>(&kernel.variable(info.shared[k].var).type);
    begin += static_cast<std::size_t>(type->layout.storage_size());
  }
  return begin;
}

}  // namespace tilevm::sim
