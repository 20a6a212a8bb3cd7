// The selected form of kernels: which form each statement takes, without any text.
#include "backend/select/select.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "backend/emit/emit.h"
#include "backend/select/remarks.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

constexpr isa::Target sm_90{90, true};

/// How often a form occurs in the first kernel of a program.
template <class Kind>
int count(const SelectedProgram& selected) {
  int found = 0;
  isa::for_each_statement(selected.program.kernel(0).body, [&](const isa::Stmt& stmt) {
    found += std::holds_alternative<Kind>(selected.kernels[0].forms[stmt.id()]) ? 1 : 0;
  });
  return found;
}

SelectedProgram selected_of(const std::string& text) { return select(make_program(text, sm_90)); }

TEST_CASE("every statement has one form, and the statements around a cast know of each other") {
  const SelectedProgram selected = selected_of(R"(
def f<1>(u8* p, f16* r):
    bytes = LoadGlobal(ViewGlobal(p, shape=[128]), layout=spatial(32).local(4))
    codes = View(bytes, dtype=u4, layout=spatial(32).local(8))
    half = AllocateRegister(f16, layout=spatial(32).local(8), init=0.5)
    x = Mul(Cast(codes, dtype=f16), half)
    StoreGlobal(x, ViewGlobal(r, shape=[256]), offset=[0:])
)");
  CHECK(count<WideAccesses>(selected) == 2);
  CHECK(count<ElidedView>(selected) == 1);
  CHECK(count<ElidedCast>(selected) == 1);
  CHECK(count<FusedCast>(selected) == 1);
  CHECK(count<RecipeCast>(selected) == 0);
  CHECK(count<Plain>(selected) == 2);  // two views and the constant
  isa::for_each_statement(selected.program.kernel(0).body, [&](const isa::Stmt& stmt) {
    const auto* fused = std::get_if<FusedCast>(&selected.kernels[0].forms[stmt.id()]);
    if (fused == nullptr) return;
    const auto* cast = std::get_if<ElidedCast>(&selected.kernels[0].forms[fused->cast]);
    REQUIRE(cast != nullptr);
    CHECK(cast->into == stmt.id());
  });
}

/// A loop that reads two shared tensors of one layout, or one of them twice.
std::string reads_in_loop(const std::string& range, const std::string& second) {
  const std::string layout = ", layout=local(4, 1).spatial(4, 32), offset=";
  return "def f<1>(f32* p):\n    g = ViewGlobal(p, shape=[16, 32])\n"
         "    s = AllocateShared(f32, shape=[8, 16, 32])\n"
         "    t = AllocateShared(f32, shape=[8, 16, 32])\n"
         "    x = AllocateRegister(f32, layout=local(4, 1).spatial(4, 32), init=0.0)\n"
         "    for i in " +
         range + ":\n        x = Add(x, LoadShared(s" + layout + "[i % 8, 0:, 0:]))\n" +
         "        x = Add(x, LoadShared(" + second + layout +
         "[i % 8, 0:, 0:]))\n    StoreGlobal(x, g)\n    StoreShared(x, t, offset=[0, 0:, 0:])\n";
}

TEST_CASE("long loops have their addresses hoisted, equal ones once") {
  CHECK(selected_of(reads_in_loop("range(8)", "t")).kernels[0].hoisted.size() == 2);
  CHECK(selected_of(reads_in_loop("range(8)", "s")).kernels[0].hoisted.size() == 1);
  CHECK(selected_of(reads_in_loop("range(7)", "t")).kernels[0].hoisted.empty());
}

TEST_CASE("loops count their iterations if steps might pass the end") {
  const auto loop = [](const std::string& range) {
    return selected_of("def f<1>(i32 n):\n    for i in " + range + ":\n        Print(i)\n");
  };
  CHECK(count<SteppedLoop>(loop("range(n)")) == 1);
  CHECK(count<SteppedLoop>(loop("range(10, 0, -2)")) == 1);
  CHECK(count<CountedLoop>(loop("range(0, n, 2)")) == 1);
}

TEST_CASE("the remarks are those of the selected form, whether it is printed or not") {
  const SelectedProgram selected = selected_of(reads_in_loop("range(8)", "t"));
  const auto remarks = describe(selected.program, selected.kernels[0]);
  const CudaSource source = emit_cuda(selected);
  REQUIRE(remarks.size() == source.kernels[0].remarks.size());
  for (std::size_t i = 0; i < remarks.size(); ++i) {
    CHECK(remarks[i].text == source.kernels[0].remarks[i].text);
  }
  CHECK(emit_cuda(selected.program).text == source.text);
}

}  // namespace
}  // namespace tilevm::backend
