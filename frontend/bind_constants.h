// Binding of `const` and `require`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/ast.h"
#include "frontend/frontend.h"
#include "frontend/names.h"
#include "isa/program.h"

namespace tilevm::frontend {

/// Evaluates the constants of a file in order, with the overrides of `-D`.
class ConstantBinder {
 public:
  ConstantBinder(const std::vector<Define>& defines, Diagnostics& diagnostics)
      : defines_(defines), used_(defines.size(), false), diagnostics_(diagnostics) {}

  /// Binds every constant of a file, then checks its requirements, wherever they stand.
  void bind(const ast::Program& tree, const SourceFile& source);

  [[nodiscard]] const Constants& constants() const { return constants_; }
  [[nodiscard]] std::vector<isa::Tunable> take_tunables() { return std::move(tunables_); }

 private:
  void bind(const ast::ConstDecl& tree);
  void check(const ast::Require& tree, const SourceFile& source);
  /// Reports overrides that name no constant of the file.
  void finish();
  void bind_one(const ast::ConstDecl& tree, std::size_t i);
  [[nodiscard]] std::optional<ConstantValue> evaluate(const ast::Expr& expr, const Names& names,
                                                      const ast::ConstDecl& tree) const;
  [[nodiscard]] std::optional<ConstantValue> overridden(const ast::ConstDecl& tree, std::size_t i,
                                                        const ConstantValue& value);
  void check_choices(const ast::ConstDecl& tree, const ast::Identifier& name,
                     const ConstantValue& value, Span span);

  const std::vector<Define>& defines_;
  std::vector<bool> used_;
  Diagnostics& diagnostics_;
  Constants constants_;
  std::vector<isa::Tunable> tunables_;
};

/// The value as the language writes it.
[[nodiscard]] std::string to_string(const ConstantValue& value);

}  // namespace tilevm::frontend
