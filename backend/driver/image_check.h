// Checks that a compiled image is complete. The driver is given a pointer without a length, so a
// truncated image (a damaged cache, say) must be found before it is loaded.
#pragma once

#include <string>
#include <string_view>

namespace tilevm::backend {

/// "" for a cubin (ELF), a fatbin or PTX text whose parts all lie inside `image`; else what is
/// wrong with it. It looks at bounds only, not at the code.
[[nodiscard]] std::string find_image_fault(std::string_view image);

}  // namespace tilevm::backend
