// How a tile in registers meets the banks of shared memory: which threads of a warp are served in
// which wavefront, and where they wait for one another.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/verify/verify.h"
#include "sim/api/counters.h"
#include "sim/counting/access_meter.h"
#include "vm/picture/typed_layout.h"

namespace tilevm::vm {

/// One pass over the banks: the lanes that each of them serves, by bank.
struct Wavefront {
  std::int64_t part = 0;  ///< part of the request: its threads that are served together
  std::array<std::vector<unsigned>, sim::shared_banks> lanes;
};

/// The wavefronts of a request, in the order of its parts. Lanes that ask for the same word share
/// it. The k-th different word of a bank is served in the k-th wavefront of its part.
[[nodiscard]] std::vector<Wavefront> wavefronts_of(const sim::SharedRequest& request);

/// What a statement asks of shared memory in one execution.
struct SharedAccessPicture {
  std::string how;  ///< "8 accesses of 16 bytes: .." (isa/access)
  std::vector<sim::SharedRequest> requests;
  sim::AccessCount total;
  std::size_t worst = 0;  ///< the request that needs most wavefronts; the first of them
};

/// The picture of a statement; nothing if it asks nothing of shared memory by itself
/// (sim::shared_requests).
[[nodiscard]] std::optional<SharedAccessPicture> shared_access_of(
    const isa::VerifiedProgram& program, int kernel, const isa::InstStmt& stmt);

/// A load, or a store, of a whole tile of this register layout at index 0 of a tensor of this type
/// and memory layout. Nothing after a report; its spans are in `source`, which is set to the text
/// that was judged.
struct TileAccess {
  const TypedLayout& memory;  ///< memory layout with a type
  const TypedLayout& tile;
  bool stores = false;
};
[[nodiscard]] std::optional<SharedAccessPicture> draw_access(const TileAccess& access,
                                                             SourceFile& source,
                                                             Diagnostics& diagnostics);

/// "16 requests of 8 bytes a thread: 32 wavefronts, 16 without conflicts".
[[nodiscard]] std::string describe(const SharedAccessPicture& picture);

/// A table of the worst request: a line a wavefront, a column a bank, in each cell the first lane
/// that is served; many lines, each with its line break.
[[nodiscard]] std::string draw_text(const SharedAccessPicture& picture);

}  // namespace tilevm::vm
