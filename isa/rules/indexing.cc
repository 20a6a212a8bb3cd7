#include "isa/inst/indexing.h"

#include "isa/rules/rules.h"

namespace tilevm::isa {

template <>
RuleResult result_types(const BlockIndices&, const RuleContext& context) {
  return std::vector<Type>(context.kernel().grid.size(), ScalarType{ScalarKind::i32});
}

}  // namespace tilevm::isa
