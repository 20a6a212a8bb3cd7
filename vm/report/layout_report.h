// What a layout is, drawn for a terminal and as JSON: `tilevm layout`.
#pragma once

#include <string>

#include "vm/picture/layout_svg.h"
#include "vm/picture/typed_layout.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// The drawing first, then what it means: bits of thread 0, threads and locals, operands of
/// tensor-core instructions that lie so.
[[nodiscard]] std::string layout_text(const LayoutScene& scene, bool color);

/// An object with text, kind, shape and, where it has one, dtype. For registers: threads, locals,
/// replicas, places (thread and local of each element, row-major) and fragments; of memory: storage
/// and offsets. `cut` says whether elements beyond 2^16 were left out.
[[nodiscard]] Json layout_json(const TypedLayout& typed);

/// An object with how, requests, wavefronts, bank_conflicts and worst.
[[nodiscard]] Json access_json(const SharedAccessPicture& access);

}  // namespace tilevm::vm
