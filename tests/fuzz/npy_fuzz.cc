// A .npy file and a specification from a stranger: both are refused or understood, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "isa/base/check.h"
#include "vm/data/npy.h"
#include "vm/data/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto tensor = tilevm::vm::parse_npy({bytes, size}, "fuzz.npy");
  if (tensor) {
    const auto again = tilevm::vm::parse_npy(tilevm::vm::npy_bytes(*tensor), "fuzz.npy");
    TILEVM_CHECK(again.ok() && *again == *tensor, "a written file reads back as another tensor");
    TILEVM_CHECK(!tilevm::vm::format_corner(*tensor).empty(), "a tensor without a picture");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  static_cast<void>(tilevm::vm::parse_spec(text));
  static_cast<void>(tilevm::vm::parse_dest(text));
  return 0;
}
