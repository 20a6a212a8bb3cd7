#include "frontend/bind/constants.h"

#include "frontend/bind/bind_constants.h"
#include "frontend/bind/bind_function.h"

namespace tilevm::frontend {

FileConstants evaluate_constants(const ast::Program& tree, const SourceFile& source,
                                 const std::vector<Define>& defines, Diagnostics& diagnostics) {
  SourceFile with_calls = source;
  Inlining inlining(with_calls);
  const Functions functions = functions_of(tree);
  const isa::Target target;
  ConstantBinder binder(defines, functions, target, inlining);
  (void)binder.bind(tree, diagnostics);
  FileConstants result;
  for (const auto& [name, constant] : binder.constants()) {
    const auto* scalar = std::get_if<isa::Scalar>(&constant.value);
    if (constant.poisoned || scalar == nullptr || !scalar->is_integer()) continue;
    result.integers[name] = scalar->as_int();
  }
  result.tunables = binder.take_tunables();
  return result;
}

}  // namespace tilevm::frontend
