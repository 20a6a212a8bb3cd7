// Did-you-mean: the nearest of a list of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilevm {

/// The candidate with the smallest edit distance to `name` (transpositions count one, case is
/// ignored), or "" if none is near: the distance must be at most a third of the longer length,
/// at least one, and below that length. A candidate that begins with `name` or is begun by it
/// (three letters or more) is near too.
[[nodiscard]] std::string nearest(std::string_view name,
                                  const std::vector<std::string>& candidates);

}  // namespace tilevm
