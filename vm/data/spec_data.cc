// Making tensors from specifications (spec.h).
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/data/convert.h"
#include "vm/data/fill.h"
#include "vm/data/random.h"
#include "vm/data/spec.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

/// Whether an array has the tensor's shape; one of no dimensions is one element of any rank.
bool fits_shape(const ArrayType& file, const isa::Shape& shape) {
  return file.shape == shape || (file.shape.empty() && checked_count(shape) == 1);
}

Error wrong_shape(const ArrayType& file, const Spec& spec, const HostTensor& tensor,
                  std::string_view name) {
  return data_error(Code::wrong_data_shape,
                    fmt::format("`{}` holds {}, but `{}` is {}; reshape the array, or set the "
                                "constants of the program with -D",
                                spec.path, format_type(file.dtype, file.shape), name,
                                format_type(tensor.dtype, tensor.shape)),
                    {spec.path, std::string(name), {}});
}

Error wrong_type(const Spec& spec, std::string_view name, const std::string& message) {
  return data_error(Code::wrong_data_type, message, {spec.path, std::string(name), {}});
}

/// Whether codes of a type of ml_dtypes that has lost its name may be codes of this one.
bool is_ml_dtype(const isa::DType& dtype) {
  const bool is_narrow_int = dtype.is_integer() && dtype.bits < 8;
  const bool is_its_size = dtype.bits == 1 || dtype.bits == 2 || dtype.bits == 4;
  return (is_narrow_int && is_its_size) || dtype == isa::f8e4m3 || dtype == isa::f8e8m0 ||
         dtype == isa::small_float(2, 3) || dtype == isa::small_float(3, 2) ||
         dtype == isa::small_float(2, 1);
}

Status check_untyped(const ArrayType& file, const Spec& spec, const isa::DType& dtype,
                     std::string_view name) {
  if (!file.untyped || is_ml_dtype(dtype)) return Done{};
  return wrong_type(
      spec, name,
      fmt::format(
          "`{0}` holds items of one byte without a type (`V1`), as NumPy saves the types of "
          "ml_dtypes, and `{1}` is {2}, which is none of them; save it by "
          "`.astype(numpy.float32)`, or give its raw bits by codes:{0}",
          spec.path, name, isa::to_string(dtype)));
}

/// Items of one byte as codes: bits above the type's are zero or, of integers, copies of the sign.
Status take_codes(const HostTensor& items, HostTensor& tensor, const Spec& spec,
                  std::string_view name) {
  const std::uint64_t mask = isa::low_mask(tensor.dtype.bits);
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) {
    const std::uint64_t item = items.code(k), code = item & mask;
    const bool sign = tensor.dtype.is_signed_int() && (code >> (tensor.dtype.bits - 1) & 1) != 0;
    const bool fits = item == code || (sign && item == ((~mask & 0xff) | code));
    if (!fits) {
      return data_error(Code::data_not_representable,
                        fmt::format("`{}`: code {} of `{}`{} has more than the {} bits of {}",
                                    spec.path, item, name, format_index(tensor.shape, k),
                                    tensor.dtype.bits, with_article(tensor.dtype)),
                        place_of(spec.path, name, tensor.shape, k));
    }
    tensor.set_code(k, code);
  }
  return Done{};
}

Status fill_from_numbers(HostTensor& tensor, const Spec& spec, std::string_view name,
                         DataReader& reader) {
  const auto check = [&](const ArrayType& file) -> Status {
    if (!fits_shape(file, tensor.shape)) return wrong_shape(file, spec, tensor, name);
    return check_untyped(file, spec, tensor.dtype, name);
  };
  const Result<HostArray> file = reader.read(spec.path, spec.member, std::string(name), check);
  if (!file) return file.error();
  if (file->untyped) return take_codes(*file, tensor, spec, name);
  const Result<Rounding> rounding = convert_numbers(*file, tensor, reader.exact(), spec.path, name);
  if (!rounding) return rounding.error();
  if (rounding->count > 0) {
    reader.add({Code::data_rounded, describe(*rounding, *file, tensor, spec.path, name),
                place_of(spec.path, name, tensor.shape, rounding->first), rounding->count,
                rounding->largest_error});
  }
  return Done{};
}

Status fill_from_codes(HostTensor& tensor, const Spec& spec, std::string_view name,
                       DataReader& reader) {
  const auto check = [&](const ArrayType& file) -> Status {
    if (file.dtype.kind != isa::TypeKind::unsigned_int && file.dtype != tensor.dtype) {
      return wrong_type(spec, name,
                        fmt::format("`{}` holds {}, but codes are unsigned integers", spec.path,
                                    isa::to_string(file.dtype)));
    }
    if (!fits_shape(file, tensor.shape)) return wrong_shape(file, spec, tensor, name);
    return Done{};
  };
  const Result<HostArray> file = reader.read(spec.path, spec.member, std::string(name), check);
  if (!file) return file.error();
  const std::uint64_t largest = isa::low_mask(tensor.dtype.bits);
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) {
    const std::uint64_t code = file->code(k);
    if (code > largest) {
      return data_error(Code::data_not_representable,
                        fmt::format("`{}`: code {} of `{}`{} has more than the {} bits of {}",
                                    spec.path, code, name, format_index(tensor.shape, k),
                                    tensor.dtype.bits, with_article(tensor.dtype)),
                        place_of(spec.path, name, tensor.shape, k));
    }
    tensor.set_code(k, code);
  }
  return Done{};
}

