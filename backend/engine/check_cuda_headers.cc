// Proves at compile time that our declarations (cuda_api.h, nvrtc_api.h) agree with NVIDIA's.
//
// Nothing here is used at run time. The build compiles it a second time, with NVIDIA's headers,
// where a toolkit is found (check_cuda_headers.cmake); without them it is empty.
#ifdef TILEVM_HAVE_CUDA_HEADERS

#include <cuda.h>
#include <nvrtc.h>
#if __has_include(<cublas_api.h>)
#include <cublas_api.h>
#define TILEVM_HAVE_CUBLAS_HEADERS
#endif

#include <type_traits>

#include "backend/compile/nvrtc_api.h"
#include "backend/driver/cuda_api.h"
#include "backend/engine/cublas_api.h"

namespace tilevm::backend {
namespace {

template <class T>
struct Underlying {
  using type = T;
};
template <class T>
  requires std::is_enum_v<T>
struct Underlying<T> {
  using type = std::underlying_type_t<T>;
};

/// Types that are equal as far as the calling convention goes: both are passed as pointers to data,
/// or as integers (or enumerations) of one size, or they are the same type.
template <class Ours, class Theirs>
constexpr bool agree() {
  using A = typename Underlying<Ours>::type;
  using B = typename Underlying<Theirs>::type;
  if constexpr (std::is_same_v<A, B>) {
    return true;
  } else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using PointedA = std::remove_cv_t<std::remove_pointer_t<A>>;
    using PointedB = std::remove_cv_t<std::remove_pointer_t<B>>;
    const bool handles = std::is_class_v<PointedA> && std::is_class_v<PointedB>;
    return handles || agree<PointedA, PointedB>();
  } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    return sizeof(A) == sizeof(B);
  } else {
    return false;
  }
}

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class S, class... A, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<agree<R, S>() && (agree<A, B>() && ...)> {};

static_assert(!SameCall<int (*)(int), int (*)(long)>::value, "the check can fail");
static_assert(!SameCall<int (*)(int*), int (*)(int)>::value, "the check can fail");
static_assert(!SameCall<int (*)(unsigned long*), int (*)(int*)>::value, "the check can fail");

