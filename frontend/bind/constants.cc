#include "frontend/bind/constants.h"

#include "frontend/bind/bind_constants.h"

namespace tilevm::frontend {

FileConstants evaluate_constants(const ast::Program& tree, const SourceFile& source,
                                 const std::vector<Define>& defines, Diagnostics& diagnostics) {
  ConstantBinder binder(defines);
  (void)binder.bind(tree, source, diagnostics);
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
