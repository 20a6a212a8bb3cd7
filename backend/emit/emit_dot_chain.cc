// Dot without tensor cores: two loops over tables of places, which the compiler unrolls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_dot.h"

namespace tilevm::backend {
namespace {

void declare_table(std::string_view name, const isa::Fragment& places, KernelEmission& kernel) {
  kernel.out.plain(
      fmt::format("constexpr int {}[{}] = {{{}}};", name, places.size(), fmt::join(places, ", ")));
}

void emit_chains(const isa::Dot& inst, const ChainDot& form, const std::string& target,
                 KernelEmission& kernel) {
  const isa::DotPlan& plan = *form.dot.plan;
  const auto type = [&](isa::VarId var) { return kernel.type<isa::RegisterType>(var).dtype; };
  const isa::DType a = type(inst.a.var), b = type(inst.b.var), c = type(inst.c.var);
  const std::size_t locals = plan.chain.a_row.size(), depth = plan.chain.a_depth.size();
  const std::string_view unroll = form.unrolled ? "TV_UNROLL " : "";
  kernel.out.open_plain();
  declare_table("a_row_", plan.chain.a_row, kernel);
  declare_table("a_depth_", plan.chain.a_depth, kernel);
  declare_table("b_depth_", plan.chain.b_depth, kernel);
  declare_table("b_column_", plan.chain.b_column, kernel);
  kernel.out.open_plain(fmt::format("{}for (int i_ = 0; i_ < {}; ++i_)", unroll, locals));
  kernel.out.line(
      fmt::format("tv::Code<{0}> acc_ = tv::get<{0}>({1}, i_);", c.bits, kernel.name(inst.c.var)));
  kernel.out.open_plain(fmt::format("{}for (int k_ = 0; k_ < {}; ++k_)", unroll, depth));
  kernel.out.line(
      fmt::format("acc_ = tv::multiply_add<{}, {}, {}>(tv::get<{}>({}, a_row_[i_] + a_depth_[k_]), "
                  "tv::get<{}>({}, b_depth_[k_] + b_column_[i_]), acc_);",
                  kernel.element_type(a), kernel.element_type(b), kernel.element_type(c), a.bits,
                  kernel.name(inst.a.var), b.bits, kernel.name(inst.b.var)));
  kernel.out.close();
  kernel.out.line(fmt::format("tv::put<{}>({}, i_, tv::canonical<{}>(acc_));", c.bits, target,
                              kernel.element_type(c)));
  kernel.out.close();
  kernel.out.close();
}

}  // namespace

template <>
void emit_form(const ChainDot& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_dot(form.dot, stmt, kernel, [&](const std::string& target) {
    const isa::Dot& inst = *std::get_if<isa::Dot>(&stmt.inst);
    emit_chains(inst, form, target, kernel);
  });
}

}  // namespace tilevm::backend
