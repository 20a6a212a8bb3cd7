// The tables behind foreign_words.h.
//
// In an advice `$x` stands for the tile, `$d` for the dimension, `$t` for the type and `$v` for the
// values of the call that is answered. Instructions take their names from their schemas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilevm::frontend {

struct ForeignWord {
  std::string_view word;
  std::string advice;
};

/// Words of CUDA, Triton, NumPy, PyTorch and C for what is called or for a type.
[[nodiscard]] const std::vector<ForeignWord>& foreign_table();
struct ForeignType {
  std::string_view word, ours;
  std::string_view what;  ///< "16-bit floats are"
};
/// Types of C, CUDA, Triton and NumPy; all are in the table.
[[nodiscard]] const std::vector<ForeignType>& foreign_types();
/// What tensors of other libraries have after a dot, without brackets.
[[nodiscard]] const std::vector<ForeignWord>& foreign_attributes();
/// Words with which lines of other languages begin.
[[nodiscard]] const std::vector<ForeignWord>& foreign_lines();
/// By mnemonic: how an instruction is used, where its summary does not say it.
[[nodiscard]] const std::vector<ForeignWord>& instruction_usages();

}  // namespace tilevm::frontend
