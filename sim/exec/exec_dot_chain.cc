// Dot as chains of multiply-adds: matrices in the type of the accumulator.
#include <utility>

#include "isa/base/check.h"
#include "isa/type/number.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/lanes.h"
#include "sim/exec/dot_actions.h"
#include "sim/mma/chain_kernel.h"

namespace tilevm::sim {
namespace {

using isa::DType;

ChainType chain_type(const DType& accumulator) {
  if (accumulator == isa::f16) return ChainType::f16;
  if (accumulator == isa::bf16) return ChainType::bf16;
  if (accumulator == isa::f32) return ChainType::f32;
  if (accumulator == isa::f64) return ChainType::f64;
  TILEVM_CHECK(accumulator.is_integer() && accumulator.bits >= 32, "an accumulator of a chain");
  return accumulator.bits == 32 ? ChainType::u32 : ChainType::u64;
}

/// Reads a matrix and converts it, exactly, to the type of the accumulator.
template <class T>
struct Loader {
  Loader(const isa::RegisterType& type, const MatrixOrder& order, SharedTables& tables)
      : dtype(type.dtype), owners(tables.owners(type, order)) {
    if (dtype.bits > 32) return;
    // f32 for floats, and i32, which holds u32 modulo 2^32, for integers.
    to = std::is_integral_v<T> ? isa::i32 : isa::f32;
    if (std::is_same_v<T, double> && (dtype == isa::i32 || dtype == isa::u32)) to = dtype;
    if (to != dtype) convert = tables.cast(dtype, to);
  }

  void load(const std::uint8_t* tile, DotBuffers& buffers, std::vector<T>& out) const;

  DType dtype, to;
  SharedTables::Table owners;
  LaneLoop1 convert;

 private:
  [[nodiscard]] T value(std::uint32_t code) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (to == isa::i32) return static_cast<T>(static_cast<std::int32_t>(code));
      return to == isa::u32 ? static_cast<T>(code) : static_cast<T>(as_float(code));
    } else {
      // A u32 keeps its value in 64 bits; narrower types were converted to i32.
      return dtype == isa::u32 ? T{code} : static_cast<T>(static_cast<std::int32_t>(code));
    }
  }
};

template <class T>
void Loader<T>::load(const std::uint8_t* tile, DotBuffers& buffers, std::vector<T>& out) const {
  const std::size_t count = owners->size();
  out.resize(count);
  if (dtype.bits == 64) {
    if constexpr (sizeof(T) == 8) {
      gather(*owners, 64, tile, out.data(),
             [](auto code) { return std::bit_cast<T>(std::uint64_t{code}); });
    }
    return;
  }
  buffers.codes.resize(count);
  if (convert) {
    buffers.lanes.resize(count * lane_bytes(dtype.bits));
    with_lane(dtype.bits, [&]<class Lane>() {
      gather(*owners, dtype.bits, tile, reinterpret_cast<Lane*>(buffers.lanes.data()));
    });
    convert(buffers.lanes.data(), reinterpret_cast<std::uint8_t*>(buffers.codes.data()), count);
  } else {
    gather(*owners, dtype.bits, tile, buffers.codes.data());
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = value(buffers.codes[i]);
}

std::uint64_t code_of(double value) {
  return value != value ? isa::canonical_nan(isa::f64) : std::bit_cast<std::uint64_t>(value);
}
std::uint32_t code_of(float value) { return canonical_f32(as_bits(value)); }
std::uint32_t code_of(std::uint32_t value) { return value; }
std::uint64_t code_of(std::uint64_t value) { return value; }

template <class T>
class ChainDot {
 public:
  ChainDot(const isa::Dot& inst, const Preparation& preparation)
      : ChainDot(inst, preparation, preparation.register_type(inst.c.var),
                 DotOperands(isa::product_operands(inst), preparation)) {}

  void run(Context& context) const;

 private:
  ChainDot(const isa::Dot& inst, const Preparation& preparation, const isa::RegisterType& c_type,
           const DotOperands& all)
      : operands_(all),
        type_(chain_type(c_type.dtype)),
        a_(preparation.register_type(inst.a.var), {all.m * all.k, all.m, all.k, 0, all.k, 0, 1},
           preparation.tables),
        b_(preparation.register_type(inst.b.var), {all.k * all.n, all.k, all.n, 0, all.n, 0, 1},
           preparation.tables),
        c_(c_type, {all.m * all.n, all.m, all.n, 0, all.n, 0, 1}, preparation.tables),
        positions_(
            preparation.tables.positions(c_type, {all.m * all.n, all.m, all.n, 0, all.n, 0, 1})) {}

  void store(const std::vector<T>& sums, std::uint8_t* tile) const;

  DotOperands operands_;
  ChainType type_;
  Loader<T> a_, b_, c_;
  SharedTables::Table positions_;
};

template <class T>
void ChainDot<T>::store(const std::vector<T>& sums, std::uint8_t* tile) const {
  using Code = decltype(code_of(T{}));
  const auto code = [](T value) { return code_of(value); };
  if constexpr (std::is_same_v<T, float>) {
    if (type_ == ChainType::f16) {
      return scatter<std::uint16_t>(*positions_, sums.data(), tile,
                                    [](float value) { return f32_to_f16(as_bits(value)); });
    }
    if (type_ == ChainType::bf16) {
      return scatter<std::uint16_t>(*positions_, sums.data(), tile,
                                    [](float value) { return f32_to_bf16(as_bits(value)); });
    }
  }
  scatter<Code>(*positions_, sums.data(), tile, code);
}

template <class T>
void ChainDot<T>::run(Context& context) const {
  RegisterSlab& registers = context.state.registers;
  Scratch& scratch = context.scratch;
  auto& matrices = std::get<DotMatrices<T>>(scratch.dot.matrices);
  a_.load(registers.at(operands_.a.offset), scratch.dot, matrices.a);
  b_.load(registers.at(operands_.b.offset), scratch.dot, matrices.b);
  c_.load(registers.at(operands_.c.offset), scratch.dot, matrices.c);
  const auto [m, n, k] = std::tuple(operands_.m, operands_.n, operands_.k);
  for (std::size_t i = 0; i < operands_.batch; ++i) {
    multiply(type_,
             ChainProduct<T>{m, n, k, matrices.a.data() + i * m * k, matrices.b.data() + i * k * n,
                             matrices.c.data() + i * m * n},
             best_simd_level());
  }
  store(matrices.c, registers.at(operands_.result.offset));
}

template <class T>
Action make_chain(const isa::Dot& inst, const Preparation& preparation) {
  auto dot = std::make_shared<const ChainDot<T>>(inst, preparation);
  return [dot = std::move(dot)](Context& context) {
    dot->run(context);
    return true;
  };
}

}  // namespace

Action prepare_chain_dot(const isa::Dot& inst, const Preparation& preparation) {
  switch (chain_type(preparation.register_type(inst.c.var).dtype)) {
    case ChainType::f64:
      return make_chain<double>(inst, preparation);
    case ChainType::u32:
      return make_chain<std::uint32_t>(inst, preparation);
    case ChainType::u64:
      return make_chain<std::uint64_t>(inst, preparation);
    case ChainType::f16:
    case ChainType::bf16:
    case ChainType::f32:
      break;
  }
  return make_chain<float>(inst, preparation);
}

}  // namespace tilevm::sim
