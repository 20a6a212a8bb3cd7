// How a block moves a tile: which thread makes which machine accesses, and how wide they are.
//
// The plan does not change what a program computes. The CUDA backend writes its loops from the
// plan, and the simulator counts sectors and bank conflicts from the same plan. Wider accesses need
// changes only in this file and in access_run.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/access/tile_mapping.h"

namespace tilevm::isa {

/// What the accesses of a thread are.
enum class AccessForm : std::uint8_t {
  /// One element narrower than a byte. A load reads its byte, and the next one if the element
  /// reaches into it; a store changes its aligned 32-bit word, and likewise the next one,
  /// atomically.
  bits,
  /// Elements that are contiguous in memory and fill whole bytes: loads or stores of `widths`
  /// bytes, one after another.
  bytes,
  /// One, two or four matrices of eight rows of 16 bytes in shared memory, a word of each for every
  /// thread of a warp (PTX ldmatrix, stmatrix). Thread i gives the address of row i.
  matrix,
  copy,  ///< an asynchronous copy of 4, 8 or 16 bytes (PTX cp.async)
};

/// `place += x / divisor % size * step` and `index[dim] += x / divisor % size * stride`, where x is
/// the number of an access of a thread, or of an element in an access.
struct AccessDigit {
  std::int64_t divisor, size, step;
  int dim;  ///< dimension of the tensor
  std::int64_t stride;
  bool flips = false;  ///< whether XOR combines its share of the address (AddressForm::flipped)
  friend bool operator==(const AccessDigit&, const AccessDigit&) = default;
};

/// What keeps accesses from being wider.
struct MissedReason {
  enum class Kind : std::uint8_t {
    none,       ///< 16 bytes, or all that a thread has
    registers,  ///< neighbours in memory do not follow one another in a thread
    count,      ///< a contiguous run of `value` elements is not a multiple of a wider access
    order,      ///< elements may share an address, so their order matters
    offset,     ///< offset of dimension `dim`: is only known to be a multiple of `value`
    stride,     ///< stride of dimension `dim`: is only known to be a multiple of `value`
    extent,     ///< extent of dimension `dim`: is only known to be a multiple of `value`
    layout,     ///< memory layout: does not keep `value` elements contiguous and aligned
    swizzle,    ///< splits runs of more than `value` elements
    index,      ///< indices of neighbours are different
  };
  Kind kind = Kind::none;
  int dim = 0;
  std::int64_t value = 0;
};

/// The addresses of a thread's accesses in one tensor.
struct AccessSide {
  TileMapping mapping{};
  std::vector<TensorTerm> threads{};  ///< digits of the thread; of a matrix, of the row's
  std::vector<AccessDigit> outer{};   ///< digits of an access's number; of a copy, see by_piece
  AddressForm address = AddressForm::whole;
};

/// A tile in registers: access i of each thread moves `elements` of its elements. A copy: access i
/// of thread t moves piece t + i * threads of the tile, if there is one; pieces are `elements`
/// neighbours along the last dimension, counted row by row. Matrices move `elements` of each
/// thread, too, in the order of its places: access i fills its words [i * matrices, (i + 1) *
/// matrices).
///
/// The elements of one access to global memory are all inside the view or all outside. A thread
/// makes only the accesses whose elements are inside. All threads make a copy, which fills the
/// elements outside the view with zeros.
struct AccessPlan : AccessSide {
  AccessForm form = AccessForm::bytes;
  std::int64_t elements = 1;
  std::int64_t count = 0;  ///< accesses of a thread, at most
  MissedReason missed{};

  // Fields of a tile in registers. Digits of an element's number in its access, in memory's order.
  std::vector<AccessDigit> inner{};
  std::vector<std::int64_t> widths{};  ///< bytes
  std::int64_t matrices = 0;           ///< number of matrices of one access, for AccessForm::matrix
  /// Whether the two halves of a word are in two rows, for AccessForm::matrix.
  bool transposed = false;
  /// Whether it moves stores of the same warp, so that their order matters.
  bool moves_own_stores = false;
  /// If an index says where elements are: by the tile's local place, that of its index in the
  /// tile of indices. The elements of an access have one index.
  std::vector<std::int32_t> index_places{};

  // The other side of a copy, whose own side is that of the view.
  AccessSide to{};
  Shape pieces{};  ///< the tile's extents, the last one in pieces
  /// The outer digits are digits of a piece's number, since the pieces of a thread differ in more
  /// than the share of an access's number.
  bool by_piece = false;
  /// The view's dimension whose bound may cut a piece, if one does.
  std::optional<std::size_t> cut_dim{};

  /// The local place of element j of access i.
  [[nodiscard]] std::int64_t local_place(std::int64_t i, std::int64_t j = 0) const;
  /// Whether the elements of an access are neighbours in the thread's registers, too.
  [[nodiscard]] bool in_order() const;
  /// Whether threads must test that their elements are inside the view.
  [[nodiscard]] bool tests_bounds() const;
};

/// "the strides of dimension 0 are only known to be multiples of 4"; empty if there is none.
[[nodiscard]] std::string describe(const MissedReason& missed);

/// What the plan is and why it is no wider: "4 accesses of 16 bytes", "16 accesses of 2 bytes: the
/// offset of dimension 1 is only known to be a multiple of 1".
[[nodiscard]] std::string describe(const AccessPlan& plan);

}  // namespace tilevm::isa
