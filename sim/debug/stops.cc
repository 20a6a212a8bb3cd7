#include "sim/debug/stops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::sim::debug {

Result<Part> resolve(const Selection& selection, const Tensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  Part part{isa::Index(rank, 0), tensor.shape, std::vector<bool>(rank, false)};
  if (selection.ranges.empty()) return part;
  const auto complain = [&](std::string_view why) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` {}; the extents of `{}` are [{}]", selection.text, why,
                             tensor.name, fmt::join(tensor.shape, ", "))};
  };
  if (selection.ranges.size() != rank) {
    return complain(fmt::format("has {} ind{}", selection.ranges.size(),
                                selection.ranges.size() == 1 ? "ex" : "ices"));
  }
  for (std::size_t d = 0; d < rank; ++d) {
    const Range& range = selection.ranges[d];
    const std::int64_t begin = range.begin.value_or(0);
    if (begin < 0 || begin >= tensor.shape[d]) return complain("reaches outside of the tensor");
    const std::int64_t end = range.is_index ? begin + 1 : range.end.value_or(tensor.shape[d]);
    if (end > tensor.shape[d]) return complain("reaches outside of the tensor");
    if (begin >= end) return complain("is empty");
    part.origin[d] = begin;
    part.extents[d] = end - begin;
    part.is_index[d] = range.is_index;
  }
  return part;
}

isa::Index index_in(const Part& part, std::int64_t k) {
  isa::Index index = isa::unravel(k, part.extents);
  for (std::size_t d = 0; d < index.size(); ++d) index[d] += part.origin[d];
  return index;
}

}  // namespace tilevm::sim::debug
