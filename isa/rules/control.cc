#include "isa/inst/control.h"

#include "isa/rules/rules.h"

namespace tilevm::isa {

RuleResult result_types(const Synchronize&, const RuleContext&) { return std::vector<Type>{}; }
RuleResult result_types(const Exit&, const RuleContext&) { return std::vector<Type>{}; }

}  // namespace tilevm::isa
