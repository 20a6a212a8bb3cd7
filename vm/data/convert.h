// Numbers of a file as elements of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "isa/base/result.h"
#include "isa/type/number.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

/// The code of a value that the type holds exactly. Unlike Cast, which saturates, Inf has a code
/// where the type has one (f8e5m2).
[[nodiscard]] std::optional<std::uint64_t> exact_code(const isa::DType& dtype,
                                                      const isa::Number& value);

/// The code of the nearest value of a float type, as encode() rounds; nothing for what overflows or
/// saturates, and of other types for what is not exact.
[[nodiscard]] std::optional<std::uint64_t> near_code(const isa::DType& dtype,
                                                     const isa::Number& value);

/// "i6 (-32..31)", "f16 (the nearest is 0.09997559)": why a number has no code.
[[nodiscard]] std::string why_not(const isa::DType& dtype, const isa::Number& value);

/// "an i6", "a u4".
[[nodiscard]] std::string with_article(const isa::DType& dtype);

/// What rounding changed; places are indices of elements.
struct Rounding {
  std::size_t count = 0;
  std::size_t first = 0;
  std::size_t worst = 0;  ///< the earliest of the largest error
  double largest_error = 0;
};

/// Writes the numbers of `from` into `to`, which has the same shape. Floats of a float type are
/// rounded to nearest unless `exact`; everything else must be exact, and nothing saturates. `file`
/// and `name` are for the message. Error (program): the first number that does not fit.
[[nodiscard]] Result<Rounding> convert_numbers(const HostTensor& from, HostTensor& to, bool exact,
                                               const std::string& file, std::string_view name);

/// The note of a rounding: how many, the largest error, the first.
[[nodiscard]] std::string describe(const Rounding& rounding, const HostTensor& from,
                                   const HostTensor& to, const std::string& file,
                                   std::string_view name);

/// The place of element k, for errors and notes.
[[nodiscard]] DataPlace place_of(const std::string& file, std::string_view name,
                                 const isa::Shape& shape, std::size_t k);

}  // namespace tilevm::vm
