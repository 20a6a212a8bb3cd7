// NumPy's .npy files: reading formats 1.0 to 3.0, writing 1.0.
//
// A file is a HostTensor of one of NumPy's own types: i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64
// (bool reads as u8 holding 0 and 1). Format: magic "\x93NUMPY", version, header length, a Python
// dictionary of `descr`, `fortran_order` and `shape`, padding, data (numpy.lib.format).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

/// Reads the bytes of a .npy file; `name` is the file's name for messages. Either byte order and
/// either index order gives the same tensor. Error (program): not a .npy file, a type that is not
/// listed above, a shape that does not match the amount of data.
[[nodiscard]] Result<HostTensor> parse_npy(std::span<const std::uint8_t> bytes,
                                           const std::string& name);

/// The same from a file. Error (program): it cannot be opened, is no regular file, is too large.
[[nodiscard]] Result<HostTensor> read_npy(const std::string& path);

/// The bytes of a .npy file (format 1.0, little-endian, C order). The tensor must have one of
/// NumPy's own types.
[[nodiscard]] std::vector<std::uint8_t> npy_bytes(const HostTensor& tensor);

/// Writes a tensor of one of NumPy's own types, all of it or nothing.
[[nodiscard]] Status write_npy(const std::string& path, const HostTensor& tensor);

/// Whether `dtype` is one that a .npy file can hold as it is.
[[nodiscard]] bool is_numpy_type(const isa::DType& dtype);

}  // namespace tilevm::vm
