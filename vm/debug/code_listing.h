// What the statements of a program become: CUDA C++, PTX or machine code, each line with the line
// of the program that it comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "sim/debug/reply.h"

namespace tilevm::vm {

enum class CodeKind : std::uint8_t { cuda, ptx, sass };

/// "cuda", "ptx" or "sass". Error (usage): it is another word.
[[nodiscard]] Result<CodeKind> parse_code_kind(std::string_view word);

struct CodeLine {
  sim::debug::SourceLine line;  ///< none: it comes from no line of the program
  std::string address;  ///< address in the kernel's machine code; else its number among the lines
  std::string text;
};

/// The line of the program's own file at which the code of a position is: that of a function is at
/// the line that calls it. None at the end of a block.
[[nodiscard]] sim::debug::SourceLine root_line(const SourceFile& source,
                                               const sim::debug::Position& position);

/// All kernels of a program, in the order of the code. CUDA C++ is always there. Errors:
/// unavailable (PTX needs NVRTC or nvcc, machine code needs `nvdisasm` as well: what was looked
/// for), program (the compiler refuses the target), limit (it takes too long).
[[nodiscard]] Result<std::vector<CodeLine>> list_code(const isa::VerifiedProgram& program,
                                                      CodeKind kind);

/// PTX with `.loc` and `.file`, and what `nvdisasm -gi` prints.
[[nodiscard]] std::vector<CodeLine> read_ptx(const SourceFile& source, std::string_view text);
[[nodiscard]] std::vector<CodeLine> read_sass(const SourceFile& source, std::string_view text);

}  // namespace tilevm::vm