#define TILEVM_CHECK_CALL(name, nvidia, symbol, version, parameters) \
  static_assert(SameCall<decltype(cuda::Api::name), decltype(&::nvidia)>::value, #nvidia);
TILEVM_DRIVER_FUNCTIONS(TILEVM_CHECK_CALL)
TILEVM_DRIVER_OPTIONAL_FUNCTIONS(TILEVM_CHECK_CALL)
static_assert(SameCall<cuda::GetProcAddress, decltype(&::cuGetProcAddress)>::value);
#undef TILEVM_CHECK_CALL

#define TILEVM_CHECK_CALL(name, nvidia, parameters) \
  static_assert(SameCall<decltype(nvrtc::Api::name), decltype(&::nvidia)>::value, #nvidia);
TILEVM_NVRTC_FUNCTIONS(TILEVM_CHECK_CALL)
#if CUDA_VERSION >= 13000
TILEVM_NVRTC_OPTIONAL_FUNCTIONS(TILEVM_CHECK_CALL)
#endif
static_assert(
    SameCall<decltype(nvrtc::Api::get_error_string), decltype(&::nvrtcGetErrorString)>::value);
#undef TILEVM_CHECK_CALL

#define TILEVM_SAME_NUMBER(ours, theirs) \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
TILEVM_SAME_NUMBER(cuda::success, CUDA_SUCCESS);
TILEVM_SAME_NUMBER(cuda::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
TILEVM_SAME_NUMBER(cuda::stub_library, CUDA_ERROR_STUB_LIBRARY);
TILEVM_SAME_NUMBER(cuda::no_device, CUDA_ERROR_NO_DEVICE);
TILEVM_SAME_NUMBER(cuda::invalid_device, CUDA_ERROR_INVALID_DEVICE);
TILEVM_SAME_NUMBER(cuda::invalid_image, CUDA_ERROR_INVALID_IMAGE);
TILEVM_SAME_NUMBER(cuda::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
TILEVM_SAME_NUMBER(cuda::invalid_ptx, CUDA_ERROR_INVALID_PTX);
TILEVM_SAME_NUMBER(cuda::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
TILEVM_SAME_NUMBER(cuda::not_found, CUDA_ERROR_NOT_FOUND);
TILEVM_SAME_NUMBER(cuda::not_ready, CUDA_ERROR_NOT_READY);
TILEVM_SAME_NUMBER(cuda::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
TILEVM_SAME_NUMBER(cuda::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
TILEVM_SAME_NUMBER(cuda::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT);
TILEVM_SAME_NUMBER(cuda::assert_failed, CUDA_ERROR_ASSERT);
TILEVM_SAME_NUMBER(cuda::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR);
TILEVM_SAME_NUMBER(cuda::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
TILEVM_SAME_NUMBER(cuda::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS);
TILEVM_SAME_NUMBER(cuda::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE);
TILEVM_SAME_NUMBER(cuda::invalid_pc, CUDA_ERROR_INVALID_PC);
TILEVM_SAME_NUMBER(cuda::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
TILEVM_SAME_NUMBER(cuda::driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
TILEVM_SAME_NUMBER(cuda::compat_not_supported_on_device, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);

#if CUDA_VERSION >= 12000
static_assert(sizeof(cuda::TensorMapBits) == sizeof(::CUtensorMap));
TILEVM_SAME_NUMBER(cuda::map_u8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
TILEVM_SAME_NUMBER(cuda::map_u16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
TILEVM_SAME_NUMBER(cuda::map_u32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
TILEVM_SAME_NUMBER(cuda::map_u64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
TILEVM_SAME_NUMBER(cuda::map_f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
TILEVM_SAME_NUMBER(cuda::map_f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
TILEVM_SAME_NUMBER(cuda::map_bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
TILEVM_SAME_NUMBER(cuda::map_interleave_none, CU_TENSOR_MAP_INTERLEAVE_NONE);
TILEVM_SAME_NUMBER(cuda::map_swizzle_none, CU_TENSOR_MAP_SWIZZLE_NONE);
TILEVM_SAME_NUMBER(cuda::map_swizzle_32, CU_TENSOR_MAP_SWIZZLE_32B);
TILEVM_SAME_NUMBER(cuda::map_swizzle_64, CU_TENSOR_MAP_SWIZZLE_64B);
TILEVM_SAME_NUMBER(cuda::map_swizzle_128, CU_TENSOR_MAP_SWIZZLE_128B);
TILEVM_SAME_NUMBER(cuda::map_promotion_l2_128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
TILEVM_SAME_NUMBER(cuda::map_fill_zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
TILEVM_SAME_NUMBER(cuda::map_fill_nan, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
#endif

TILEVM_SAME_NUMBER(cuda::capture_thread_local, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
TILEVM_SAME_NUMBER(cuda::stream_non_blocking, CU_STREAM_NON_BLOCKING);
TILEVM_SAME_NUMBER(cuda::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
TILEVM_SAME_NUMBER(cuda::warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
TILEVM_SAME_NUMBER(cuda::clock_rate_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
TILEVM_SAME_NUMBER(cuda::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
TILEVM_SAME_NUMBER(cuda::memory_clock_rate_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
TILEVM_SAME_NUMBER(cuda::memory_bus_width_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
TILEVM_SAME_NUMBER(cuda::l2_cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
TILEVM_SAME_NUMBER(cuda::max_threads_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
TILEVM_SAME_NUMBER(cuda::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
TILEVM_SAME_NUMBER(cuda::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
TILEVM_SAME_NUMBER(cuda::max_shared_bytes_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
TILEVM_SAME_NUMBER(cuda::max_registers_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
TILEVM_SAME_NUMBER(cuda::max_shared_bytes_per_block_optin,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

TILEVM_SAME_NUMBER(cuda::function_max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
TILEVM_SAME_NUMBER(cuda::function_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
TILEVM_SAME_NUMBER(cuda::function_local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
TILEVM_SAME_NUMBER(cuda::function_registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
TILEVM_SAME_NUMBER(cuda::function_max_dynamic_shared_bytes,
                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
TILEVM_SAME_NUMBER(cuda::jit_error_log_buffer, CU_JIT_ERROR_LOG_BUFFER);
TILEVM_SAME_NUMBER(cuda::jit_error_log_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
TILEVM_SAME_NUMBER(cuda::event_default, CU_EVENT_DEFAULT);

TILEVM_SAME_NUMBER(nvrtc::success, NVRTC_SUCCESS);
TILEVM_SAME_NUMBER(nvrtc::invalid_option, NVRTC_ERROR_INVALID_OPTION);
TILEVM_SAME_NUMBER(nvrtc::compilation_failed, NVRTC_ERROR_COMPILATION);
TILEVM_SAME_NUMBER(nvrtc::builtin_operation_failure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);
#if CUDA_VERSION >= 13000
TILEVM_SAME_NUMBER(nvrtc::cancelled, NVRTC_ERROR_CANCELLED);
#endif

#ifdef TILEVM_HAVE_CUBLAS_HEADERS
#define TILEVM_CHECK_CALL(name, nvidia, parameters) \
  static_assert(SameCall<decltype(cublas::Api::name), decltype(&::nvidia)>::value, #nvidia);
// The other meaning of the name has the type of the computation as a cudaDataType.
using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const void*, const void*, cudaDataType, int, const void*,
                                cudaDataType, int, const void*, void*, cudaDataType, int,
                                cublasComputeType_t, cublasGemmAlgo_t);
#define TILEVM_CHECK_OVERLOADED(name, nvidia, parameters)                                   \
  static_assert(                                                                            \
      SameCall<decltype(cublas::Api::name), decltype(static_cast<Gemm>(&::nvidia))>::value, \
      #nvidia);
TILEVM_CUBLAS_FUNCTIONS(TILEVM_CHECK_CALL, TILEVM_CHECK_OVERLOADED)
#undef TILEVM_CHECK_OVERLOADED
#undef TILEVM_CHECK_CALL
TILEVM_SAME_NUMBER(cublas::success, CUBLAS_STATUS_SUCCESS);
TILEVM_SAME_NUMBER(cublas::op_n, CUBLAS_OP_N);
TILEVM_SAME_NUMBER(cublas::op_t, CUBLAS_OP_T);
TILEVM_SAME_NUMBER(cublas::real_16f, CUDA_R_16F);
TILEVM_SAME_NUMBER(cublas::real_16bf, CUDA_R_16BF);
TILEVM_SAME_NUMBER(cublas::compute_32f, CUBLAS_COMPUTE_32F);
TILEVM_SAME_NUMBER(cublas::algorithm_default, CUBLAS_GEMM_DEFAULT);
#endif
#undef TILEVM_SAME_NUMBER

}  // namespace
}  // namespace tilevm::backend

#endif  // TILEVM_HAVE_CUDA_HEADERS
