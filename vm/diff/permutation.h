// Whether one tensor holds another's values at other places, and by which simple rule.
#pragma once

#include <optional>
#include <string>

#include "vm/data/tensor.h"

namespace tilevm::vm {

/// Tensors with more elements are not looked at.
inline constexpr std::size_t max_permuted_elements = std::size_t{1} << 24;

/// How the elements of `b` are those of `a` at other places; both have one type and shape. The text
/// is empty where no simple rule says how. Nothing if the elements are others, or if their places
/// are the same.
[[nodiscard]] std::optional<std::string> find_permutation(const HostTensor& a, const HostTensor& b);

}  // namespace tilevm::vm
