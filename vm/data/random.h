// Random tensors that are the same on every platform and for every number of threads.
//
// Element k of stream s with seed e is output k of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
// begun at state mix(e ^ mix(s)): a function of (e, s, k) alone, without state to carry along. The
// stream of a tensor is the XXH64 of its name, so two inputs with one seed differ. Changing any of
// this changes every recorded result: don't.
#pragma once

#include <cstdint>
#include <string_view>

#include "vm/data/tensor.h"

namespace tilevm::vm {

/// Output `k` (from 0) of SplitMix64 whose state starts at `state`.
[[nodiscard]] std::uint64_t splitmix64(std::uint64_t state, std::uint64_t k);

/// The starting state of a tensor's sequence.
[[nodiscard]] std::uint64_t random_key(std::uint64_t seed, std::string_view name);

/// Floats: (r >> 11) * 2^-52 - 1 rounded to the type, that is uniform in [-1, 1] with 1 only by
/// rounding. Integers and bipolar integers: every code equally likely.
void fill_rand(HostTensor& tensor, std::uint64_t seed, std::string_view name);

/// Floats: every finite code equally likely, so every exponent, both zeros and subnormals occur;
/// no Inf and no NaN. Integers and bipolar integers: as fill_rand.
void fill_wild(HostTensor& tensor, std::uint64_t seed, std::string_view name);

/// As fill_rand, but every 64th, 16th, 4th or each element (by the seed and the name) is at an edge
/// of the type: zeros, the smallest and largest subnormal and normal numbers, one and its
/// neighbours, Inf and NaN, the least and the greatest integer.
void fill_corner(HostTensor& tensor, std::uint64_t seed, std::string_view name);

}  // namespace tilevm::vm
