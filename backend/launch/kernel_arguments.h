// What the launch of an emitted kernel is given, for a GPU and for an emulated one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/emit/cuda_source.h"
#include "isa/base/result.h"
#include "isa/inst/expr.h"

namespace tilevm::backend {

/// One per kernel parameter: a buffer (an index into the memory), or a scalar of the parameter's
/// kind.
using Argument = std::variant<int, isa::Scalar>;

/// Global memory of a run: dense bit streams on the host.
using HostBuffers = std::vector<std::vector<std::uint8_t>>;

/// Bytes of the memory for a buffer of so many. The emitter relies on whole words around every
/// element; wide accesses may rely on 16 bytes.
[[nodiscard]] constexpr std::size_t padded_bytes(std::size_t bytes) {
  constexpr std::size_t widest_access = 16;
  return (bytes / widest_access + 1) * widest_access;
}

/// The blocks of a launch: x, y, z. Errors (program): an extent that is not in CUDA's range or
/// divides by zero, another number of arguments than parameters.
[[nodiscard]] Result<std::array<unsigned, 3>> grid_of(const isa::Kernel& kernel,
                                                      const CudaKernel& emitted,
                                                      const std::vector<Argument>& arguments);

/// The value of a scalar parameter among the arguments; zero for what is not a scalar.
[[nodiscard]] isa::Scalar scalar_argument(const CudaKernel& kernel,
                                          const std::vector<Argument>& arguments, isa::VarId var);

/// "parameter `a_ptr` of `matmul` takes a buffer".
[[nodiscard]] Error wrong_argument(const isa::Kernel& kernel, isa::VarId var,
                                   std::string_view wanted);

}  // namespace tilevm::backend
