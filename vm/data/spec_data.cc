// Making tensors from specifications and writing them (spec.h).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/data/npy.h"
#include "vm/data/random.h"
#include "vm/data/spec.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

/// "an i6", "a u4".
std::string with_article(const isa::DType& dtype) {
  const std::string name = isa::to_string(dtype);
  return (name[0] == 'i' || name[0] == 'f' ? "an " : "a ") + name;
}

std::string range_of(const isa::DType& dtype) {
  return fmt::format("{}..{}", isa::format_value(dtype, isa::lowest_code(dtype)),
                     isa::format_value(dtype, isa::max_code(dtype)));
}

/// Why a number has no code, for the end of a sentence.
std::string why_not(const isa::DType& dtype, const isa::Number& value) {
  if (dtype.is_integer()) return fmt::format("({})", range_of(dtype));
  if (dtype.is_bipolar()) return fmt::format("(the odd numbers of {})", range_of(dtype));
  return fmt::format("(the nearest is {})", isa::format_value(dtype, isa::encode(dtype, value)));
}

/// The code of a value that the type holds exactly. Unlike Cast, which saturates, Inf has a code
/// where the type has one (f8e5m2).
std::optional<std::uint64_t> exact_code(const isa::DType& dtype, const isa::Number& value) {
  if (value.is_inf() && dtype.is_float() && dtype.specials() == isa::Specials::ieee) {
    const unsigned sign_at = dtype.bits - 1u;
    const std::uint64_t exponent = isa::low_mask(dtype.exponent_bits);
    return exponent << (sign_at - dtype.exponent_bits) | std::uint64_t{value.negative} << sign_at;
  }
  if (!isa::representable(dtype, value)) return {};
  return isa::encode(dtype, value);
}

Status check_shape(const HostTensor& file, const isa::DType& dtype, const isa::Shape& shape,
                   std::string_view name, const std::string& path) {
  if (file.shape == shape) return Done{};
  return data_error(Code::wrong_data_shape, fmt::format("`{}` holds {}, but `{}` is {}", path,
                                                        format_type(file.dtype, file.shape), name,
                                                        format_type(dtype, shape)));
}

/// Numbers of a .npy file as codes of `dtype`.
Status convert(const HostTensor& from, HostTensor& to, std::string_view name,
               const std::string& path) {
  if (from.dtype == to.dtype) {
    to.data = from.data;  // the bits of a NaN too
    return Done{};
  }
  for (std::size_t k = 0, size = from.size(); k < size; ++k) {
    const isa::Number value = isa::decode(from.dtype, from.code(k));
    const std::optional<std::uint64_t> code = exact_code(to.dtype, value);
    if (!code) {
      return data_error(
          Code::data_not_representable,
          fmt::format("`{}`: `{}`{} = {} is not {} {}", path, name, format_index(to.shape, k),
                      isa::format_value(from.dtype, from.code(k)), with_article(to.dtype),
                      why_not(to.dtype, value)));
    }
    to.set_code(k, *code);
  }
  return Done{};
}

Status fill_from_numbers(HostTensor& tensor, const Spec& spec, std::string_view name) {
  const Result<HostTensor> file = read_npy(spec.path);
  if (!file) return file.error();
  const Status shape = check_shape(*file, tensor.dtype, tensor.shape, name, spec.path);
  if (!shape) return shape;
  return convert(*file, tensor, name, spec.path);
}

Status fill_from_codes(HostTensor& tensor, const Spec& spec, std::string_view name) {
  const Result<HostTensor> file = read_npy(spec.path);
  if (!file) return file.error();
  if (file->dtype.kind != isa::TypeKind::unsigned_int) {
    return data_error(Code::wrong_data_type,
                      fmt::format("`{}` holds {}, but codes are unsigned integers", spec.path,
                                  isa::to_string(file->dtype)));
  }
  const Status shape = check_shape(*file, tensor.dtype, tensor.shape, name, spec.path);
  if (!shape) return shape;
  const std::uint64_t largest = isa::low_mask(tensor.dtype.bits);
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) {
    const std::uint64_t code = file->code(k);
    if (code > largest) {
      return data_error(Code::data_not_representable,
                        fmt::format("`{}`: code {} of `{}`{} has more than the {} bits of {}",
                                    spec.path, code, name, format_index(tensor.shape, k),
                                    tensor.dtype.bits, with_article(tensor.dtype)));
    }
    tensor.set_code(k, code);
  }
  return Done{};
}

