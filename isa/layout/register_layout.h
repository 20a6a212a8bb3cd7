// Register layouts: which (thread, local) place holds which element of a tile.
//
// A layout of shape S over T threads with N local elements is a function f(t, i) -> logical index
// (the paper's section 4). It is kept in the unified form of section 5, plus explicit replication:
//
//   shape          one extent per dimension
//   mode_shape     sizes > 1 which, left to right, factor the dimensions; inside a dimension the
//                  first mode is the most significant digit; a dimension of size 1 owns no mode
//   spatial_modes  digits of the thread index, most significant first: a mode, or -k for a factor
//                  of k threads that all hold the same element (replicas)
//   local_modes    digits of the local index, most significant first
//
// Every mode appears exactly once, in spatial_modes or in local_modes. A RegisterLayout is always
// in canonical form (no mode and no replica factor of size 1; neighbours merged), so two layouts
// are equal if and only if they are the same function, and equality, hash and text agree.
//
//   mma.m16n8k16 C = local(2,1).spatial(8,4).local(1,2), cells are thread:local
//     0:0  0:1  1:0  1:1  2:0  2:1  3:0  3:1
//     4:0  4:1  5:0  5:1  ...
//     0:2  0:3  1:2  1:3  ...                      (row 8)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/layout/shape.h"

namespace tilevm::isa {

class RegisterLayout {
 public:
  using Digit = LayoutDigit;

  /// The identity of the product: rank 0, one thread, one element.
  RegisterLayout() = default;

  /// Builds a layout from the unified form, checks it (sizes positive, modes factor the shape,
  /// every mode used exactly once, limits below) and brings it into canonical form.
  static Result<RegisterLayout> make(Shape shape, const std::vector<std::int64_t>& mode_shape,
                                     const std::vector<int>& spatial_modes,
                                     const std::vector<int>& local_modes);

  /// Builds a layout from its digits, most significant first; canonicalises. Fails if, in some
  /// dimension, the digits' strides are not those of a factorisation of the extent.
  static Result<RegisterLayout> from_digits(Shape shape, std::vector<Digit> spatial,
                                            std::vector<Digit> local);

  /// Bounds on what a layout may be, since programs come from strangers: extents, threads and
  /// locals at most 2^20 each, rank at most 8, at most 64 modes.
  static constexpr std::int64_t max_extent = std::int64_t{1} << 20;
  static constexpr int max_rank = max_layout_rank;
  static constexpr int max_modes = 64;

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<std::int64_t>& mode_shape() const { return mode_shape_; }
  /// Mode index, or -k for a replica factor of k.
  [[nodiscard]] const std::vector<int>& spatial_modes() const { return spatial_modes_; }
  [[nodiscard]] const std::vector<int>& local_modes() const { return local_modes_; }

  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }
  [[nodiscard]] std::int64_t size() const { return element_count(shape_); }
  [[nodiscard]] std::int64_t num_threads() const { return num_threads_; }
  [[nodiscard]] std::int64_t num_locals() const { return num_locals_; }
  /// Threads that hold one element: threads * locals == size * replicas.
  [[nodiscard]] std::int64_t num_replicas() const;
  /// The digits that spatial_modes and local_modes name, most significant first.
  [[nodiscard]] std::vector<Digit> spatial_digits() const;
  [[nodiscard]] std::vector<Digit> local_digits() const;
  /// Sizes of the spatial digits (a mode's size, or k), and of the local digits.
  [[nodiscard]] Shape spatial_shape() const;
  [[nodiscard]] Shape local_shape() const;
  /// The dimension that owns a mode.
  [[nodiscard]] int mode_dim(int mode) const;

  /// f(t, i): the element at local place i of thread t. 0 <= t < num_threads(), likewise i.
  [[nodiscard]] Index element(std::int64_t thread, std::int64_t local) const;
  /// The threads that hold an element, ascending. The index must be in the shape.
  [[nodiscard]] std::vector<std::int64_t> threads_of(const Index& index) const;
  /// The first of them.
  [[nodiscard]] std::int64_t first_thread_of(const Index& index) const;
  /// The local place of an element, the same in every replica.
  [[nodiscard]] std::int64_t local_of(const Index& index) const;

  /// Since digits are independent, index[d] == thread_part[d](t) + local_part[d](i).
  [[nodiscard]] Index thread_part(std::int64_t thread) const;
  [[nodiscard]] Index local_part(std::int64_t local) const;

  /// One digit's share of a dimension's index: `index[dim] += (x / divisor % size) * stride`, where
  /// x is the thread for `thread_terms` and the local place for `local_terms`. This is what index
  /// expressions are emitted from. Most significant first.
  struct Term {
    int dim;
    std::int64_t divisor, size, stride;
    friend bool operator==(const Term&, const Term&) = default;
  };
  [[nodiscard]] const std::vector<Term>& thread_terms() const { return thread_terms_; }
  [[nodiscard]] const std::vector<Term>& local_terms() const { return local_terms_; }
  /// The replica digits of the thread index (dim -1, stride 0). A thread is the first that holds
  /// its elements if and only if `thread / divisor % size` is 0 for all of them.
  [[nodiscard]] const std::vector<Term>& replica_terms() const { return replica_terms_; }

  friend bool operator==(const RegisterLayout& a, const RegisterLayout& b) {
    return a.shape_ == b.shape_ && a.mode_shape_ == b.mode_shape_ &&
           a.spatial_modes_ == b.spatial_modes_ && a.local_modes_ == b.local_modes_;
  }

 private:
  [[nodiscard]] std::vector<Digit> digits_of(const std::vector<int>& modes) const;
  void set_terms();

  Shape shape_;
  std::vector<std::int64_t> mode_shape_;
  std::vector<int> spatial_modes_;
  std::vector<int> local_modes_;
  // Follow from the four above.
  std::vector<Term> thread_terms_, local_terms_, replica_terms_;
  std::int64_t num_threads_ = 1;
  std::int64_t num_locals_ = 1;
};

/// Factors. Arguments of `column_` forms are read with the first dimension fastest.
[[nodiscard]] Result<RegisterLayout> local(const Shape& shape);
[[nodiscard]] Result<RegisterLayout> spatial(const Shape& shape);
[[nodiscard]] Result<RegisterLayout> column_local(const Shape& shape);
[[nodiscard]] Result<RegisterLayout> column_spatial(const Shape& shape);
/// n threads that all hold the same element; rank 0.
[[nodiscard]] Result<RegisterLayout> replicated(std::int64_t n);

/// The layout as text that the language reads back to an equal layout: a product of factors where
/// there is one ("local(2, 1).spatial(8, 4).local(1, 2)", with as few factors as possible; the
/// identity is "local()"), else the unified form
/// "layout([6], [2, 3], [1, 0], [])" (shape, mode shape, spatial modes, local modes).
[[nodiscard]] std::string to_string(const RegisterLayout& layout);

}  // namespace tilevm::isa

template <>
struct std::hash<tilevm::isa::RegisterLayout> {
  std::size_t operator()(const tilevm::isa::RegisterLayout& layout) const noexcept;
};
