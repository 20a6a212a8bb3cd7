// Matrices in shared memory as `wgmma` reads them: by a descriptor of 64 bits (PTX ISA, "Matrix
// Descriptor Format").
//
// A descriptor names a start and two distances, and one of four swizzles of S = 0, 32, 64 or 128
// bytes. With r the row (of A, or the column of B) and kb the byte along k, the byte of an element
// is, before the swizzle:
//   K-major, S = 0    start + (r/8) * stride + r%8 * 16 + (kb/16) * leading + kb%16
//   K-major, S > 0    start + (r/8) * stride + r%8 * S + kb
//   MN-major, S = 0   start + (r/T) * stride + (r%T) * es + (k/8) * leading + k%8 * 16    T = 16 /
//   es MN-major, S > 0   start + (r/W) * leading + (r%W) * es + (k/8) * stride + k%8 * S     W = S
//   / es
// where es is the size of an element. The swizzle exchanges the units of 16 bytes of a row:
//   byte ^= (byte / 128 % (S / 16)) * 16
// The plan compares every element with the memory layout, so what it accepts is what is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/inst/slots.h"
#include "isa/inst/tensor_type.h"

namespace tilevm::isa {

/// A part of a tensor in shared memory that is a matrix.
struct SharedPart {
  SharedType type;
  std::optional<OffsetList> offset;
  bool transposed = false;  ///< the part's second dimension is the first of the matrix
};

/// The dimensions of the tensor along which the matrix has its two dimensions, in the order of the
/// matrix; nothing if the part has not two, or begins anywhere but at 0 along them.
struct MatrixDims {
  std::size_t first = 0, second = 0;
};
[[nodiscard]] std::optional<MatrixDims> matrix_dims(const SharedPart& part);
/// The extents of the matrix.
[[nodiscard]] std::optional<Shape> matrix_shape(const SharedPart& part);

/// How descriptors name the fragments of a matrix.
struct SharedMatrix {
  bool mn_major = false;
  std::int64_t swizzle = 0;  ///< S, in bytes
  std::int64_t leading_bytes = 0, stride_bytes = 0;
  std::vector<std::int64_t> starts{};        ///< start of each fragment, in bytes from the group's
  std::vector<std::int64_t> group_starts{};  ///< start of each warp group, from the tensor's begin
  /// What an index that is known only at run time adds, in bytes.
  struct RunTimeIndex {
    Expr value;
    std::int64_t stride_bytes = 0;
  };
  std::vector<RunTimeIndex> indices{};

  /// What the address of the tensor must be a multiple of, so that the swizzle of its layout, which
  /// counts from the tensor's begin, is that of the address.
  [[nodiscard]] std::int64_t alignment() const { return swizzle == 0 ? 16 : 8 * swizzle; }
  /// All bits of a descriptor but those of the start.
  [[nodiscard]] std::uint64_t descriptor() const;
};

/// Where the fragments of a matrix begin: tile coordinates along its rows (m or n) and along k.
struct MatrixTile {
  std::int64_t row = 0, k = 0;
};

/// A matrix cut into fragments of `rows` x `depth` elements.
struct MatrixFragments {
  std::int64_t rows = 0, depth = 0;
  bool k_first = false;  ///< whether k is the first of the matrix's dimensions (B)
  bool may_be_mn_major = false;
  std::vector<MatrixTile> tiles{};   ///< matrix tiles of the fragments of a thread
  std::vector<MatrixTile> groups{};  ///< where those of each warp group begin
};

/// The plan, or the reason why no descriptor names the matrix.
[[nodiscard]] std::optional<SharedMatrix> plan_shared_matrix(const SharedPart& part,
                                                             const MatrixFragments& fragments,
                                                             std::string& reason);

/// A layout of the part's tensor that descriptors can name, K-major with the widest swizzle that
/// its extent along k fills; as text of the language.
[[nodiscard]] std::optional<std::string> suggest_shared_layout(const SharedPart& part,
                                                               bool k_first);

}  // namespace tilevm::isa
