// What the compiler made of a kernel: its registers, what did not fit into them, and how many of
// its blocks one multiprocessor holds. All of it is known without a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/emit/emit.h"
#include "isa/numeric/target.h"

namespace tilevm::backend {

/// The option that makes NVRTC and nvcc log the use of registers.
inline constexpr std::string_view report_option = "--ptxas-options=-v";

/// The registers of one thread.
struct RegisterUse {
  std::int64_t registers = 0;
  /// Bytes of local memory: what was spilled, and arrays indexed at run time.
  std::int64_t stack_bytes = 0;
  std::int64_t spill_stores = 0;  ///< bytes, by all instructions that spill
  std::int64_t spill_loads = 0;   ///< bytes, by all instructions that reload
  friend bool operator==(const RegisterUse&, const RegisterUse&) = default;
};

/// The register use of a kernel in a log; nothing if the log has none.
[[nodiscard]] std::optional<RegisterUse> find_register_use(std::string_view log,
                                                           const std::string& entry);

/// The registers that a thread can have in a block of so many threads.
[[nodiscard]] std::int64_t max_registers(std::int64_t threads);

/// How many blocks of a kernel one multiprocessor holds at a time, and what keeps it from more.
struct Residency {
  std::int64_t blocks = 0;
  std::string_view limit;  ///< "registers", "shared memory", "threads" or "blocks"
};
[[nodiscard]] Residency find_residency(const CudaKernel& kernel, std::int64_t registers,
                                       const isa::Target& target);

}  // namespace tilevm::backend
