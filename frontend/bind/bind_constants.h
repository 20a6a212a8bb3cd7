// Binding of `const` and `require`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/bind/frontend.h"
#include "frontend/bind/inlining.h"
#include "frontend/syntax/ast.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// Evaluates the constants of a file in order, with the overrides of `-D`.
class ConstantBinder {
 public:
  ///
  ConstantBinder(const std::vector<Define>& defines, const Functions& functions,
                 const isa::Target& target, Inlining& inlining)
      : defines_(defines),
        functions_(functions),
        target_(target),
        inlining_(inlining),
        used_(defines.size(), false) {}

  /// Binds every constant of a file, then checks its requirements, in any order of lines. False if
  /// one does not hold. What follows the first such requirement is not meant for these constants,
  /// so errors there are not reported.
  bool bind(const ast::Program& tree, Diagnostics& diagnostics);

  [[nodiscard]] const Constants& constants() const { return constants_; }
  [[nodiscard]] std::vector<isa::Tunable> take_tunables() { return std::move(tunables_); }

 private:
  static constexpr std::size_t most_diagnostics = 10'000;

  void bind(const ast::ConstDecl& tree);
  [[nodiscard]] bool check(const ast::Require& tree);
  /// Reports overrides that name no constant of the file.
  void finish();
  void bind_one(const ast::ConstDecl& tree, std::size_t i);
  [[nodiscard]] std::optional<ConstantValue> evaluate(const ast::Expr& expr, const BindScope& scope,
                                                      const ast::ConstDecl& tree) const;
  [[nodiscard]] std::optional<ConstantValue> overridden(const ast::ConstDecl& tree, std::size_t i,
                                                        const ConstantValue& value);
  void check_choices(const ast::ConstDecl& tree, const ast::Identifier& name,
                     const ConstantValue& value, Span span);

  const std::vector<Define>& defines_;
  const Functions& functions_;
  const isa::Target& target_;
  Inlining& inlining_;
  std::vector<bool> used_;
  Diagnostics diagnostics_{most_diagnostics};
  Constants constants_;
  std::vector<isa::Tunable> tunables_;
};

}  // namespace tilevm::frontend
