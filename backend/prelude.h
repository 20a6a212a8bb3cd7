// The text that stands above every emitted program: functions for all that is not plain C++, and
// the arithmetic of element types. The files are backend/prelude/*.cuh, embedded at build time.
#pragma once

#include <string_view>

namespace tilevm::backend {

/// What only the GPU can do: PTX, thread indices, memory.
extern const std::string_view prelude_device;
/// Packed registers, element types, casts, scalars: plain C++ over the above.
extern const std::string_view prelude_portable;

}  // namespace tilevm::backend
