// What the emitter gives: CUDA C++ text, and what a launch must know of its kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/select/remark.h"
#include "isa/dot/mma_shapes.h"
#include "isa/program/program.h"
#include "isa/rules/tensor_map.h"

namespace tilevm::backend {

/// A tensor map that launches make of a view (isa/rules/tensor_map.h).
struct MapOfView {
  isa::TensorMap map;
  isa::DType dtype;
  isa::VarId pointer;  ///< parameter of the kernel
  /// By dimension of the map, in elements; strides of all dimensions but the last.
  std::vector<isa::Expr> extents, strides;
};

/// A parameter of an emitted kernel: the program's parameters in order, then its workspaces, then
/// its tensor maps, then,
/// if it prints, the print buffer, then, if it has assertions, their record (it may be null), then,
/// if it has probes, the buffer of probes.
struct CudaParameter {
  enum class Role : std::uint8_t {
    pointer,
    scalar,
    workspace,
    tensor_map,
    prints,
    assertions,
    probes
  };
  Role role = Role::pointer;
  isa::VarId var;  ///< variable of the program's kernel; unset for what follows workspaces
  isa::ScalarKind scalar = isa::ScalarKind::i32;  ///< Role::scalar
  std::int64_t workspace_bytes = 0;               ///< Role::workspace
  bool zeroed = false;                            ///< whether each launch begins with zeros
  std::shared_ptr<const MapOfView> map = {};      ///< Role::tensor_map

  /// Bytes of the argument: 8 for addresses, 128 for tensor maps, as in C for scalars.
  [[nodiscard]] std::size_t bytes() const;
};

/// What a launch must know of an emitted kernel, and what a reader may want to.
struct CudaKernel {
  std::string entry;        ///< the name in the compiled module
  std::size_t program = 0;  ///< index among the programs that were emitted together
  int kernel = 0;           ///< index into Program::kernels
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;   ///< bytes of dynamic shared memory
  std::int64_t barrier_bytes = 0;  ///< bytes of static shared memory, before the dynamic
  /// Whether the program itself orders its warps, by groups and barriers: the simulator checks how.
  bool orders_itself = false;
  bool stores_replicas = false;  ///< some elements are stored by all threads that hold them
  std::vector<CudaParameter> parameters;
  std::vector<Remark> remarks;  ///< about its instructions, in the order of the text

  [[nodiscard]] bool has_assertions() const {
    return std::any_of(parameters.begin(), parameters.end(), [](const CudaParameter& parameter) {
      return parameter.role == CudaParameter::Role::assertions;
    });
  }
};

struct CudaSource {
  std::string text;
  std::size_t prelude_size = 0;     ///< where the program's own text begins
  std::vector<CudaKernel> kernels;  ///< kernels of the programs, in order
  /// Tensor-core instructions that the kernels use, by the numbers of MachineKind::emulated.
  std::vector<const isa::MmaShape*> mma;
  /// Shapes of warp groups' instructions.
  std::vector<const isa::MmaShape*> wgmma;
};

/// The function that calls an emulated kernel with arguments of 64 bits each.
[[nodiscard]] std::string emulated_entry(const CudaKernel& kernel);

}  // namespace tilevm::backend
