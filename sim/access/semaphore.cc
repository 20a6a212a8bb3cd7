#include "sim/access/semaphore.h"

#include "isa/type/bits.h"

namespace tilevm::sim {

std::uint32_t load_semaphore(const MemoryAddress& address, const Memory& memory) {
  return static_cast<std::uint32_t>(
      isa::get_bits(memory[address.buffer].data, address.bit, semaphore_bits));
}

}  // namespace tilevm::sim
