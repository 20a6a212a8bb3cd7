// The part of NVRTC's interface that we use, declared by ourselves; see cuda_api.h.
// Source: NVRTC documentation.
#pragma once

#include <cstddef>

namespace tilevm::backend::nvrtc {

using Code = int;                       ///< nvrtcResult; 0 is success
using Program = struct ProgramObject*;  ///< nvrtcProgram

/// Values of nvrtcResult that are distinguished.
enum : Code {
  success = 0,
  invalid_option = 5,
  compilation_failed = 6,
  builtin_operation_failure = 7,
  cancelled = 16,
};

/// Every NVRTC function we call: F(our name, NVIDIA's name, parameters).
#define TILEVM_NVRTC_FUNCTIONS(F)                                                      \
  F(version, nvrtcVersion, (int*, int*))                                               \
  F(get_num_supported_archs, nvrtcGetNumSupportedArchs, (int*))                        \
  F(get_supported_archs, nvrtcGetSupportedArchs, (int*))                               \
  F(create_program, nvrtcCreateProgram,                                                \
    (Program*, const char*, const char*, int, const char* const*, const char* const*)) \
  F(destroy_program, nvrtcDestroyProgram, (Program*))                                  \
  F(compile_program, nvrtcCompileProgram, (Program, int, const char* const*))          \
  F(get_ptx_size, nvrtcGetPTXSize, (Program, std::size_t*))                            \
  F(get_ptx, nvrtcGetPTX, (Program, char*))                                            \
  F(get_cubin_size, nvrtcGetCUBINSize, (Program, std::size_t*))                        \
  F(get_cubin, nvrtcGetCUBIN, (Program, char*))                                        \
  F(get_log_size, nvrtcGetProgramLogSize, (Program, std::size_t*))                     \
  F(get_log, nvrtcGetProgramLog, (Program, char*))

/// Functions that are missing in older versions; their pointers may be null.
#define TILEVM_NVRTC_OPTIONAL_FUNCTIONS(F) \
  F(set_flow_callback, nvrtcSetFlowCallback, (Program, int (*)(void*, void*), void*))

/// One pointer a function. nvrtcGetErrorString is not in the list, since it returns text.
struct Api {
// Types cannot be put in parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TILEVM_DECLARE(name, nvidia, parameters) Code(*name) parameters = nullptr;
  TILEVM_NVRTC_FUNCTIONS(TILEVM_DECLARE)
  TILEVM_NVRTC_OPTIONAL_FUNCTIONS(TILEVM_DECLARE)
#undef TILEVM_DECLARE
  const char* (*get_error_string)(Code) = nullptr;
};

}  // namespace tilevm::backend::nvrtc
