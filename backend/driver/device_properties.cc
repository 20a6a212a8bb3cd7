#include "backend/driver/device_properties.h"

#include <fmt/format.h>

namespace tilevm::backend {

std::string DeviceProperties::target() const {
  // From 9.0 on there are instructions (wgmma, tcgen05) that only the variant with an `a` has.
  return fmt::format("sm_{}{}{}", sm_major, sm_minor, sm_major >= 9 ? "a" : "");
}

std::string DeviceProperties::describe() const {
  return fmt::format("{}, sm_{}{}, {} GiB, {} multiprocessors", name, sm_major, sm_minor,
                     memory_bytes >> 30, multiprocessors);
}

}  // namespace tilevm::backend
