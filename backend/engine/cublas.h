// NVIDIA's own matrix multiplication, found and opened at run time, to compare with.
#pragma once

#include <memory>
#include <string>

#include "backend/driver/device.h"
#include "backend/engine/cublas_api.h"
#include "backend/host/dynamic_library.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// c[m, n] = a[m, k] * b[k, n], all row-major with 16-bit elements, added up in f32.
struct MatmulProblem {
  int m = 0, n = 0, k = 0;
  bool bf16 = false;        ///< the elements are bf16; false: f16
  bool transposed = false;  ///< b is stored as [n, k] ("tn" in BLAS's words); false: [k, n] ("nn")
};

/// An opened cuBLAS with a handle on one device. Copies share it.
class Cublas {
 public:
  /// Looks for the library: $TILEVM_LIBCUBLAS (then nothing else), the names libcublas.so.13 and
  /// .12 as the loader finds them, then the same in `cuda_library_folders`, beside NVRTC, and where
  /// Python wheels have it relative to these.
  /// Error (unavailable): not found and where it was looked for, or it does not start.
  [[nodiscard]] static Result<Cublas> open(const Device& device);

  /// "cuBLAS 13.1.0 (/path/libcublas.so.13)".
  [[nodiscard]] std::string describe() const;

  /// Puts a multiplication on the default stream. Error (unavailable): cuBLAS refuses.
  Status multiply(const MatmulProblem& problem, const DeviceBuffer& a, const DeviceBuffer& b,
                  DeviceBuffer& c) const;

 private:
  explicit Cublas(Device device) : device_(std::move(device)) {}
  [[nodiscard]] Status load(DynamicLibrary library);

  Device device_;
  DynamicLibrary library_;
  cublas::Api api_;
  std::shared_ptr<cublas::HandleObject> handle_;
  int version_ = 0;
};

}  // namespace tilevm::backend
