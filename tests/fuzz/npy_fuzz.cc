// A file of arrays and a specification of data: each is refused or understood.
#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"
#include "vm/data/array_file.h"
#include "vm/data/npy.h"
#include "vm/data/spec.h"

namespace tilevm::fuzz {
namespace {

void fuzz_npy(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto tensor = vm::parse_npy({data, bytes.size()}, "fuzz.npy");
  if (tensor && vm::is_numpy_type(tensor->dtype)) {
    const auto again = vm::parse_npy(vm::npy_bytes(*tensor), "fuzz.npy");
    require(again.ok() && *again == *tensor, "a written tensor reads back the same");
    require(!vm::format_corner(*tensor).empty(), "a tensor has a picture");
  } else if (!tensor) {
    require(!tensor.error().message.empty(), "a refusal has words");
  }
  // The bytes as an archive; what it claims to hold is not wanted.
  const auto file =
      vm::ArrayFile::open(vm::bytes_in_memory(vm::Bytes(bytes.begin(), bytes.end()), "fuzz.npz"));
  if (file) {
    const auto array = file->read("", "a", [](const vm::ArrayType& type) -> Status {
      const bool is_small = vm::checked_count(type.shape).value_or(1 << 20) < (1 << 16);
      if (is_small) return Done{};
      return Error{ErrorKind::program, "too large to be wanted"};
    });
    require(array.ok() || !array.error().message.empty(), "a refusal has words");
  }
  static_cast<void>(vm::parse_spec(bytes));
  static_cast<void>(vm::parse_dest(bytes));
}

TILEVM_FUZZ_TARGET(npy, fuzz_npy);

}  // namespace
}  // namespace tilevm::fuzz
