// How tiles split into machine accesses.
#include "isa/access_plan.h"

#include <doctest/doctest.h>

#include "isa/layout/layout_ops.h"

using namespace tilevm;
using namespace tilevm::isa;

namespace {

RegisterType tile(std::string_view dtype, std::int64_t locals) {
  return {*parse_dtype(dtype), *compose(*spatial({32}), *local({locals}))};
}

/// The plan of a copy into a shared tensor of 16 x `columns` elements, by 32 threads.
AccessPlan copy_plan(std::string_view dtype, std::int64_t columns, std::int64_t pitch) {
  const DType type = *parse_dtype(dtype);
  Kernel kernel;
  const auto integer = [](std::int64_t value) { return Expr::constant(value); };
  GlobalType view{type, {integer(16), integer(columns)}, {}};
  view.layout.form = std::vector<Expr>{integer(columns), integer(1)};
  kernel.variables.push_back({"g", view});
  kernel.variables.push_back({"s", SharedType{type, *strided({16, columns}, {pitch, 1})}});
  KernelInfo info;
  info.num_threads = 32;
  info.write_count = {1, 1};
  return plan_access(CopyAsync{{VarId{1}}, {VarId{0}}, {}, {}}, kernel, info);
}

}  // namespace

TEST_CASE("a thread moves its elements one by one") {
  for (const char* dtype : {"u8", "f16", "tf32", "f64"}) {
    const AccessPlan plan = plan_access(tile(dtype, 6));
    CHECK(plan.form == AccessForm::element);
    CHECK(plan.elements == 1);
    CHECK(plan.count == 6);
  }
  for (const char* dtype : {"u1", "i3", "f6e3m2", "u7"}) {
    CHECK(plan_access(tile(dtype, 6)).form == AccessForm::bits);
  }
}

TEST_CASE("a copy moves the widest pieces that both sides keep aligned") {
  const AccessPlan wide = copy_plan("f16", 64, 72);
  CHECK(wide.form == AccessForm::copy);
  CHECK(wide.elements == 8);
  CHECK(wide.pieces == Shape{16, 8});
  CHECK(wide.count == 4);
  CHECK(copy_plan("f16", 64, 68).elements == 4);
  CHECK(copy_plan("f16", 64, 66).elements == 2);
  CHECK(copy_plan("u4", 64, 64).elements == 32);
}

TEST_CASE("a copy without such pieces moves single elements") {
  const AccessPlan odd = copy_plan("f16", 64, 67);
  CHECK(odd.form == AccessForm::element);
  CHECK(odd.elements == 1);
  CHECK(odd.pieces == Shape{16, 64});
  CHECK(odd.count == 32);
  CHECK(copy_plan("i6", 64, 64).form == AccessForm::bits);
  CHECK(copy_plan("u8", 3, 3).count == 2);  // 48 elements, 32 threads
}
