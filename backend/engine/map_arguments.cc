#include "backend/engine/map_arguments.h"

#include <cstddef>
#include <utility>
#include <variant>

#include "backend/driver/tensor_map.h"
#include "backend/launch/tensor_maps.h"

namespace tilevm::backend {
namespace {

cuda::TensorMapType map_type(const isa::DType& dtype) {
  if (dtype == isa::f16) return cuda::map_f16;
  if (dtype == isa::bf16) return cuda::map_bf16;
  if (dtype == isa::f32) return cuda::map_f32;
  switch (dtype.bits) {
    case 8:
      return cuda::map_u8;
    case 16:
      return cuda::map_u16;
    case 32:
      return cuda::map_u32;
    default:
      return cuda::map_u64;
  }
}

}  // namespace

Status add_tensor_maps(const Device& device, const isa::Kernel& kernel, const CudaKernel& emitted,
                       const std::vector<Argument>& arguments,
                       const std::vector<cuda::DevicePointer>& buffers, LaunchArguments& bound) {
  for (const CudaParameter& parameter : emitted.parameters) {
    if (parameter.role != CudaParameter::Role::tensor_map) continue;
    const MapOfView& map = *parameter.map;
    const Result<MapNumbers> numbers = map_numbers(kernel, emitted, map, arguments);
    if (!numbers) return numbers.error();
    MapEncoding encoding;
    encoding.type = map_type(map.dtype);
    encoding.address =
        buffers[static_cast<std::size_t>(std::get<int>(arguments[numbers->pointer]))];
    if (Status fits = check_map_address(kernel, map, encoding.address); !fits) return fits;
    encoding.extents.assign(numbers->extents.rbegin(), numbers->extents.rend());
    encoding.strides.assign(numbers->strides.rbegin(), numbers->strides.rend());
    encoding.box.assign(map.map.box.rbegin(), map.map.box.rend());
    encoding.swizzle_bytes = static_cast<int>(map.map.swizzle_bytes);
    encoding.fill_nan = map.map.fill_nan;
    Result<std::vector<std::uint64_t>> words = encode_map(device, encoding);
    if (!words) return words.error();
    bound.add_words(*std::move(words));
  }
  return Done{};
}

}  // namespace tilevm::backend
