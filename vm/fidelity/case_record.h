// What a device gave for the cases of fidelity, one JSON object a line:
//
//   {"schema": 1, "case": "Cast f16", "target": "sm_90a", "size": "exhaustive", "seed": 0,
//    "outputs": 65536, "hashes": {"i8": "0123456789abcdef", ..}, "different": {},
//    "backend": "cuda", "device": "NVIDIA H200, ...", "driver": "580.159.04",
//    "compiler": "NVRTC 13.0"}
//
// `outputs` is the number of elements of each result that were compared, `hashes` are those of the
// kept blocks, and `different` has {"elements": N, "first": TEXT} for a result that is not exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/fidelity/run_case.h"

namespace tilevm::vm::fidelity {

struct CaseRecord {
  std::string name, target, size;
  std::uint64_t seed = 0;
  std::uint64_t outputs = 0;
  std::vector<Outcome> outcomes;
  std::string backend, device, driver, compiler;

  [[nodiscard]] bool exact() const;
};

/// The record as one line, ended by a line break.
[[nodiscard]] std::string format_record(const CaseRecord& record);

/// Error (program): not such a line, or of another schema.
[[nodiscard]] Result<CaseRecord> parse_case_record(const std::string& line);

/// The records of a file; of one case and device, the latest with the most outputs. A file that is
/// not there has none. Errors (program): a line that is not a record.
[[nodiscard]] Result<std::vector<CaseRecord>> read_records(const std::string& path);

}  // namespace tilevm::vm::fidelity
