// Words of other languages and libraries: what to write here instead.
#pragma once

#include <string_view>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"

namespace tilevm::frontend {

/// Reports a name that other languages have for something, with what it is called here; false if it
/// is no such name.
bool report_foreign_word(const ast::Identifier& name, Diagnostics& diagnostics);

/// What to write instead of a word; empty for other words.
[[nodiscard]] std::string_view advice_for(std::string_view word);

}  // namespace tilevm::frontend
