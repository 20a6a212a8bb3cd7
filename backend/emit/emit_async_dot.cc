// Asynchronous products of warp groups: one call for each step of the verifier's plan, on registers
// of the tiles and on matrix descriptors.
//
// The compiler does not know that the registers of d change after the instruction: every wait ends
// with an empty statement that "writes" the tiles whose products may have been retired, so that no
// read of theirs moves before it.
#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_packed.h"
#include "backend/ptx/emit_mma.h"
#include "backend/ptx/emit_wgmma.h"
#include "isa/dot/wgmma_shapes.h"
#include "isa/inst/product.h"

namespace tilevm::backend {
namespace {

/// The number of a thread's warp group among those that multiply.
std::string warp_group(const KernelEmission& kernel) {
  const std::int64_t first = kernel.group().first_thread / isa::warp_group_size;
  return first == 0 ? "tv::warp_group()" : fmt::format("(tv::warp_group() - {})", first);
}

/// A value for each warp group: a constant, a multiple of the group's number, or a choice.
std::string of_group(const std::vector<std::int64_t>& values, const std::string& number) {
  const auto step = values.size() > 1 ? values[1] - values[0] : 0;
  bool linear = true;
  for (std::size_t g = 0; g < values.size(); ++g) {
    linear = linear && values[g] == values[0] + static_cast<std::int64_t>(g) * step;
  }
  if (linear && step == 0) return fmt::format("{}", values[0]);
  if (linear) return fmt::format("{} + {} * {}", values[0], number, step);
  std::string text;
  for (std::size_t g = 0; g + 1 < values.size(); ++g) {
    text += fmt::format("{} == {} ? {} : ", number, g, values[g]);
  }
  return fmt::format("({}{})", text, values.back());
}

/// Declares the descriptor of a group's first fragment.
void declare_descriptor(std::string_view name, isa::VarId tensor, const isa::SharedMatrix& matrix,
                        KernelEmission& kernel) {
  std::string distance = of_group(matrix.group_starts, warp_group(kernel));
  for (const isa::SharedMatrix::RunTimeIndex& index : matrix.indices) {
    distance += fmt::format(" + static_cast<tv::u32>({}) * {}", kernel.scalar(index.value),
                            index.stride_bytes);
  }
  kernel.out.line(fmt::format("const tv::u64 {} = tv::matrix_descriptor({} + ({}), {:#x}ull);",
                              name, kernel.name(tensor), distance, matrix.descriptor()));
}

/// The descriptor of a fragment.
std::string fragment(std::string_view name, const isa::SharedMatrix& matrix, std::int32_t number) {
  constexpr std::int64_t unit = 16;
  const std::int64_t distance = matrix.starts[static_cast<std::size_t>(number)] / unit;
  return distance == 0 ? std::string(name) : fmt::format("{} + {}", name, distance);
}

bool flag_of(const std::optional<isa::ScalarOperand>& flag) {
  return flag && flag->value.constant_value()->as_bool();
}

std::string registers_of(const PackedOperand& operand, const isa::Fragment& fragment) {
  return gather_all(operand, fragment);
}

}  // namespace

template <>
void emit_form(const AsyncDot& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& inst = *std::get_if<isa::DotAsync>(&stmt.inst);
  const isa::DotPlan& plan = *form.plan;
  const isa::MmaShape& shape = *plan.shape;
  const isa::ProductOperands product = isa::product_operands(inst);
  const std::string& result = kernel.name(stmt.results[0]);
  const PackedOperand d{result, shape.accumulator.bits,
                        mma_registers(shape.accumulator, shape.c_layout)};
  kernel.declare_tile(stmt);
  if (result != kernel.name(product.addend)) {
    kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});",
                                tile_words(kernel.type<isa::RegisterType>(product.addend)), result,
                                kernel.name(product.addend)));
  }
  kernel.out.open_plain();
  if (plan.a_shared) declare_descriptor("a_", product.left, *plan.a_shared, kernel);
  declare_descriptor("b_", product.right, *plan.b_shared, kernel);
  const std::string accumulate = inst.accumulate ? kernel.scalar(inst.accumulate->value) : "true";
  const std::string function = kernel.wgmma_function({&shape, !plan.a_shared});
  const std::string constants = fmt::format(
      "<{}, {}, {}, {}>", flag_of(inst.negate_a) ? -1 : 1, flag_of(inst.negate_b) ? -1 : 1,
      plan.a_shared && plan.a_shared->mn_major ? 1 : 0, plan.b_shared->mn_major ? 1 : 0);
  kernel.out.line("tv::wgmma_fence();");
  std::int32_t before = -1;
  for (const isa::DotPlan::Step& step : plan.steps) {
    std::string a;
    if (plan.a_shared) {
      a = fragment("a_", *plan.a_shared, step.a);
    } else {
      const PackedOperand left{kernel.name(product.left), shape.a.bits,
                               mma_registers(shape.a, shape.a_layout)};
      a = registers_of(left, plan.a[static_cast<std::size_t>(step.a)]);
    }
    kernel.out.line(fmt::format("{}{}({}, {}, {}, {});", function, constants,
                                registers_of(d, plan.c[static_cast<std::size_t>(step.c)]), a,
                                fragment("b_", *plan.b_shared, step.b),
                                step.c == before ? "true" : accumulate));
    before = step.c;
  }
  kernel.out.close();
}

template <>
void emit_plain(const isa::DotAsyncCommitGroup&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("tv::wgmma_commit();");
}

template <>
void emit_form(const ProductWait& form, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line(fmt::format("tv::wgmma_wait<{}>();", form.pending));
  for (const isa::VarId tile : form.results) {
    kernel.out.line(fmt::format("tv::hold_words<{}>({});",
                                tile_words(kernel.type<isa::RegisterType>(tile)),
                                kernel.name(tile)));
  }
}

}  // namespace tilevm::backend
