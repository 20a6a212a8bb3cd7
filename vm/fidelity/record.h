// Records of runs: what a device gave, kept so that machines without it can prove the simulator
// equal to it. One JSON object a line:
//
//   {"schema": 1, "file": "programs/figure2.tile", "entry": "main", "target": "sm_90",
//    "defines": ["M=64"], "inputs": ["a=rand:1"], "seed": 3, "wild": false,
//    "outputs": {"c": "0123456789abcdef"}, "backend": "cuda", "device": "NVIDIA H200, ...",
//    "driver": "580.159.04", "compiler": "NVRTC 13.0 ..."}
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/result.h"
#include "vm/run/vm.h"

namespace tilevm::vm {

struct Record {
  std::string file;
  std::string entry;
  std::string target;
  std::vector<std::string> defines, inputs;
  std::uint64_t seed = 0;
  bool wild = false;
  std::vector<std::pair<std::string, std::string>> outputs;  ///< name, hash
  std::string backend, device, driver, compiler;

  friend bool operator==(const Record&, const Record&) = default;
};

/// The record as one line, ended by a line break.
[[nodiscard]] std::string format_record(const Record& record);

/// Error (program): not such a line, or of another schema.
[[nodiscard]] Result<Record> parse_record(const std::string& line);

/// An engine's compiler without its folder: records are kept, machines differ.
[[nodiscard]] std::string compiler_of(const Engine& engine);

/// Runs what a record describes on an engine; the file is looked for under `root`. Nothing if
/// every output has the recorded hash, else what is different, in words.
[[nodiscard]] std::optional<std::string> replay(const Record& record, const std::string& root,
                                                Engine& engine);

}  // namespace tilevm::vm
