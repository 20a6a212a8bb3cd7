#include "frontend/bind/bind_kernel.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "frontend/bind/bind_body.h"
#include "frontend/bind/bind_decorator.h"
#include "frontend/bind/expressions.h"

namespace tilevm::frontend {
namespace {

class KernelBinder {
 public:
  KernelBinder(const Constants& constants, const Functions& functions, const isa::Target& target,
               Inlining& inlining, Diagnostics& diagnostics)
      : diagnostics_(diagnostics),
        builder_(target, inlining),
        body_(builder_, constants, functions, diagnostics),
        // No statements can be added before the body.
        scope_{constants, &body_.variables(), diagnostics, &functions, nullptr} {}

  isa::Kernel bind(const ast::Kernel& tree) {
    kernel_.name = tree.name.text;
    kernel_.span = tree.name.span;
    for (const ast::Decorator& decorator : tree.decorators) {
      bind_decorator(decorator, scope_, kernel_);
    }
    for (const ast::Param& param : tree.params) bind_param(param);
    for (const ast::Expr& extent : tree.grid) {
      // A faulty extent still counts, so that BlockIndices gives as many indices as were meant.
      kernel_.grid.push_back(bind_scalar(extent, scope_).value_or(isa::Expr::constant(1)));
    }
    isa::Block block;
    builder_.block = &block;
    body_.bind(tree.body);
    kernel_.body = std::move(block);
    return std::move(kernel_);
  }

 private:
  /// `f16* a` is a pointer, `i32 n` a scalar.
  void bind_param(const ast::Param& param) {
    const std::string& name = param.name.text;
    if (!body_.check_new_name(param.name)) return;
    VariableScope& variables = body_.variables();
    if (param.is_pointer) {
      const auto type = bind_dtype(param.type, scope_);
      if (!type) return variables.poison(name);
      kernel_.parameters.push_back(
          variables.declare(name, isa::PointerType{*type}, param.name.span));
      return;
    }
    const auto* type_name = std::get_if<ast::Name>(&param.type.node);
    const auto kind = type_name != nullptr ? isa::parse_scalar_kind(type_name->text) : std::nullopt;
    if (!kind) {
      add_note(diagnostics_.error(Code::unknown_type, param.type.span,
                                  "a scalar parameter is i32, i64, u32, u64, f32 or bool"),
               fmt::format("a pointer has a star: `{}* {}`",
                           type_name != nullptr ? type_name->text : "f16", name));
      return variables.poison(name);
    }
    kernel_.parameters.push_back(variables.declare(name, isa::ScalarType{*kind}, param.name.span));
  }

  Diagnostics& diagnostics_;
  KernelBuilder builder_;
  BodyBinder body_;
  BindScope scope_;
  isa::Kernel& kernel_ = builder_.kernel;
};

}  // namespace

isa::Kernel bind_kernel(const ast::Kernel& tree, const Constants& constants,
                        const Functions& functions, const isa::Target& target, Inlining& inlining,
                        Diagnostics& diagnostics) {
  return KernelBinder(constants, functions, target, inlining, diagnostics).bind(tree);
}

}  // namespace tilevm::frontend
