// Matrices of lanes transposed: from lanes thread by thread to rows with a lane of each thread, and
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilevm::sim {

/// out[order[c]][r] = in[r][c] for lanes of codes of `bits` bits: `in` has `rows` rows of
/// order.size() lanes, `out` rows of `rows` lanes. The memory of both is disjoint.
void transpose_to_rows(unsigned bits, const std::uint8_t* in, std::size_t rows,
                       const std::vector<std::int32_t>& order, std::uint8_t* out);

/// The inverse: out[r][c] = in[order[c]][r].
void transpose_from_rows(unsigned bits, const std::uint8_t* in, std::size_t rows,
                         const std::vector<std::int32_t>& order, std::uint8_t* out);

/// out[i] = in[sources[i]].
void permute_lanes(unsigned bits, const std::uint8_t* in, const std::vector<std::int32_t>& sources,
                   std::uint8_t* out);

}  // namespace tilevm::sim
