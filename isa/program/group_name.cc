#include "isa/program/group_name.h"

#include <fmt/format.h>

namespace tilevm::isa {

std::string name_of(const ThreadGroup& group) {
  const std::int64_t first = group.first_warp(), last = first + group.warps() - 1;
  if (group.parent < 0) return "the block";
  if (group.elects) return fmt::format("one thread of warp {}", first);
  return first == last ? fmt::format("warp {}", first) : fmt::format("warps {} to {}", first, last);
}

}  // namespace tilevm::isa
