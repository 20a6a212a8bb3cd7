// The part of NVIDIA's driver interface that we use, declared by ourselves.
//
// cuda.h is not needed to build: the types below have the sizes and the numbers of NVIDIA's, and
// where a toolkit is found at build time check_cuda_headers.cc proves it. One list names every
// function; the table of pointers, its loader and that proof are all expanded from it.
// Source: CUDA Driver API Reference Manual.
#pragma once

#include <cstddef>

namespace tilevm::backend::cuda {

using Code = int;                          ///< CUresult; 0 is success
using DeviceHandle = int;                  ///< CUdevice
using DevicePointer = unsigned long long;  ///< CUdeviceptr
using Context = struct ContextObject*;     ///< CUcontext
using ModuleHandle = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using EventHandle = struct EventObject*;
using GraphHandle = struct GraphObject*;          ///< CUgraph
using GraphExecHandle = struct GraphExecObject*;  ///< CUgraphExec

/// Values of CUresult that are distinguished.
enum : Code {
  success = 0,
  out_of_memory = 2,
  stub_library = 34,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  assert_failed = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  driver_mismatch = 803,
  compat_not_supported_on_device = 804,
};

/// Values of CUdevice_attribute.
enum DeviceAttribute : int {
  max_threads_per_block = 1,
  warp_size = 10,
  clock_rate_khz = 13,
  multiprocessor_count = 16,
  memory_clock_rate_khz = 36,
  memory_bus_width_bits = 37,
  l2_cache_bytes = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_bytes_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  max_shared_bytes_per_block_optin = 97,
};

/// Values of CUfunction_attribute.
enum FunctionAttribute : int {
  function_max_threads_per_block = 0,
  function_shared_bytes = 1,
  function_local_bytes = 3,
  function_registers = 4,
  function_max_dynamic_shared_bytes = 8,
};

/// Values of CUjit_option.
enum JitOption : int {
  jit_error_log_buffer = 5,
  jit_error_log_bytes = 6,
};

inline constexpr unsigned event_default = 0;        ///< CU_EVENT_DEFAULT
inline constexpr unsigned stream_non_blocking = 1;  ///< CU_STREAM_NON_BLOCKING

inline constexpr unsigned host_alloc_device_map = 2;  ///< CU_MEMHOSTALLOC_DEVICEMAP

/// Values of CUstreamCaptureMode.
enum CaptureMode : int { capture_thread_local = 1 };

/// CUtensorMap.
struct alignas(64) TensorMapBits {
  unsigned long long words[16];
};
using MapExtent = unsigned long long;  ///< cuuint64_t
/// Values of CUtensorMapDataType.
enum TensorMapType : int {
  map_u8 = 0,
  map_u16 = 1,
  map_u32 = 2,
  map_u64 = 4,
  map_f16 = 6,
  map_f32 = 7,
  map_bf16 = 9,
};
enum MapInterleave : int { map_interleave_none = 0 };  ///< CUtensorMapInterleave
/// Values of CUtensorMapSwizzle.
enum MapSwizzle : int {
  map_swizzle_none = 0,
  map_swizzle_32 = 1,
  map_swizzle_64 = 2,
  map_swizzle_128 = 3,
};
enum MapPromotion : int { map_promotion_l2_128 = 2 };         ///< CUtensorMapL2promotion
enum MapFill : int { map_fill_zeros = 0, map_fill_nan = 1 };  ///< CUtensorMapFloatOOBfill

/// Every driver function we call:
///   F(our name, NVIDIA's name, exported symbol, first CUDA version of that symbol, parameters)
/// The version is what cuGetProcAddress is asked for, so that a later driver gives the same
/// function; the exported symbol is the way on drivers before 12.0.
#define TILEVM_DRIVER_FUNCTIONS(F)                                                                 \
  F(init, cuInit, "cuInit", 2000, (unsigned))                                                      \
  F(driver_get_version, cuDriverGetVersion, "cuDriverGetVersion", 2020, (int*))                    \
  F(get_error_name, cuGetErrorName, "cuGetErrorName", 6000, (Code, const char**))                  \
  F(get_error_string, cuGetErrorString, "cuGetErrorString", 6000, (Code, const char**))            \
  F(device_get_count, cuDeviceGetCount, "cuDeviceGetCount", 2000, (int*))                          \
  F(device_get, cuDeviceGet, "cuDeviceGet", 2000, (DeviceHandle*, int))                            \
  F(device_get_name, cuDeviceGetName, "cuDeviceGetName", 2000, (char*, int, DeviceHandle))         \
  F(device_total_mem, cuDeviceTotalMem, "cuDeviceTotalMem_v2", 3020, (std::size_t*, DeviceHandle)) \
  F(device_get_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000,                      \
    (int*, DeviceAttribute, DeviceHandle))                                                         \
  F(primary_ctx_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000,                \
    (Context*, DeviceHandle))                                                                      \
  F(primary_ctx_release, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", 11000,         \
    (DeviceHandle))                                                                                \
  F(ctx_get_device, cuCtxGetDevice, "cuCtxGetDevice", 2000, (DeviceHandle*))                       \
  F(ctx_push_current, cuCtxPushCurrent, "cuCtxPushCurrent_v2", 4000, (Context))                    \
  F(ctx_pop_current, cuCtxPopCurrent, "cuCtxPopCurrent_v2", 4000, (Context*))                      \
  F(module_load_data_ex, cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010,                           \
    (ModuleHandle*, const void*, unsigned, JitOption*, void**))                                    \
  F(module_unload, cuModuleUnload, "cuModuleUnload", 2000, (ModuleHandle))                         \
  F(module_get_function, cuModuleGetFunction, "cuModuleGetFunction", 2000,                         \
    (Function*, ModuleHandle, const char*))                                                        \
  F(func_get_attribute, cuFuncGetAttribute, "cuFuncGetAttribute", 2020,                            \
    (int*, FunctionAttribute, Function))                                                           \
  F(func_set_attribute, cuFuncSetAttribute, "cuFuncSetAttribute", 9000,                            \
    (Function, FunctionAttribute, int))                                                            \
  F(max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, (int*, Function, int, std::size_t))       \
  F(launch_kernel, cuLaunchKernel, "cuLaunchKernel", 4000,                                         \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,       \
     void**, void**))                                                                              \
  F(mem_alloc, cuMemAlloc, "cuMemAlloc_v2", 3020, (DevicePointer*, std::size_t))                   \
  F(mem_free, cuMemFree, "cuMemFree_v2", 3020, (DevicePointer))                                    \
  F(mem_host_alloc, cuMemHostAlloc, "cuMemHostAlloc", 2020, (void**, std::size_t, unsigned))       \
  F(mem_free_host, cuMemFreeHost, "cuMemFreeHost", 2000, (void*))                                  \
  F(mem_get_info, cuMemGetInfo, "cuMemGetInfo_v2", 3020, (std::size_t*, std::size_t*))             \
  F(memcpy_htod, cuMemcpyHtoD, "cuMemcpyHtoD_v2", 3020, (DevicePointer, const void*, std::size_t)) \
  F(memcpy_dtoh, cuMemcpyDtoH, "cuMemcpyDtoH_v2", 3020, (void*, DevicePointer, std::size_t))       \
  F(memset_d8_async, cuMemsetD8Async, "cuMemsetD8Async", 3020,                                     \
    (DevicePointer, unsigned char, std::size_t, Stream))                                           \
  F(stream_create, cuStreamCreate, "cuStreamCreate", 2000, (Stream*, unsigned))                    \
  F(stream_destroy, cuStreamDestroy, "cuStreamDestroy_v2", 4000, (Stream))                         \
  F(stream_begin_capture, cuStreamBeginCapture, "cuStreamBeginCapture_v2", 10010,                  \
    (Stream, CaptureMode))                                                                         \
  F(stream_end_capture, cuStreamEndCapture, "cuStreamEndCapture", 10000, (Stream, GraphHandle*))   \
  F(graph_instantiate, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040,          \
    (GraphExecHandle*, GraphHandle, unsigned long long))                                           \
  F(graph_launch, cuGraphLaunch, "cuGraphLaunch", 10000, (GraphExecHandle, Stream))                \
  F(graph_exec_destroy, cuGraphExecDestroy, "cuGraphExecDestroy", 10000, (GraphExecHandle))        \
  F(graph_destroy, cuGraphDestroy, "cuGraphDestroy", 10000, (GraphHandle))                         \
  F(event_create, cuEventCreate, "cuEventCreate", 2000, (EventHandle*, unsigned))                  \
  F(event_destroy, cuEventDestroy, "cuEventDestroy_v2", 4000, (EventHandle))                       \
  F(event_record, cuEventRecord, "cuEventRecord", 2000, (EventHandle, Stream))                     \
  F(event_query, cuEventQuery, "cuEventQuery", 2000, (EventHandle))                                \
  F(event_synchronize, cuEventSynchronize, "cuEventSynchronize", 2000, (EventHandle))              \
  F(event_elapsed_time, cuEventElapsedTime, "cuEventElapsedTime", 2000,                            \
    (float*, EventHandle, EventHandle))

/// Functions that are missing in older drivers; their pointers may be null.
#define TILEVM_DRIVER_OPTIONAL_FUNCTIONS(F)                                              \
  F(func_get_param_info, cuFuncGetParamInfo, "cuFuncGetParamInfo", 12040,                \
    (Function, std::size_t, std::size_t*, std::size_t*))                                 \
  F(tensor_map_encode_tiled, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", 12000,    \
    (TensorMapBits*, TensorMapType, unsigned, void*, const MapExtent*, const MapExtent*, \
     const unsigned*, const unsigned*, MapInterleave, MapSwizzle, MapPromotion, MapFill))

/// One pointer a function.
struct Api {
// Types cannot be put in parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TILEVM_DECLARE(name, nvidia, symbol, version, parameters) Code(*name) parameters = nullptr;
  TILEVM_DRIVER_FUNCTIONS(TILEVM_DECLARE)
  TILEVM_DRIVER_OPTIONAL_FUNCTIONS(TILEVM_DECLARE)
#undef TILEVM_DECLARE
};

/// cuGetProcAddress_v2 (CUDA 12.0): symbol, address, version, flags, why not found.
using GetProcAddress = Code (*)(const char*, void**, int, unsigned long long, int*);

}  // namespace tilevm::backend::cuda
