// One Dot on one block, with operands as codes.
#pragma once

#include <string>
#include <vector>

#include "isa/dot/mma_shapes.h"
#include "isa/type/bits.h"
#include "tests/unit/sim/running.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::sim::testing {

using isa::DType;
using vm::fidelity::Random;
using Codes = std::vector<std::uint64_t>;

struct Extents {
  std::size_t m, n, k;
};

inline Buffer pack(std::string name, const DType& type, const Codes& codes) {
  Buffer result{std::move(name),
                std::vector<std::uint8_t>(isa::bytes_for_bits(codes.size() * type.bits))};
  isa::pack_bits(result.bytes.data(), 0, type.bits, codes);
  return result;
}

inline Codes unpack(const Buffer& buffer, const DType& type, std::size_t count) {
  Codes codes(count);
  isa::unpack_bits(buffer.bytes.data(), 0, type.bits, codes);
  return codes;
}

/// One block: d = a b + c with the given layouts.
inline std::string dot_text(const DType& a, const DType& b, const DType& c, const Extents& size,
                            const std::string& a_layout, const std::string& b_layout,
                            const std::string& c_layout) {
  const auto m = std::to_string(size.m), n = std::to_string(size.n), k = std::to_string(size.k);
  return "def f<1>(" + to_string(a) + "* a_ptr, " + to_string(b) + "* b_ptr, " + to_string(c) +
         "* c_ptr, " + to_string(c) + "* d_ptr):\n" +
         "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[" + m + ", " + k + "]), layout=" + a_layout +
         ")\n" + "    b = LoadGlobal(ViewGlobal(b_ptr, shape=[" + k + ", " + n +
         "]), layout=" + b_layout + ")\n" + "    c = LoadGlobal(ViewGlobal(c_ptr, shape=[" + m +
         ", " + n + "]), layout=" + c_layout + ")\n" +
         "    StoreGlobal(Dot(a, b, c), ViewGlobal(d_ptr, shape=[" + m + ", " + n + "]))\n";
}

inline isa::VerifiedProgram program(const DType& a, const DType& b, const DType& c,
                                    const Extents& size, const std::string& a_layout,
                                    const std::string& b_layout, const std::string& c_layout,
                                    const isa::Target& target = {}) {
  return load(dot_text(a, b, c, size, a_layout, b_layout, c_layout), {}, target);
}

struct Operands {
  Codes a, b, c;
};

inline Operands random_operands(Random& random, const DType& a, const DType& b, const DType& c,
                                const Extents& size) {
  const vm::fidelity::Spreads spreads = random_spreads(random, a, b, c);
  return {random_codes(random, a, size.m * size.k, spreads.a),
          random_codes(random, b, size.k * size.n, spreads.b),
          random_codes(random, c, size.m * size.n, spreads.c)};
}

inline Codes run_dot(const isa::VerifiedProgram& dot, const DType& a, const DType& b,
                     const DType& c, const Extents& size, const Operands& in) {
  std::vector<Buffer> memory{pack("a", a, in.a), pack("b", b, in.b), pack("c", c, in.c),
                             pack("d", c, Codes(size.m * size.n, 0))};
  run_well(dot, {0, 1, 2, 3}, memory);
  return unpack(memory[3], c, size.m * size.n);
}

/// Three by two fragments in each thread, three steps of k: no larger instruction fits.
inline isa::VerifiedProgram program_of(const isa::MmaShape& shape, const DType& a, const DType& b,
                                       const Extents& size, const isa::Target& target) {
  return program(a, b, shape.accumulator, size, "local(3, 3)." + to_string(shape.a_layout),
                 "local(3, 2)." + to_string(shape.b_layout),
                 "local(3, 2)." + to_string(shape.c_layout), target);
}

inline Extents extents_of(const isa::MmaShape& shape) {
  return {3 * static_cast<std::size_t>(shape.m), 2 * static_cast<std::size_t>(shape.n),
          3 * static_cast<std::size_t>(shape.k)};
}

}  // namespace tilevm::sim::testing