Status fill_from_packed(HostTensor& tensor, const Spec& spec, std::string_view name) {
  const Result<HostTensor> file = read_npy(spec.path);
  if (!file) return file.error();
  if (file->dtype != isa::u8) {
    return data_error(Code::wrong_data_type, fmt::format("`{}` holds {}, but packed data is uint8",
                                                         spec.path, isa::to_string(file->dtype)));
  }
  if (file->data.size() != tensor.data.size()) {
    return data_error(Code::wrong_data_shape,
                      fmt::format("`{}` holds {} bytes, but `{}` is {}, which packs into {}",
                                  spec.path, file->data.size(), name,
                                  format_type(tensor.dtype, tensor.shape), tensor.data.size()));
  }
  tensor.data = file->data;
  const std::size_t used = tensor.size() * tensor.dtype.bits % 8;
  if (used != 0) tensor.data.back() &= static_cast<std::uint8_t>(isa::low_mask(used & 7));
  return Done{};
}

/// How many of 0, 1, 2, ... a float type holds exactly without a gap.
std::uint64_t counting_range(const isa::DType& dtype) {
  const std::uint64_t by_mantissa = std::uint64_t{1} << (dtype.mantissa_bits + 1);
  const double largest = isa::to_double(isa::decode(dtype, isa::max_code(dtype)));
  return largest < static_cast<double>(by_mantissa) ? static_cast<std::uint64_t>(largest) + 1
                                                    : by_mantissa;
}

void fill_iota(HostTensor& tensor) {
  const std::uint64_t range = tensor.dtype.is_float() ? counting_range(tensor.dtype) : 0;
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) {
    const auto count = static_cast<std::uint64_t>(k);
    tensor.set_code(
        k, range == 0 ? count : isa::encode(tensor.dtype, isa::number_from(count % range)));
  }
}

/// A number's text: an integer of 64 bits, else a double ("inf" and "nan" too).
std::optional<isa::Number> parse_number(const std::string& text) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  std::uint64_t natural = 0;
  if (auto [p, code] = std::from_chars(begin, end, natural); code == std::errc{} && p == end) {
    return isa::number_from(natural);
  }
  std::int64_t integer = 0;
  if (auto [p, code] = std::from_chars(begin, end, integer); code == std::errc{} && p == end) {
    // "-0" is the float's negative zero; as an integer the two are one.
    return integer == 0 ? isa::number_from(-0.0) : isa::number_from(integer);
  }
  double real = 0;
  if (auto [p, code] = std::from_chars(begin, end, real); code == std::errc{} && p == end) {
    return isa::number_from(real);
  }
  return {};
}

/// The code of a value up to rounding of floats; nothing that saturates, overflows or has no code.
std::optional<std::uint64_t> near_code(const isa::DType& dtype, const isa::Number& value) {
  if (!dtype.is_float() || value.is_nan() || value.is_inf()) return exact_code(dtype, value);
  const std::uint64_t code = isa::encode(dtype, value);
  const isa::Number rounded = isa::decode(dtype, code);
  if (rounded.is_inf()) return {};
  const double largest = isa::to_double(isa::decode(dtype, isa::max_code(dtype)));
  const double smallest = isa::to_double(isa::decode(dtype, isa::lowest_code(dtype)));
  const double real = isa::to_double(value), near = isa::to_double(rounded);
  if ((near == largest || near == smallest) && std::abs(real) > largest) return {};
  return code;
}