Status fill_from_packed(HostTensor& tensor, const Spec& spec, std::string_view name,
                        DataReader& reader) {
  const auto check = [&](const ArrayType& file) -> Status {
    const bool is_words = file.dtype.is_integer() && file.dtype.is_byte_sized();
    if (!is_words && file.dtype != tensor.dtype) {
      return wrong_type(spec, name,
                        fmt::format("`{}` holds {}, but packed data is integers: bytes (uint8), or "
                                    "words of 16, 32 or 64 bits",
                                    spec.path, isa::to_string(file.dtype)));
    }
    const std::uint64_t bytes =
        isa::bytes_for_bits(checked_count(file.shape).value_or(0) * file.dtype.bits);
    const std::uint64_t word = is_words ? file.dtype.bits / 8 : 1;
    if (bytes == (tensor.data.size() + word - 1) / word * word) return Done{};
    return data_error(
        Code::wrong_data_shape,
        fmt::format("`{}` holds {} bytes, but `{}` is {}, which packs into {}", spec.path, bytes,
                    name, format_type(tensor.dtype, tensor.shape), tensor.data.size()),
        {spec.path, std::string(name), {}});
  };
  Result<HostArray> file = reader.read(spec.path, spec.member, std::string(name), check);
  if (!file) return file.error();
  file->data.resize(tensor.data.size());  // bytes of the last word that have no element
  tensor.data = std::move(file->data);
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

void fill_iota(HostTensor& tensor, std::uint64_t step) {
  if (!tensor.dtype.is_float()) {
    return fill_with(tensor, [step](std::size_t k) { return step * std::uint64_t{k}; });
  }
  const std::uint64_t range = counting_range(tensor.dtype);
  if (tensor.dtype == isa::f32) {  // which counts further than a table should
    return fill_with(tensor, [step, range](std::size_t k) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(step * std::uint64_t{k} % range));
    });
  }
  if (tensor.dtype == isa::f64) {
    return fill_with(tensor, [step, range](std::size_t k) {
      return std::bit_cast<std::uint64_t>(static_cast<double>(step * std::uint64_t{k} % range));
    });
  }
  std::vector<std::uint64_t> codes;
  for (std::uint64_t count = 0; count < range; ++count) {
    codes.push_back(isa::encode(tensor.dtype, isa::number_from(count)));
  }
  fill_with(tensor, [&codes, step](std::size_t k) {
    return codes[static_cast<std::size_t>(step * std::uint64_t{k} % codes.size())];
  });
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

Status fill_value(HostTensor& tensor, const Spec& spec, std::string_view name) {
  const std::optional<isa::Number> value = parse_number(spec.value);
  if (!value) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` in `{}` is not a number", spec.value, spec.text)};
  }
  const std::optional<std::uint64_t> code = near_code(tensor.dtype, *value);
  if (!code) {
    return data_error(Code::data_not_representable,
                      fmt::format("`{}`: {} is not {}, the type of `{}`", spec.text, spec.value,
                                  why_not(tensor.dtype, *value), name),
                      {{}, std::string(name), {}});
  }
  fill_with(tensor, [code = *code](std::size_t) { return code; });
  return Done{};
}

Status fill_tensor(HostTensor& tensor, const Spec& spec, std::string_view name,
                   DataReader& reader) {
  switch (spec.kind) {
    case SourceKind::file:
      return fill_from_numbers(tensor, spec, name, reader);
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
      fill_iota(tensor, spec.step);
      break;
    case SourceKind::full:
      return fill_value(tensor, spec, name);
    case SourceKind::codes:
      return fill_from_codes(tensor, spec, name, reader);
    case SourceKind::packed:
      return fill_from_packed(tensor, spec, name, reader);
  }
  return Done{};
}

}  // namespace

Status check_given(const std::optional<isa::DType>& given_dtype,
                   const std::optional<isa::Shape>& given_shape, const std::string& text,
                   const isa::DType& dtype, const isa::Shape& shape, std::string_view name) {
  if (given_dtype.value_or(dtype) != dtype) {
    return data_error(Code::wrong_data_type,
                      fmt::format("`{}` says {}, but `{}` is {}", text,
                                  isa::to_string(*given_dtype), name, format_type(dtype, shape)),
                      {{}, std::string(name), {}});
  }
  if (given_shape.value_or(shape) != shape) {
    return data_error(
        Code::wrong_data_shape,
        fmt::format("`{}` says {}, but `{}` is {}", text, format_type(dtype, *given_shape), name,
                    format_type(dtype, shape)),
        {{}, std::string(name), {}});
  }
  return Done{};
}

Result<HostTensor> load(const Spec& spec, const isa::DType& dtype, const isa::Shape& shape,
                        std::string_view name, DataReader& reader) {
  const Status given = check_given(spec.dtype, spec.shape, spec.text, dtype, shape, name);
  if (!given) return given.error();
  Result<HostTensor> tensor = make_tensor(dtype, shape, name);
  if (!tensor) return tensor;
  const Status filled = fill_tensor(*tensor, spec, name, reader);
  if (!filled) return filled.error();
  return tensor;
}

}  // namespace tilevm::vm
