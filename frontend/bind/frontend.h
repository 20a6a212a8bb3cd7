// The frontend: text in, program out.
//
//   text --parse--> ast::Program --bind--> isa::Program --isa::verify--> isa::VerifiedProgram
//
// `parse` (grammar.h) knows no names; `bind` resolves names, folds constants and walks the
// instructions' schemas, so that no mnemonic is known to either.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// An override of a constant: `-D NAME=VALUE`. The value is an expression of the language; it may
/// name a type or a layout.
struct Define {
  std::string name;
  std::string value;
};

struct BindOptions {
  std::vector<Define> defines;
  isa::Target target;
};

/// Resolves a tree into a program; nothing after an error. Unknown or malformed defines are
/// reported with Code::unknown_define and Code::bad_define and have no location in the source.
/// Spans of inlined calls are those of the program's source, which `with_calls` gets even after an
/// error: messages are rendered with it.
[[nodiscard]] std::optional<isa::Program> bind(
    const ast::Program& tree, const std::shared_ptr<const SourceFile>& source,
    const BindOptions& options, Diagnostics& diagnostics,
    std::shared_ptr<const SourceFile>* with_calls = nullptr);

/// Binds for an editor: what could be bound of a tree that may have faults. Kernels after an error
/// in a constant may be missing, and faulty statements are.
[[nodiscard]] isa::Program bind_partially(const ast::Program& tree,
                                          const std::shared_ptr<const SourceFile>& source,
                                          const BindOptions& options, Diagnostics& diagnostics);

/// parse, then bind.
[[nodiscard]] std::optional<isa::Program> load(
    const std::shared_ptr<const SourceFile>& source, const BindOptions& options,
    Diagnostics& diagnostics, std::shared_ptr<const SourceFile>* with_calls = nullptr);

using AnyLayout = std::variant<isa::RegisterLayout, isa::MemoryLayout>;

/// The layout that an expression denotes ("local(2, 1).spatial(8, 4)"); nothing after an error.
[[nodiscard]] std::optional<AnyLayout> load_layout(const SourceFile& source,
                                                   Diagnostics& diagnostics);

/// Names of the functions that make layouts, for help texts.
[[nodiscard]] std::vector<std::string> layout_functions();

/// The words of the language that are not instructions, for editors.
struct LanguageWords {
  std::vector<std::string> keywords;
  std::vector<std::string> layouts;         ///< functions that make layouts
  std::vector<std::string> layout_methods;  ///< operations on one, as in `f.reduce(0)`
  std::vector<std::string> decorators;      ///< names without `@`
  /// Names of functions of scalars, types and layouts: `min`, `bits` ...
  std::vector<std::string> functions;
};
[[nodiscard]] LanguageWords language_words();

}  // namespace tilevm::frontend
