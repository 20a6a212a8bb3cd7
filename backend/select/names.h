// Names of a program as names of C++: readable, unique, and never a word of the language, of CUDA
// or of the printer. The printer's own local names end in `_`, which no name of a program does
// here.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tilevm::backend {

class NameTable {
 public:
  /// A name like `wanted` that was not given out before. Not bijective: `a-b` and `a_b` become
  /// `a_b` and `a_b_2`.
  [[nodiscard]] std::string unique(std::string_view wanted);

 private:
  std::set<std::string> taken_;
};

}  // namespace tilevm::backend
