// What the objects of one device share: the driver, the context, and whether it still works.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>

#include "backend/driver/cuda_library.h"
#include "backend/driver/device_properties.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// One retained primary context. It is released when the last object of the device goes.
struct DeviceState {
  explicit DeviceState(std::shared_ptr<const Driver> opened) : driver(std::move(opened)) {}
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  [[nodiscard]] const cuda::Api& api() const { return driver->api(); }

  /// Done, or an Error that says what failed; a code that costs the context is remembered.
  Status check(cuda::Code code, const std::string& doing);

  /// An Error if the context is lost already; to be asked before anything is called.
  [[nodiscard]] Status usable() const;

  std::shared_ptr<const Driver> driver;
  cuda::DeviceHandle handle = 0;
  cuda::Context context = nullptr;
  DeviceProperties properties;
  std::atomic<bool> faulted{false};  ///< a kernel faulted
  std::atomic<bool> stuck{false};    ///< a kernel did not end in time: calls that wait would hang
};

/// Makes the context current for as long as the object lives, and then what was current before.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceState& state) : state_(state) {
    code_ = state.api().ctx_push_current(state.context);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    cuda::Context ignored = nullptr;
    if (code_ == cuda::success) state_.api().ctx_pop_current(&ignored);
  }
  [[nodiscard]] cuda::Code code() const { return code_; }

 private:
  const DeviceState& state_;
  cuda::Code code_ = cuda::success;
};

/// Runs `call` (which returns a Code) with the context current; the usual shape of a call. `doing`
/// is text, or a function that makes it: launches are too frequent to format text that is not read.
template <class Doing, class Call>
Status with_context(DeviceState& state, const Doing& doing, Call call) {
  if (Status usable = state.usable(); !usable) return usable;
  const CurrentContext current(state);
  const cuda::Code code = current.code() != cuda::success ? current.code() : call(state.api());
  if (code == cuda::success) return Done{};
  if constexpr (std::is_invocable_v<Doing>) {
    return state.check(code, doing());
  } else {
    return state.check(code, doing);
  }
}

}  // namespace tilevm::backend