Status fill_value(HostTensor& tensor, const Spec& spec, std::string_view name) {
  const std::optional<isa::Number> value = parse_number(spec.value);
  if (!value) {
    return Error{ErrorKind::usage, fmt::format("`{}` in `{}` is no number", spec.value, spec.text)};
  }
  const std::optional<std::uint64_t> code = near_code(tensor.dtype, *value);
  if (!code) {
    return data_error(Code::data_not_representable,
                      fmt::format("`{}`: {} is not {} {}, the type of `{}`", spec.text, spec.value,
                                  with_article(tensor.dtype), why_not(tensor.dtype, *value), name));
  }
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) tensor.set_code(k, *code);
  return Done{};
}

Status fill_tensor(HostTensor& tensor, const Spec& spec, std::string_view name) {
  switch (spec.kind) {
    case SourceKind::file:
      return fill_from_numbers(tensor, spec, name);
    case SourceKind::rand:
      fill_rand(tensor, spec.seed, name);
      break;
    case SourceKind::wild:
      fill_wild(tensor, spec.seed, name);
      break;
    case SourceKind::corner:
      fill_corner(tensor, spec.seed, name);
      break;
    case SourceKind::zeros:
      break;
    case SourceKind::iota:
      fill_iota(tensor);
      break;
    case SourceKind::full:
      return fill_value(tensor, spec, name);
    case SourceKind::codes:
      return fill_from_codes(tensor, spec, name);
    case SourceKind::packed:
      return fill_from_packed(tensor, spec, name);
  }
  return Done{};
}

/// Type and shape that the user gave must be the ones that hold.
Status check_given(const std::optional<isa::DType>& given_dtype,
                   const std::optional<isa::Shape>& given_shape, const std::string& text,
                   const isa::DType& dtype, const isa::Shape& shape, std::string_view name) {
  if (given_dtype.value_or(dtype) != dtype) {
    return data_error(Code::wrong_data_type,
                      fmt::format("`{}` says {}, but `{}` is {}", text,
                                  isa::to_string(*given_dtype), name, format_type(dtype, shape)));
  }
  if (given_shape.value_or(shape) != shape) {
    return data_error(Code::wrong_data_shape, fmt::format("`{}` says {}, but `{}` is {}", text,
                                                          format_type(dtype, *given_shape), name,
                                                          format_type(dtype, shape)));
  }
  return Done{};
}

/// The smallest NumPy type that holds every value of `dtype`.
isa::DType number_type(const isa::DType& dtype) {
  if (is_numpy_type(dtype)) return dtype;
  if (dtype.is_float()) return isa::f32;
  if (dtype.is_bipolar()) return isa::i16;
  return dtype.is_signed_int() ? isa::i8 : isa::u8;
}

isa::DType code_type(const isa::DType& dtype) {
  for (const int bits : {8, 16, 32}) {
    if (dtype.bits <= bits) return isa::unsigned_int(bits);
  }
  return isa::u64;
}

}  // namespace

Result<HostTensor> load(const Spec& spec, const isa::DType& dtype, const isa::Shape& shape,
                        std::string_view name) {
  const Status given = check_given(spec.dtype, spec.shape, spec.text, dtype, shape, name);
  if (!given) return given.error();
  Result<HostTensor> tensor = make_tensor(dtype, shape, name);
  if (!tensor) return tensor;
  const Status filled = fill_tensor(*tensor, spec, name);
  if (!filled) return filled.error();
  return tensor;
}

Result<HostTensor> to_numpy(const HostTensor& tensor, bool codes) {
  const isa::DType dtype = codes ? code_type(tensor.dtype) : number_type(tensor.dtype);
  Result<HostTensor> result = make_tensor(dtype, tensor.shape, "the file's data");
  if (!result) return result;
  if (dtype == tensor.dtype) {
    result->data = tensor.data;
    return result;
  }
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) {
    const std::uint64_t code = tensor.code(k);
    result->set_code(k, codes ? code : isa::encode(dtype, isa::decode(tensor.dtype, code)));
  }
  return result;
}

Status store(const Dest& dest, const HostTensor& tensor, std::string_view name) {
  const Status given =
      check_given(dest.dtype, dest.shape, dest.text, tensor.dtype, tensor.shape, name);
  if (!given) return given;
  const Result<HostTensor> array = to_numpy(tensor, dest.codes);
  if (!array) return array.error();
  return write_npy(dest.path, *array);
}

}  // namespace tilevm::vm
