// The sources and destinations of data: `--in NAME=SPEC` and `--out NAME=DEST`.
//
//   SPEC    FILE.npy | rand[:SEED] | wild[:SEED] | corner[:SEED] | zeros |
//           iota | full:VALUE | codes:FILE.npy | packed:FILE.npy
//   DEST    FILE.npy | codes:FILE.npy
//
// Either may be preceded by a type and a shape, `f16[64,64]=rand:1`, for pointers whose tensor the
// program does not tell. The caller splits off `NAME=`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/type/dtype.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

enum class SourceKind : std::uint8_t {
  file,    ///< numbers of a .npy file, exactly
  rand,    ///< floats uniform in [-1, 1), integers over their whole range
  wild,    ///< random finite bit patterns
  corner,  ///< as rand, but many elements lie at the edges of their type
  zeros,   ///< zero bits
  iota,    ///< 0, 1, 2, ... and from the start again where the type ends
  full,    ///< one value
  codes,   ///< raw bits, one element per unsigned item
  packed,  ///< raw bits, densely packed bytes
};

/// A parsed SPEC. `text` is what the user wrote.
struct Spec {
  std::optional<isa::DType> dtype;
  std::optional<isa::Shape> shape;
  SourceKind kind = SourceKind::rand;
  std::uint64_t seed = 0;  ///< rand, wild, corner
  std::string value;       ///< full: a number's text
  std::string path;        ///< file, codes, packed
  std::string text;
};

/// A parsed DEST.
struct Dest {
  std::optional<isa::DType> dtype;
  std::optional<isa::Shape> shape;
  bool codes = false;  ///< raw bits instead of numbers
  std::string path;
  std::string text;
};

/// Error (usage) with a suggestion where a word is misspelt.
[[nodiscard]] Result<Spec> parse_spec(std::string_view text);
[[nodiscard]] Result<Dest> parse_dest(std::string_view text);

/// Makes the tensor `name` of the given type and shape.
///   file    the file's shape must be `shape`, and each number exactly representable in `dtype`
///   iota    integers and bipolar integers count codes and wrap; floats count from 0 up to the last
///           integer before the first they cannot hold, and start over
///   full    read as an integer or a double; floats round to nearest, but nothing saturates;
///           integers must be exact
///   codes   unsigned items below 2^bits, of shape `shape`
///   packed  uint8 items of any shape, as many bytes as the tensor takes
/// Error (program): the data does not fit; it names the file, the first index and the value.
[[nodiscard]] Result<HostTensor> load(const Spec& spec, const isa::DType& dtype,
                                      const isa::Shape& shape, std::string_view name);

/// What a .npy file of this tensor holds: the exact numbers in the smallest fitting NumPy type
/// (sub-byte integers int8/uint8, bipolar int16, small floats, bf16 and tf32 float32), or with
/// `codes` the raw bits in the smallest unsigned type.
[[nodiscard]] Result<HostTensor> to_numpy(const HostTensor& tensor, bool codes);

/// Writes a tensor. Error (usage): the file cannot be written; (program): the type or the shape
/// that `dest` asks for is another one.
[[nodiscard]] Status store(const Dest& dest, const HostTensor& tensor, std::string_view name);

}  // namespace tilevm::vm
