// Cases of DotAsync: every class of types, with the left matrix in shared memory and in registers.
#include <utility>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/dot/shared_matrix.h"
#include "isa/dot/wgmma_shapes.h"
#include "vm/fidelity/case.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::vm::fidelity {

namespace {

using isa::MmaShape;

/// Every block multiplies matrices of 64 x n with three steps of k.
struct GroupProduct {
  const MmaShape* shape;
  bool a_in_registers;

  [[nodiscard]] std::int64_t k() const { return 3 * shape->k; }
};

/// A layout that descriptors can name, of a matrix in shared memory.
std::string shared_layout(const isa::DType& type, const isa::Shape& shape, bool k_first) {
  const auto plain = isa::row_major(shape);
  TILEVM_CHECK(plain.ok(), "a matrix of a case");
  const auto layout = isa::suggest_shared_layout({{type, *plain}, {}}, k_first);
  TILEVM_CHECK(layout.has_value(), "a matrix that descriptors can name");
  return *layout;
}

/// A shared tensor `name` that a copy fills with the block's part.
std::string copy_lines(std::string_view name, const isa::DType& type, const isa::Shape& shape,
                       bool k_first) {
  return fmt::format(
      "    s{0} = AllocateShared({1}, shape=[{2}, {3}], layout={4})\n"
      "    CopyAsync(s{0}, ViewGlobal({0}_ptr, shape=[n, {2}, {3}]), offset=[i, 0:, 0:])\n",
      name, to_string(type), shape[0], shape[1], shared_layout(type, shape, k_first));
}

std::string text_of(const GroupProduct& product) {
  const MmaShape& shape = *product.shape;
  const std::int64_t k = product.k();
  std::string text = fmt::format(
      "def f<n>({0}* a_ptr, {1}* b_ptr, {2}* c_ptr, {2}* d_ptr, i32 n):\n"
      "    i = BlockIndices()\n",
      to_string(shape.a), to_string(shape.b), to_string(shape.accumulator));
  if (product.a_in_registers) {
    text += fmt::format(
        "    sa = LoadGlobal(ViewGlobal(a_ptr, shape=[n, {}, {}]), layout=local(1, 3).{}, "
        "offset=[i, 0:, 0:])\n",
        shape.m, k, to_string(shape.a_layout));
  } else {
    text += copy_lines("a", shape.a, {shape.m, k}, false);
  }
  text += copy_lines("b", shape.b, {k, shape.n}, true);
  text += fmt::format(
      "    CopyAsyncCommitGroup()\n"
      "    acc = LoadGlobal(ViewGlobal(c_ptr, shape=[n, {0}, {1}]), layout={2}, "
      "offset=[i, 0:, 0:])\n"
      "    CopyAsyncWaitGroup(0)\n"
      "    Synchronize()\n"
      "    DotAsync(sa, sb, acc, out=acc)\n"
      "    DotAsyncCommitGroup()\n"
      "    DotAsyncWaitGroup(0)\n"
      "    StoreGlobal(acc, ViewGlobal(d_ptr, shape=[n, {0}, {1}]), offset=[i, 0:, 0:])\n",
      shape.m, shape.n, to_string(shape.c_layout));
  return text;
}

Draw draw_of(const GroupProduct& product) {
  const MmaShape& shape = *product.shape;
  return [&shape, k = static_cast<std::size_t>(product.k()), m = static_cast<std::size_t>(shape.m),
          n = static_cast<std::size_t>(shape.n)](std::uint64_t seed, std::int64_t block) {
    Random random = block_random(seed, block);
    const Spreads spreads = random_spreads(random, shape.a, shape.b, shape.accumulator);
    std::vector<std::vector<std::uint64_t>> codes;
    codes.push_back(random_codes(random, shape.a, m * k, spreads.a));
    codes.push_back(random_codes(random, shape.b, k * n, spreads.b));
    codes.push_back(random_codes(random, shape.accumulator, m * n, spreads.c));
    return codes;
  };
}

Case make_case(const GroupProduct& product) {
  const MmaShape& shape = *product.shape;
  const std::int64_t m = shape.m, n = shape.n, k = product.k();
  const auto part = [&](std::string name, const isa::DType& type, std::int64_t rows,
                        std::int64_t columns) {
    return Part{std::move(name), type, {rows, columns}, "DotAsync", type};
  };
  Case made;
  made.family = Family::warp_group;
  made.name =
      fmt::format("DotAsync {} {} {} {}{}", to_string(shape.a), to_string(shape.b),
                  to_string(shape.accumulator), product.a_in_registers ? "rs." : "ss.", shape.name);
  made.min_sm = shape.min_sm;
  made.text = text_of(product);
  made.operands = {part("a", shape.a, m, k), part("b", shape.b, k, n),
                   part("c", shape.accumulator, m, n)};
  made.results = {part("DotAsync", shape.accumulator, m, n)};
  made.draw = draw_of(product);
  made.kept = 16;
  made.full = 1'000'000 / (m * n) + 1;
  made.exhaustive = 10'000'000 / (m * n) + 1;
  return made;
}

}  // namespace

/// n does not matter to the bits: one narrow instruction of each class, and one of the widest.
std::vector<Case> async_dot_cases() {
  constexpr std::int64_t narrow = 16, wide = 256;
  std::vector<Case> cases;
  for (const MmaShape& shape : isa::wgmma_shapes()) {
    const bool is_wide = shape.n == wide && shape.a == isa::f16 && shape.accumulator == isa::f32;
    if (shape.n != narrow && !is_wide) continue;
    for (const bool a_in_registers : {false, true}) {
      cases.push_back(make_case({&shape, a_in_registers}));
    }
  }
  return cases;
}

}  // namespace tilevm::vm::fidelity
