// A product by cuBLAS, which is opened at run time: $TILEVM_LIBCUBLAS, else the loader's path, else
// the toolkit.
#pragma once

#include <dlfcn.h>

#include "hopper.cuh"

namespace hopper {

class Cublas {
 public:
  Cublas() {
    const char* named = std::getenv("TILEVM_LIBCUBLAS");
    for (const char* name :
         {named, "libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"}) {
      if (name != nullptr && library_ == nullptr) library_ = dlopen(name, RTLD_NOW);
    }
    if (library_ == nullptr) {
      std::printf("no cuBLAS: name its file in TILEVM_LIBCUBLAS\n");
      return;
    }
    using Create = int(void**);
    const auto create = reinterpret_cast<Create*>(dlsym(library_, "cublasCreate_v2"));
    multiply_ = reinterpret_cast<Multiply*>(dlsym(library_, "cublasGemmEx"));
    if (create == nullptr || multiply_ == nullptr || create(&handle_) != 0) {
      std::printf("cuBLAS cannot be used\n");
      handle_ = nullptr;
    }
  }

  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }

  /// c [m][n] = a [m][k] times w, which is [k][n], or [n][k] if `transposed`; f16, sums in f32.
  void multiply(const void* a, const void* w, void* c, int m, int n, int k, bool transposed) const {
    constexpr int f16 = 2, sums_f32 = 68, any = -1;
    const float one = 1, zero = 0;
    const int status = multiply_(handle_, transposed ? 1 : 0, 0, n, m, k, &one, w, f16,
                                 transposed ? k : n, a, f16, k, &zero, c, f16, n, sums_f32, any);
    if (status == 0) return;
    std::printf("cuBLAS: error %d\n", status);
    std::exit(1);
  }

 private:
  using Multiply = int(void* handle, int first_form, int second_form, int m, int n, int k,
                       const void* alpha, const void* a, int a_type, int a_stride, const void* b,
                       int b_type, int b_stride, const void* beta, void* c, int c_type,
                       int c_stride, int compute_type, int algorithm);
  void *library_ = nullptr, *handle_ = nullptr;
  Multiply* multiply_ = nullptr;
};

}  // namespace hopper
