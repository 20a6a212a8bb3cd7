#include "vm/data/hash.h"

#include <cstring>

#include <fmt/format.h>

#include "isa/type/bits.h"

namespace tilevm::vm {
namespace {

/// The data with every bit zero that does not belong to a value.
std::vector<std::uint8_t> canonical_data(const HostTensor& tensor) {
  HostTensor copy = tensor;
  const std::size_t bits = tensor.size() * tensor.dtype.bits;
  copy.data.resize(isa::bytes_for_bits(bits));
  if (bits % 8 != 0) copy.data.back() &= static_cast<std::uint8_t>(isa::low_mask(bits % 8));
  if (tensor.dtype == isa::tf32) {
    for (std::size_t i = 0; i + 4 <= copy.data.size(); i += 4) {
      std::uint32_t code = 0;
      std::memcpy(&code, copy.data.data() + i, sizeof code);
      code &= 0xffffe000;
      std::memcpy(copy.data.data() + i, &code, sizeof code);
    }
  }
  return copy.data;
}

}  // namespace

std::uint64_t content_hash(const HostTensor& tensor) {
  // Written out here and not taken from a printer, whose text may change one day.
  std::string type = isa::to_string(tensor.dtype) + "[";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    type += fmt::format("{}{}", i == 0 ? "" : ",", tensor.shape[i]);
  }
  const std::uint64_t seed = xxh64(type + "]");
  const bool whole = tensor.dtype != isa::tf32 && tensor.dtype.is_byte_sized();
  if (whole) return xxh64(tensor.data, seed);
  return xxh64(canonical_data(tensor), seed);
}

}  // namespace tilevm::vm
