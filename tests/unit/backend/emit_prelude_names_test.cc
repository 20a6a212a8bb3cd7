// Every element-wise operation has its struct in the prelude. The emitter makes the struct's name
// from the instruction's, so nothing else would miss it before a kernel is compiled.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "backend/emit/prelude.h"
#include "isa/inst/instruction_set.h"

using namespace tilevm;

namespace {

/// Comparisons are typedefs of one template.
bool has_struct(std::string_view mnemonic) {
  const std::string name(mnemonic);
  const auto is_declared = [](const std::string& text) {
    return backend::prelude_arithmetic.find(text) != std::string_view::npos ||
           backend::prelude_function.find(text) != std::string_view::npos;
  };
  return is_declared("struct " + name + " ") || is_declared("> " + name + ";");
}

template <class Inst>
constexpr bool is_of_family = false;
template <isa::BinaryOp op>
constexpr bool is_of_family<isa::Binary<op>> = true;
template <isa::UnaryOp op>
constexpr bool is_of_family<isa::Unary<op>> = true;

}  // namespace

TEST_CASE("the prelude has a struct for every element-wise operation") {
  int checked = 0;
  isa::for_each_instruction([&]<class Inst>() {
    if constexpr (is_of_family<Inst>) {
      CHECK_MESSAGE(has_struct(Inst::schema.description.mnemonic),
                    std::string(Inst::schema.description.mnemonic));
      ++checked;
    }
  });
  CHECK(checked > 30);
  CHECK_FALSE(has_struct("Hypot"));
}
