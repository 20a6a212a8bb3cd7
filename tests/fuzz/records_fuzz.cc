// Lines of recorded results: of runs, and of the cases of `tilevm record`.
#include <string>

#include "tests/fuzz/target.h"
#include "vm/fidelity/case_record.h"
#include "vm/fidelity/record.h"

namespace tilevm::fuzz {
namespace {

/// A line that is a record is written as a line that reads back the same, or the same text.
template <class Read>
void check_line(const std::string& line, Read read) {
  const auto record = read(line);
  if (!record) {
    require(!record.error().message.empty(), "a refusal has words");
    return;
  }
  const std::string written = format_record(*record);
  const auto again = read(written);
  require(again.ok() && format_record(*again) == written, "a written record reads back the same");
}

void fuzz_records(std::string_view bytes) {
  const std::string line(bytes);
  check_line(line, vm::parse_record);
  check_line(line, vm::fidelity::parse_case_record);
}

TILEVM_FUZZ_TARGET(records, fuzz_records);

}  // namespace
}  // namespace tilevm::fuzz
