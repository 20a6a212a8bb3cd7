// The dictionary at the head of a .npy file.
#pragma once

#include <string>
#include <string_view>

#include "isa/base/result.h"
#include "isa/layout/register_layout.h"

namespace tilevm::vm {

/// What the dictionary says; `descr` is a type string such as "<f4".
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  isa::Shape shape;
};

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`: the three keys in any
/// order, each once, extents below 2^48, at most 32 of them. Error (program): anything else; its
/// message says what is wrong without naming the file.
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace tilevm::vm
