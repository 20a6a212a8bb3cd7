// The part of cuBLAS's interface that we use, declared by ourselves; see cuda_api.h.
// Source: cuBLAS documentation.
#pragma once

namespace tilevm::backend::cublas {

using Code = int;                     ///< cublasStatus_t; 0 is success
using Handle = struct HandleObject*;  ///< cublasHandle_t

inline constexpr Code success = 0;

/// Values of cublasOperation_t.
enum Operation : int { op_n = 0, op_t = 1 };
/// Values of cudaDataType_t.
enum DataType : int { real_16f = 2, real_16bf = 14 };
/// Values of cublasComputeType_t.
enum ComputeType : int { compute_32f = 68 };
/// Values of cublasGemmAlgo_t.
enum Algorithm : int { algorithm_default = -1 };

/// Every cuBLAS function we call: F(our name, NVIDIA's name, parameters), and OVERLOADED for those
/// whose name means several functions in C++.
#define TILEVM_CUBLAS_FUNCTIONS(F, OVERLOADED)                                               \
  F(create, cublasCreate_v2, (Handle*))                                                      \
  F(destroy, cublasDestroy_v2, (Handle))                                                     \
  F(get_version, cublasGetVersion_v2, (Handle, int*))                                        \
  OVERLOADED(                                                                                \
      gemm, cublasGemmEx,                                                                    \
      (Handle, Operation, Operation, int, int, int, const void*, const void*, DataType, int, \
       const void*, DataType, int, const void*, void*, DataType, int, ComputeType, Algorithm))

/// One pointer a function.
struct Api {
// Types cannot be put in parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TILEVM_DECLARE(name, nvidia, parameters) Code(*name) parameters = nullptr;
  TILEVM_CUBLAS_FUNCTIONS(TILEVM_DECLARE, TILEVM_DECLARE)
#undef TILEVM_DECLARE
};

}  // namespace tilevm::backend::cublas
