// How a tile in registers meets the cache lines of global memory: which threads of a warp touch
// which sectors, and what is fetched for nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/api/counters.h"
#include "sim/counting/access_meter.h"

namespace tilevm::vm {

inline constexpr unsigned words_of_line = sim::line_bytes / 4,
                          words_of_sector = sim::sector_bytes / 4;

/// A cache line of 128 bytes: the lanes that touch each of its words of 4 bytes.
using LineWords = std::array<std::vector<unsigned>, words_of_line>;

/// The lines that a request touches, by their number from the first one on.
[[nodiscard]] std::map<std::uint64_t, LineWords> lines_of(const sim::GlobalRequest& request);

/// What a statement asks of global memory in one execution.
struct GlobalAccessPicture {
  std::string how;  ///< "4 accesses of 16 bytes: .." (isa/access)
  std::vector<sim::GlobalRequest> requests;
  sim::AccessCount total;
  std::size_t worst = 0;  ///< the request that needs most sectors; the first of them
};

/// The picture of a statement; nothing if its addresses are not known before the run
/// (sim::global_requests).
[[nodiscard]] std::optional<GlobalAccessPicture> global_access_of(
    const isa::VerifiedProgram& program, int kernel, const isa::InstStmt& stmt);

/// "16 requests of warps: 64 sectors, 32 more than their bytes fill".
[[nodiscard]] std::string describe(const GlobalAccessPicture& picture);

/// An SVG of the worst request: a row a cache line, a column a word of it, in groups of sectors; in
/// each cell the first lane that moves it. Words of a touched sector that no lane asks for are
/// marked: they are fetched for nothing.
[[nodiscard]] std::string draw_svg(const GlobalAccessPicture& picture);

}  // namespace tilevm::vm
