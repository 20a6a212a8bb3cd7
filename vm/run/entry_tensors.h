// The tensors of an entry, filled as the user said.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/data_reader.h"
#include "vm/data/tensor.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

/// Where random inputs begin that name no seed of their own.
struct Seeding {
  std::uint64_t seed = 0;
  bool wild = false;  ///< inputs that the user did not give are `wild` instead of `rand`
};

/// One tensor per Entry::tensors: inputs filled, all others zero. What is rounded is noted by the
/// reader.
[[nodiscard]] Result<std::vector<HostTensor>> make_tensors(const Entry& entry,
                                                           const Seeding& seeding,
                                                           DataReader& reader);

/// Makes tensors where no input is standard input and no note is wanted.
[[nodiscard]] Result<std::vector<HostTensor>> make_tensors(const Entry& entry,
                                                           const Seeding& seeding);

}  // namespace tilevm::vm
