#include "sim/arithmetic/combine_bits.h"

#include <atomic>

#include "isa/type/arith.h"

namespace tilevm::sim {
namespace {

template <class Word>
void combine_word(std::uint8_t* at, const isa::DType& type, isa::BinaryOp op, std::uint64_t code) {
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
  Word seen = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(seen, static_cast<Word>(isa::apply(op, type, seen, code)),
                                     std::memory_order_relaxed)) {
  }
}

}  // namespace

void combine_bits(std::uint8_t* memory, std::uint64_t bit, const isa::DType& type, isa::ReduceOp op,
                  std::uint64_t code) {
  const isa::BinaryOp operation = isa::combination(op);
  if (type.bits == 16) return combine_word<std::uint16_t>(memory + bit / 8, type, operation, code);
  if (type.bits == 32) return combine_word<std::uint32_t>(memory + bit / 8, type, operation, code);
  combine_word<std::uint64_t>(memory + bit / 8, type, operation, code);
}

}  // namespace tilevm::sim
