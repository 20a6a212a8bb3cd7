#include "frontend/constants.h"

#include "frontend/bind_constants.h"

namespace tilevm::frontend {

std::optional<FileConstants> evaluate_constants(const ast::Program& tree, const SourceFile& source,
                                                const std::vector<Define>& defines,
                                                Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  ConstantBinder binder(defines, diagnostics);
  binder.bind(tree, source);
  if (diagnostics.error_count() > errors_before) return std::nullopt;
  FileConstants result;
  for (const auto& [name, constant] : binder.constants()) {
    const auto* scalar = std::get_if<isa::Scalar>(&constant.value);
    if (scalar != nullptr && scalar->is_integer()) result.integers[name] = scalar->as_int();
  }
  result.tunables = binder.take_tunables();
  return result;
}

}  // namespace tilevm::frontend
