// How tiles split into machine accesses.
#include "isa/access/access_planner.h"

#include <doctest/doctest.h>

#include "isa/layout/layout_ops.h"
#include "isa/verify/verify.h"

using namespace tilevm;
using namespace tilevm::isa;

namespace {

Expr integer(std::int64_t value) { return Expr::constant(value); }

/// The plan of one statement on the variables of a kernel, which it does not write.
AccessPlan plan_of(const std::vector<Variable>& variables, Instruction inst, std::int64_t threads,
                   std::vector<VarId> results = {}) {
  Kernel kernel;
  kernel.variables = variables;
  KernelInfo info;
  info.num_threads = threads;
  const InstStmt stmt{std::move(inst), std::move(results), true, {}};
  return *AccessPlanner(kernel, info, Target{}).plan(stmt);
}

GlobalType view_of(const DType& type, const Shape& shape) {
  GlobalType view{type, {}, {}};
  std::vector<Expr> strides;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    strides.insert(strides.begin(), integer(stride));
    view.extents.insert(view.extents.begin(), integer(shape[d]));
  }
  view.layout.form = std::move(strides);
  return view;
}

/// LoadGlobal of a tile from a row-major view.
AccessPlan load_plan(std::string_view dtype, const RegisterLayout& layout, const Shape& view,
                     std::optional<OffsetList> offset = {}) {
  const DType type = *parse_dtype(dtype);
  return plan_of({{"g", view_of(type, view)}, {"x", RegisterType{type, layout}}},
                 LoadGlobal{{VarId{0}}, layout, std::move(offset), {}}, layout.num_threads(),
                 {VarId{1}});
}

/// LoadShared from a tensor.
AccessPlan load_plan(std::string_view dtype, const RegisterLayout& layout,
                     const MemoryLayout& tensor) {
  const DType type = *parse_dtype(dtype);
  return plan_of({{"s", SharedType{type, tensor}}, {"x", RegisterType{type, layout}}},
                 LoadShared{{VarId{0}}, layout, {}, {}}, layout.num_threads(), {VarId{1}});
}

/// The plan of a copy into a shared tensor of 16 x `columns` elements, by 32 threads.
AccessPlan copy_plan(std::string_view dtype, std::int64_t columns, std::int64_t pitch) {
  const DType type = *parse_dtype(dtype);
  return plan_of({{"g", view_of(type, {16, columns})},
                  {"s", SharedType{type, *strided({16, columns}, {pitch, 1})}}},
                 CopyAsync{{VarId{1}}, {VarId{0}}, {}, {}, {}, {}}, 32);
}

/// Rows of `locals` elements for each of 32 threads.
RegisterLayout rows(std::int64_t locals) { return *compose(*spatial({32}), *local({locals})); }

using Widths = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a thread moves neighbours in the widest accesses") {
  CHECK(load_plan("f16", rows(8), {256}).widths == Widths{16});
  CHECK(load_plan("f16", rows(16), {512}).count == 2);
  CHECK(load_plan("f16", rows(4), {128}).widths == Widths{8});
  CHECK(load_plan("u8", rows(1), {32}).widths == Widths{1});
  CHECK(load_plan("f64", rows(2), {64}).widths == Widths{16});
  CHECK(load_plan("u4", rows(8), {256}).widths == Widths{4});
  CHECK(load_plan("u4", rows(32), {1024}).widths == Widths{16});
  CHECK(load_plan("i3", rows(32), {1024}).widths == Widths{4, 4, 4});
  CHECK(load_plan("i6", rows(64), {2048}).widths == Widths{16, 16, 16});
  CHECK(load_plan("i3", rows(4), {128}).form == AccessForm::bits);
  CHECK(load_plan("u1", rows(8), {256}).widths == Widths{1});
}

TEST_CASE("the order in a thread's registers may differ from memory's") {
  const auto columns = *compose(*spatial({32, 1}), *column_local({2, 8}));
  const AccessPlan plan = load_plan("f16", columns, Shape{64, 8});
  CHECK(plan.widths == Widths{16});
  CHECK_FALSE(plan.in_order());
  CHECK(plan.local_place(1, 3) == 7);
}

TEST_CASE("a plan says what keeps it from wider accesses") {
  const auto offset = [](std::int64_t value) { return OffsetList{{{integer(value), true}}}; };
  CHECK(describe(load_plan("f16", rows(8), {256})) == "1 access of 16 bytes");
  CHECK(describe(load_plan("f16", rows(8), {300}, offset(2))) ==
        "1 access of 4 + 4 + 4 + 4 bytes: the offset of dimension 0 is only known to be a multiple "
        "of 2");
  CHECK(describe(load_plan("f16", rows(8), {130})) ==
        "4 accesses of 4 bytes: the extent of dimension 0 is only known to be a multiple of 2");
  CHECK(describe(load_plan("f16", *compose(*local({8}), *spatial({32})), {256})) ==
        "8 accesses of 2 bytes: neighbours in memory do not follow one another in a thread");
  CHECK(describe(load_plan("f16", *compose(*spatial({32, 1}), *local({1, 8})),
                           *strided({32, 8}, {9, 1}))) ==
        "1 access of 2 + 2 + 2 + 2 + 2 + 2 + 2 + 2 bytes: the strides of dimension 0 may be "
        "any numbers");
  CHECK(describe(load_plan("f16", *compose(*spatial({32, 1}), *local({1, 8})),
                           *swizzled(*row_major({32, 8}), {1, 2, 3}))) ==
        "4 accesses of 4 bytes: the swizzle keeps 2 elements together");
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

TEST_CASE("a copy says what keeps it from wider pieces") {
  CHECK(describe(copy_plan("f16", 64, 72)) == "4 copies of 16 bytes");
  CHECK(describe(copy_plan("f16", 64, 68)) ==
        "8 copies of 8 bytes: the memory layout does not keep 8 elements together and aligned");
}

TEST_CASE("a copy without such pieces moves single elements") {
  const AccessPlan odd = copy_plan("f16", 64, 67);
  CHECK(odd.form == AccessForm::bytes);
  CHECK(odd.elements == 1);
  CHECK(odd.pieces == Shape{16, 64});
  CHECK(odd.count == 32);
  CHECK(copy_plan("i6", 64, 64).form == AccessForm::bits);
  CHECK(copy_plan("u8", 3, 3).count == 2);  // 48 elements, 32 threads
}
