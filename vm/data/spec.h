// The sources and destinations of data: `--in NAME=SPEC` and `--out NAME=DEST`.
//
//   SPEC    FILE | codes:FILE | packed:FILE | rand[:SEED] | wild[:SEED] | corner[:SEED] | zeros |
//           iota[:STEP] | full:VALUE
//   DEST    FILE | codes:FILE | npz:- | safetensors:-
//   FILE    PATH.npy | PATH.npz[:ARRAY] | PATH.safetensors[:ARRAY] | -
//
// `-` is standard input or output. Either may be preceded by a type and a shape,
// `f16[64,64]=rand:1`, for pointers whose tensor the program does not tell. The caller splits off
// `NAME=`. docs/reference/data.md says what each means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/type/dtype.h"
#include "vm/data/data_reader.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

enum class SourceKind : std::uint8_t {
  file,    ///< numbers of a file
  rand,    ///< floats uniform in [-1, 1), integers over their whole range
  wild,    ///< random finite bit patterns
  corner,  ///< rand, but many elements lie at the edges of their type
  zeros,   ///< zero bits
  iota,    ///< 0, STEP, 2 STEP, ... and from the start again where the type ends
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
  std::uint64_t step = 1;  ///< iota
  std::string value;       ///< full: a number's text
  std::string path;        ///< file, codes, packed; `-` is standard input
  std::string member;      ///< the array of an archive; empty: the only one, or the input's name
  std::string text;
};

/// A parsed DEST.
struct Dest {
  enum class Format : std::uint8_t { npy, npz, safetensors };
  std::optional<isa::DType> dtype;
  std::optional<isa::Shape> shape;
  bool codes = false;  ///< raw bits instead of numbers
  Format format = Format::npy;
  std::string path;    ///< `-` is standard output
  std::string member;  ///< the array of an archive; empty: the output's name
  std::string text;
};

/// Error (usage) with a suggestion where a word is misspelt.
[[nodiscard]] Result<Spec> parse_spec(std::string_view text);
[[nodiscard]] Result<Dest> parse_dest(std::string_view text);

/// Makes the tensor `name` of the given type and shape.
///   file    the file's shape must be `shape`; one of no dimensions fits a tensor of one element.
///           Floats are rounded to a float type, which the reader notes or, if it is exact,
///           refuses; integers must be values of the type
///   iota    integers and bipolar integers count codes and wrap; floats count from 0 up to the last
///           integer before the first they cannot hold, and start over
///   full    read as an integer or a double; floats round to nearest, but nothing saturates;
///           integers must be exact
///   codes   unsigned items below 2^bits, or items of the type itself, of shape `shape`
///   packed  integers of any shape, whose bytes (of wider items the low ones first) are as many as
///           the tensor takes, rounded up to whole items
/// Error (program): the data does not fit; it names the file, the first index and the value.
[[nodiscard]] Result<HostTensor> load(const Spec& spec, const isa::DType& dtype,
                                      const isa::Shape& shape, std::string_view name,
                                      DataReader& reader);

/// Type and shape that the user gave must be the ones that hold. Error (program).
[[nodiscard]] Status check_given(const std::optional<isa::DType>& given_dtype,
                                 const std::optional<isa::Shape>& given_shape,
                                 const std::string& text, const isa::DType& dtype,
                                 const isa::Shape& shape, std::string_view name);

}  // namespace tilevm::vm
