// What element-wise instructions do to one element, on every type, bit for bit as the GPU gives it.
//
// Arithmetic. f32 and f64: IEEE round to nearest even, subnormals kept. f16, bf16: computed in f32
// and rounded once (the exact result rounded, for + - * /). Integers of 32 and 64 bits wrap. Every
// narrower type, and tf32, is converted to its standard type (i32, u32 or f32), operated on, and
// cast back (the paper's section 7.1). A NaN result is canonical: 0x7fffffff, 0x7fff, f64
// 0x7fffffffffffffff.
//
// The quotient of integers truncates, the remainder has the sign of the dividend; the least value
// divided by -1 is itself, with remainder 0. The remainder of floats is a - b * trunc(a / b),
// exactly; NaN where b is 0 or a infinite.
//
// Min and max give one of the elements: -0 is less than +0, a NaN loses against a number (IEEE
// 754-2019 minimumNumber; PTX min, max). Comparisons give a code of u1; -0 equals +0, and with a
// NaN only `ne` holds. Bitwise operations and shifts are those of integers; a shift count is a code
// read as unsigned, and at the width of the type and beyond shifts everything out.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

/// The type in which arithmetic on `type` happens: i32 u32 i64 u64 f32 f64, or f16, bf16
/// themselves.
[[nodiscard]] DType compute_type(const DType& type);

/// One element; the result is a code of result_type(op, type). Where faults_on_zero, the result for
/// a divisor of zero is 0: the engines fault before.
[[nodiscard]] std::uint64_t apply(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b);

/// Functions: the sequences of isa/type/function_sequences.h on f32, of other types by way of f32.
/// f64: rounded correctly. Negation and absolute value: integers wrap; floats flip or clear the
/// sign bit, NaN becomes canonical; bipolar integers are symmetric.
[[nodiscard]] std::uint64_t apply(UnaryOp op, const DType& type, std::uint64_t a);

/// An operation on numbers in double precision: what it would give if nothing were rounded to an
/// element type. Null for operations whose results are bits or conditions.
using RealFunction1 = double (*)(double);
using RealFunction2 = double (*)(double, double);
[[nodiscard]] RealFunction2 unrounded(BinaryOp op, const DType& type);
[[nodiscard]] RealFunction1 unrounded(UnaryOp op);

}  // namespace tilevm::isa
