// What a user says of an entry's data, word by word: `--in NAME=TEXT` and `--out NAME=TEXT`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/inst/scalar.h"
#include "vm/data/spec.h"

namespace tilevm::vm {

/// The index of an entry in a program's list of pipelines or of kernels.
struct EntryIndex {
  bool is_pipeline = false;
  int index = 0;
  friend bool operator==(const EntryIndex&, const EntryIndex&) = default;
};

/// Texts by name, from which each is taken once.
using Texts = std::map<std::string, std::string>;

/// Error (usage): no assignment, or a name twice. `option` is "--in" or "--out".
[[nodiscard]] Result<Texts> by_name(const std::vector<std::string>& assignments,
                                    std::string_view option);

/// "`a`, `b`", or "none".
[[nodiscard]] std::string quoted(const std::vector<std::string>& names);

/// The user's choice of data for one tensor.
struct Choice {
  std::optional<Spec> spec;
  std::optional<Dest> dest;

  [[nodiscard]] std::optional<isa::DType> dtype() const;
  [[nodiscard]] std::optional<isa::Shape> shape() const;
};
[[nodiscard]] Result<Choice> take_choice(Texts& inputs, Texts& outputs, const std::string& name);

/// The value of a scalar parameter; `of` is what has it: "kernel `f`". Error (usage): none is
/// given, or it is not such a value.
[[nodiscard]] Result<isa::Scalar> take_scalar(Texts& inputs, std::string_view of,
                                              const std::string& name, isa::ScalarKind kind);

/// An option names what the entry does not have; `names` is what there is.
[[nodiscard]] Error unknown_tensor(std::string_view entry, std::string_view role,
                                   const std::string& name, const std::vector<std::string>& names);

}  // namespace tilevm::vm
