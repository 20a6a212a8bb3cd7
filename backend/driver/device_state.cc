#include "backend/driver/device_state.h"

#include <fmt/format.h>

namespace tilevm::backend {

DeviceState::~DeviceState() {
  // A context with a kernel that does not end is left alone: releasing it would wait for it.
  if (context != nullptr && !stuck) api().primary_ctx_release(handle);
}

Status DeviceState::check(cuda::Code code, const std::string& doing) {
  if (code == cuda::success) return Done{};
  if (costs_the_context(code)) faulted = true;
  return driver->error(code, doing);
}

Status DeviceState::usable() const {
  if (!faulted && !stuck) return Done{};
  return Error{ErrorKind::program,
               fmt::format("the context of GPU {} is lost, because an earlier kernel {}; run the "
                           "command again",
                           properties.ordinal, stuck ? "did not end" : "faulted")};
}

}  // namespace tilevm::backend
