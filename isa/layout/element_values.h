// Which of several values an element of a tile begins with: the values repeat in row-major order of
// the elements (AllocateRegister's `init=[..]`).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// By thread and local place (thread * locals + place), which of `count` values it is.
[[nodiscard]] std::vector<std::int32_t> value_turns(const RegisterLayout& layout,
                                                    std::int64_t count);

/// The turns by local place, where they do not depend on the thread.
[[nodiscard]] std::optional<std::vector<std::int32_t>> local_turns(const RegisterLayout& layout,
                                                                   std::int64_t count);

}  // namespace tilevm::isa
