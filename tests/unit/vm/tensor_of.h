// Tensors of tests, from numbers.
#pragma once

#include <vector>

#include "isa/type/number.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

inline HostTensor tensor_of(const isa::DType& dtype, const isa::Shape& shape,
                            const std::vector<double>& values) {
  HostTensor tensor = *make_tensor(dtype, shape, "t");
  for (std::size_t k = 0; k < values.size(); ++k) {
    tensor.set_code(k, isa::encode(dtype, isa::number_from(values[k])));
  }
  return tensor;
}

}  // namespace tilevm::vm
