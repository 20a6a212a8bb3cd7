// The instructions that programs and syntax trees have.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/program/program.h"

namespace tilevm::filetest {

/// Mnemonics, which live as long as the program text of tilevm itself.
using Mnemonics = std::set<std::string_view>;

[[nodiscard]] const std::vector<std::string_view>& all_mnemonics();

void add_instructions(const isa::Kernel& kernel, Mnemonics& found);

/// Calls of instructions by their names, whether they are right or not.
void add_instructions(const frontend::ast::Program& program, Mnemonics& found);

}  // namespace tilevm::filetest
