// What a group of warps is called in messages, tables and pictures.
#pragma once

#include <string>

#include "isa/program/kernel_info.h"

namespace tilevm::isa {

/// "the block", "warp 3", "warps 1 to 2", "one thread of warp 0".
[[nodiscard]] std::string name_of(const ThreadGroup& group);

}  // namespace tilevm::isa
