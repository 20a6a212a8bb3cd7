// Checks that a compiled image is complete. The driver is given a pointer without a length, so a
// truncated image (a damaged cache, say) must be found before it is loaded.
#pragma once

#include <string>
#include <string_view>

namespace tilevm::backend {

/// "" for a cubin (ELF), a fatbin or PTX text whose parts are all inside `image`; otherwise
/// the fault. Only bounds are checked, not the code.
[[nodiscard]] std::string find_image_fault(std::string_view image);

}  // namespace tilevm::backend
