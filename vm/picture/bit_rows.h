// Which bits of a thread's registers are which element.
//
// A thread holds its elements as one little-endian bit stream in local order, in registers of 32
// bits. So the element at local place i of n bits is in bits [i n, (i + 1) n) of the stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/layout/register_layout.h"
#include "vm/picture/typed_layout.h"

namespace tilevm::vm {

inline constexpr int register_bits = 32;

/// The part of an element that is in one register: bits [begin, end) of the register.
struct BitRun {
  std::int64_t local = 0;
  int begin = 0, end = 0;
  bool continues = false;  ///< the element began in the register before
};

/// The runs of a register of a thread; elements of `bits` bits, `locals` of them.
[[nodiscard]] std::vector<BitRun> runs_of_register(std::int64_t locals, int bits,
                                                   std::int64_t number);
/// Registers that a thread's elements take.
[[nodiscard]] std::int64_t register_count(std::int64_t locals, int bits);

/// Lines of text: the first registers of a thread, a line for each of the layouts, which have types
/// and are of registers. Elements are named by their index, or by their local place where that is
/// too long.
[[nodiscard]] std::string draw_bits(const std::vector<TypedLayout>& layouts, std::int64_t thread,
                                    std::int64_t most_registers = 4);

}  // namespace tilevm::vm
