// Entries of the kernel cache: as they are, and with the hash that makes them pass for whole.
#include <string>

#include "backend/compile/cache_entry.h"
#include "isa/base/hash.h"
#include "tests/fuzz/target.h"

namespace tilevm::fuzz {
namespace {

using backend::StoredKernel;

void check_entry(const std::string& text) {
  const std::optional<StoredKernel> kernel = backend::parse_cache_entry(text);
  if (!kernel) return;
  const auto again = backend::parse_cache_entry(backend::format_cache_entry(*kernel));
  require(again && *again == *kernel, "a written entry reads back the same");
}

void fuzz_cache(std::string_view bytes) {
  check_entry(std::string(bytes));
  check_entry(backend::seal_cache_entry(bytes));
}

TILEVM_FUZZ_TARGET(cache, fuzz_cache);

}  // namespace
}  // namespace tilevm::fuzz
