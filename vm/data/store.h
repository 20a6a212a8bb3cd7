// Writing tensors where `--out NAME=DEST` says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/spec.h"
#include "vm/data/tensor.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

/// What a .npy file of this tensor holds: the exact numbers in the smallest fitting NumPy type
/// (sub-byte integers int8/uint8, bipolar int16, small floats, bf16 and tf32 float32), or with
/// `codes` the raw bits in the smallest unsigned type.
[[nodiscard]] Result<HostTensor> to_numpy(const HostTensor& tensor, bool codes);

/// An output and where it goes.
struct StoredOutput {
  Dest dest;
  std::string name;
  const HostTensor* tensor = nullptr;
};

/// Whether all can be written, before a long run. Outputs of one archive are its arrays. Error
/// (usage): a file that is not writable, two outputs to one array or one file, or two to standard
/// output that are not of one archive.
[[nodiscard]] Status check_destinations(std::span<const StoredOutput> outputs,
                                        const std::vector<std::string>& other_files);

/// Writes all. An archive is written as a whole, in place of the one that was there; what is `-`
/// goes to `standard_output`. A .safetensors file keeps bf16 and floats of 8 bits as they are.
/// Error (usage): a file cannot be written; (program): the type or the shape that a `dest` asks for
/// is another one.
[[nodiscard]] Status store(std::span<const StoredOutput> outputs, OutputStream& standard_output);

}  // namespace tilevm::vm
