#include "backend/emu/approximations.h"

#include <string_view>

#include "isa/base/check.h"
#include "isa/inst/instruction_set.h"
#include "isa/type/approximation.h"

namespace tilevm::backend {
namespace {

using Word = unsigned long long;
using Function = Word (*)(Word a, Word b);

/// The function of an instruction and a type; of other instructions none.
template <class Inst>
struct FunctionOf {
  static Function on(std::string_view) { return nullptr; }
};

template <isa::UnaryOp op>
struct FunctionOf<isa::Unary<op>> {
  static Function on(std::string_view type) {
    if constexpr (class_of(op) == isa::UnaryClass::approximation) {
      if (type == "f16")
        return [](Word a, Word) -> Word { return apply_approximation(op, isa::f16, a); };
      if (type == "bf16")
        return [](Word a, Word) -> Word { return apply_approximation(op, isa::bf16, a); };
      if (type == "f64")
        return [](Word a, Word) -> Word { return apply_approximation(op, isa::f64, a); };
      return [](Word a, Word) -> Word { return apply_approximation(op, isa::f32, a); };
    } else {
      return nullptr;
    }
  }
};

template <isa::BinaryOp op>
struct FunctionOf<isa::Binary<op>> {
  static Function on(std::string_view) {
    if constexpr (class_of(op) == isa::BinaryClass::quotient) {
      return [](Word a, Word b) -> Word { return isa::apply_quotient(op, a, b); };
    } else {
      return nullptr;
    }
  }
};

}  // namespace

Function find_approximation(const char* mnemonic, const char* type) {
  Function found = nullptr;
  isa::for_each_instruction([&]<class Inst>() {
    if (Inst::schema.description.mnemonic == mnemonic) found = FunctionOf<Inst>::on(type);
  });
  TILEVM_CHECK(found != nullptr, "no approximation");
  return found;
}

}  // namespace tilevm::backend
