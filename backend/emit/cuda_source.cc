#include "backend/emit/cuda_source.h"

namespace tilevm::backend {

std::size_t CudaParameter::bytes() const {
  constexpr std::size_t map_bytes = 128;
  if (role == Role::tensor_map) return map_bytes;
  if (role != Role::scalar) return 8;
  switch (scalar) {
    case isa::ScalarKind::boolean:
      return 1;
    case isa::ScalarKind::i32:
    case isa::ScalarKind::u32:
    case isa::ScalarKind::f32:
      return 4;
    case isa::ScalarKind::i64:
    case isa::ScalarKind::u64:
      break;
  }
  return 8;
}

}  // namespace tilevm::backend
