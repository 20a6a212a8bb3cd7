// NumPy's .npy files: reading formats 1.0 to 3.0, writing 1.0.
//
// A file is a HostTensor of one of NumPy's own types: i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64
// (bool reads as u8 holding 0 and 1). Format: magic "\x93NUMPY", version, header length, a Python
// dictionary of `descr`, `fortran_order` and `shape`, padding, data (numpy.lib.format).
//
// The types of ml_dtypes lose their names when NumPy saves them: bfloat16 is `<V2`, float8_e5m2 is
// `<f1`, all other types of one byte are `<V1`. The first two are read as what they are. Items of
// `V1` are codes of an unknown type, one a byte (int4 in the low four bits).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

/// The longest beginning of a file that has its whole header.
inline constexpr std::uint64_t max_npy_header_bytes = (1 << 16) + 12;

/// What a file says of its array.
struct ArrayType {
  isa::DType dtype;
  isa::Shape shape;
  bool untyped = false;  ///< elements are codes of an unknown type of 8 bits or fewer, here u8

  friend bool operator==(const ArrayType&, const ArrayType&) = default;
};

/// An array as a file has it.
struct HostArray : HostTensor {
  bool untyped = false;  ///< whether the type is a guess, as ArrayType::untyped
};

/// The type and the shape of a .npy file of `size` bytes that begins with `bytes`, which are all
/// or at least max_npy_header_bytes. Errors as of parse_npy.
[[nodiscard]] Result<ArrayType> parse_npy_type(std::span<const std::uint8_t> bytes,
                                               std::uint64_t size, const std::string& name);

/// Reads the bytes of a .npy file; `name` is the file's name for messages. Either byte order and
/// either index order gives the same tensor. Error (program): not a .npy file, a type that is not
/// listed above, a shape that does not match the amount of data.
[[nodiscard]] Result<HostArray> parse_npy(std::span<const std::uint8_t> bytes,
                                          const std::string& name);

/// Reads an array from a file. Error (program): it cannot be opened, is not a regular file, is too
/// large.
[[nodiscard]] Result<HostArray> read_npy(const std::string& path);

/// The bytes of a .npy file (format 1.0, little-endian, C order). The tensor must have one of
/// NumPy's own types.
[[nodiscard]] std::vector<std::uint8_t> npy_bytes(const HostTensor& tensor);

/// Writes a tensor of one of NumPy's own types, all of it or nothing.
[[nodiscard]] Status write_npy(const std::string& path, const HostTensor& tensor);

/// Whether `dtype` is one that a .npy file can hold as it is.
[[nodiscard]] bool is_numpy_type(const isa::DType& dtype);

}  // namespace tilevm::vm
