// The driver's library: found, opened, initialised once; and its error codes in words.
#pragma once

#include <memory>
#include <string>

#include "backend/driver/cuda_api.h"
#include "backend/host/dynamic_library.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// NVIDIA's driver, opened and initialised.
class Driver {
 public:
  /// Opens `library`, or $TILEVM_LIBCUDA, or libcuda.so.1, and initialises it.
  /// Errors (unavailable): not found, too old, no device.
  [[nodiscard]] static Result<std::shared_ptr<const Driver>> open(const std::string& library = "");

  [[nodiscard]] const cuda::Api& api() const { return api_; }

  /// The CUDA version it supports, 1000 * major + 10 * minor: 13000 is 13.0.
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] const std::string& path() const { return library_.path(); }

  /// The driver's own version, "580.159.04", or empty where the file's name does not tell it.
  [[nodiscard]] std::string release() const;

  /// "driver 580.159.04, CUDA 13.0 (/path/libcuda.so.580.159.04)".
  [[nodiscard]] std::string describe() const;

  /// An Error for a failed call: what was being done, the driver's name and words for the code,
  /// and what to do about it.
  [[nodiscard]] Error error(cuda::Code code, const std::string& doing) const;

 private:
  DynamicLibrary library_;
  cuda::Api api_;
  int version_ = 0;
};

/// True for codes after which the context answers nothing else.
[[nodiscard]] bool costs_the_context(cuda::Code code);

/// "13.0" for 13000.
[[nodiscard]] std::string cuda_version_text(int version);

}  // namespace tilevm::backend
