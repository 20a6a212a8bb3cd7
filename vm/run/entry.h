// What of a program is run, and on which data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/program/program.h"
#include "isa/verify/verify.h"
#include "vm/data/spec.h"
#include "vm/run/entry_parts.h"

namespace tilevm::vm {

/// A pipeline, or a kernel alone: tensors, and launches that use them.
struct Entry {
  struct Tensor {
    std::string name;
    isa::DType dtype;
    isa::Shape shape;
    bool input = false;   ///< filled before the run
    bool output = false;  ///< shown or written after it
    Spec spec;            ///< inputs: what fills it (rand if the user did not say)
    std::optional<Dest> dest;
  };
  std::string name;
  bool is_pipeline = false;
  std::vector<Tensor> tensors;
  std::vector<isa::Launch> launches;  ///< integer arguments are indices into `tensors`
};

/// The user's choice of data, as written: "NAME=SPEC" and "NAME=DEST".
struct DataOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// The entry that a name means, an empty one as in resolve_entry.
[[nodiscard]] Result<EntryIndex> find_entry(const isa::Program& program, const std::string& name);

/// The entry called `name`; an empty name takes the only pipeline, else the one called `main`, else
/// the only kernel. The tensors of a kernel's pointers follow from its constant views; `data`
/// may give or override their type and shape. It gives scalar parameters their values, on which the
/// shapes of a pipeline's tensors may depend. Errors (usage) list what there is; (program) when the
/// data does not fit.
[[nodiscard]] Result<Entry> resolve_entry(const isa::VerifiedProgram& program,
                                          const std::string& name, const DataOptions& data);

}  // namespace tilevm::vm
