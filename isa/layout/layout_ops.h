// The algebra of register layouts. Every operation is pure, states its law, and fails with a
// message in the user's words where its result is not representable.
//
// Sources: the paper's sections 4.2 and 5.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// The Kronecker product a.b; the smaller rank is padded with leading ones.
/// Law: h(t, i) = a(t / Tb, i / Nb) * Sb + b(t % Tb, i % Nb); associative; RegisterLayout() is its
/// identity.
[[nodiscard]] Result<RegisterLayout> compose(const RegisterLayout& a, const RegisterLayout& b);

/// Right division h / g: the f with f.g == h. Law: divide(compose(f, g), g) == f, up to leading
/// dimensions of size one that the product's padding made.
[[nodiscard]] Result<RegisterLayout> divide(const RegisterLayout& h, const RegisterLayout& g);

/// Left division f \ h: the g with f.g == h. Law: left_divide(compose(f, g), f) == g, likewise.
[[nodiscard]] Result<RegisterLayout> left_divide(const RegisterLayout& h, const RegisterLayout& f);

/// Removes dimensions (or keeps them with extent 1): a reduced spatial mode becomes replicas in
/// place, a reduced local mode vanishes. The layout of a reduction's result.
[[nodiscard]] Result<RegisterLayout> reduce(const RegisterLayout& l, const std::vector<int>& dims,
                                            bool keep_dims = false);

/// The layout that an operand of `shape` has when it is broadcast to l's shape: shapes aligned
/// right; reduced with extent 1 kept where the target is 1 and l is not, leading extra dimensions
/// dropped.
[[nodiscard]] Result<RegisterLayout> reduce_to(const RegisterLayout& l, const Shape& shape);

/// New dimension j is old dimension dims[j]. Law: element'(t,i)[j] == element(t,i)[dims[j]].
[[nodiscard]] Result<RegisterLayout> permute(const RegisterLayout& l, const std::vector<int>& dims);

/// Row-major re-view. Law: the row-major linear index of element(t, i) does not change.
[[nodiscard]] Result<RegisterLayout> reshape(const RegisterLayout& l, const Shape& shape);

/// Drops dimensions of extent 1 / inserts them at the given positions of the result. Laws:
/// squeeze(unsqueeze(l, dims), dims) == l; both are reshapes.
[[nodiscard]] Result<RegisterLayout> squeeze(const RegisterLayout& l, const std::vector<int>& dims);
[[nodiscard]] Result<RegisterLayout> unsqueeze(const RegisterLayout& l,
                                               const std::vector<int>& dims);

/// Dimensions of a, then those of b; threads and locals multiply.
[[nodiscard]] Result<RegisterLayout> concat(const RegisterLayout& a, const RegisterLayout& b);

/// Parts of `extent` elements of a dimension, which every thread that holds an element of one holds
/// of all: the layout of each. Law: slice(compose(local(.., n, ..), l), dim, extent of l) == l.
[[nodiscard]] Result<RegisterLayout> slice(const RegisterLayout& l, int dim, std::int64_t extent);

/// A layout of a tile over `threads` threads: neighbours in the last dimension go to neighbouring
/// threads, as far as the extents divide; left-over threads become leading replicas, left-over
/// elements become local. local(n_d / s_d ...).spatial(s_d ...), s_d the greatest common divisor
/// of n_d and the threads that are left, from the last dimension to the first.
[[nodiscard]] Result<RegisterLayout> auto_local_spatial(std::int64_t threads, const Shape& shape);

/// Whether two layouts put every element into the same threads and differ at most by a permutation
/// of places inside each thread. Such a conversion needs no exchange between threads.
[[nodiscard]] bool thread_local_equivalent(const RegisterLayout& a, const RegisterLayout& b);

/// An element that one of two threads would have to give to the other.
struct Crossing {
  Index element;
  std::int64_t from, to;
};

/// Why a tile in layout `from` cannot be brought into layout `to`, of the same shape and threads,
/// inside each thread; nothing if they are thread_local_equivalent. Law: `from` has the element in
/// thread `from`, `to` has it in thread `to`, and one of them does not have it in the other's.
[[nodiscard]] std::optional<Crossing> find_crossing(const RegisterLayout& from,
                                                    const RegisterLayout& to);

/// The largest n such that, in every thread, every aligned group of n consecutive local places
/// holds n elements with consecutive indices in dimension `dim` (other indices equal), the first a
/// multiple of n. 1 for a dimension that does not exist.
[[nodiscard]] std::int64_t contiguity(const RegisterLayout& l, int dim);

}  // namespace tilevm::isa
