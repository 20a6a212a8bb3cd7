#include "backend/driver/tensor_map.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "backend/driver/cuda_library.h"
#include "isa/base/check.h"

namespace tilevm::backend {
namespace {

cuda::MapSwizzle swizzle_of(int bytes) {
  switch (bytes) {
    case 0:
      return cuda::map_swizzle_none;
    case 32:
      return cuda::map_swizzle_32;
    case 64:
      return cuda::map_swizzle_64;
    default:
      TILEVM_CHECK(bytes == 128, "a swizzle that no tensor map has");
      return cuda::map_swizzle_128;
  }
}

}  // namespace

Result<std::vector<std::uint64_t>> encode_map(const Device& device, const MapEncoding& encoding) {
  const cuda::Api& api = device.driver().api();
  if (api.tensor_map_encode_tiled == nullptr) {
    return Error{
        ErrorKind::unavailable,
        "this driver makes no tensor maps (cuTensorMapEncodeTiled is of CUDA 12.0): update "
        "it, or copy by `CopyAsync`"};
  }
  cuda::TensorMapBits map{};
  const std::vector<std::uint32_t> steps(encoding.extents.size(), 1);
  const std::vector<cuda::MapExtent> extents(encoding.extents.begin(), encoding.extents.end());
  std::vector<cuda::MapExtent> strides(encoding.strides.begin(), encoding.strides.end());
  strides.push_back(0);  // the driver reads none of a map of rank 1, but wants an address
  const Status made = device.with_current([&]() -> Status {
    const cuda::Code code = api.tensor_map_encode_tiled(
        &map, encoding.type, static_cast<unsigned>(encoding.extents.size()),
        reinterpret_cast<void*>(static_cast<std::uintptr_t>(encoding.address)), extents.data(),
        strides.data(), encoding.box.data(), steps.data(), cuda::map_interleave_none,
        swizzle_of(encoding.swizzle_bytes), cuda::map_promotion_l2_128,
        encoding.fill_nan ? cuda::map_fill_nan : cuda::map_fill_zeros);
    if (code == cuda::success) return Done{};
    return Error{
        ErrorKind::program,
        fmt::format("the driver refuses a tensor map (cuTensorMapEncodeTiled: {}): rank "
                    "{}, innermost extent {}, address {:#x}",
                    code, encoding.extents.size(), encoding.extents.front(), encoding.address)};
  });
  if (!made) return made.error();
  return std::vector<std::uint64_t>(std::begin(map.words), std::end(map.words));
}

}  // namespace tilevm::backend
