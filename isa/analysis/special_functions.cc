#include "isa/analysis/special_functions.h"

#include <variant>

namespace tilevm::isa {
namespace {

template <class Inst>
constexpr bool is_special = false;
template <UnaryOp op>
constexpr bool is_special<Unary<op>> = class_of(op) == UnaryClass::approximation;
template <BinaryOp op>
constexpr bool is_special<Binary<op>> = class_of(op) == BinaryClass::quotient;

}  // namespace

bool is_special_function(const Instruction& inst) {
  return std::visit([]<class Inst>(const Inst&) { return is_special<Inst>; }, inst);
}

}  // namespace tilevm::isa
