// Assertions, and Print: the elements that are shown go to the launch's print buffer
// (prelude/print.cuh), each from the first thread that holds it.
#include <fmt/format.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
#include "isa/program/print.h"

namespace tilevm::backend {
namespace {

/// "if (..) ", or "" if every place of every thread is shown: the thread must be the first that
/// holds the element, and the element among those that are shown.
std::string shown_only(const isa::PrintSite& site, const isa::RegisterLayout& layout,
                       const KernelEmission& kernel) {
  std::string text;
  const auto require = [&](std::string&& condition) {
    text += (text.empty() ? "if (" : " && ") + condition;
  };
  if (std::string first = first_holder(kernel.thread(), layout); !first.empty())
    require(std::move(first));
  for (std::size_t d = 0; d < site.shape.size(); ++d) {
    if (site.shown[d] != site.shape[d]) require(fmt::format("p{}_ < {}", d, site.shown[d]));
  }
  return text.empty() ? "" : text + ") ";
}

/// Declares p0_, p1_, ..: the index of the element at place l_ in each dimension.
void emit_indices(const isa::PrintSite& site, const isa::RegisterLayout& layout,
                  KernelEmission& kernel) {
  for (std::size_t d = 0; d < site.shape.size(); ++d) {
    const int dim = static_cast<int>(d);
    const std::string thread =
        share(kernel.thread(), layout.num_threads(), layout.thread_terms(), dim);
    const std::string local = share("l_", layout.num_locals(), layout.local_terms(), dim);
    kernel.out.line(fmt::format("const tv::u32 p{}_ = tv::shown_place<{}, {}>({});", d,
                                site.shape[d], site.shown[d], sum(thread, local)));
  }
}

void emit_tile(const isa::PrintSite& site, isa::VarId var, KernelEmission& kernel) {
  const auto& layout = kernel.type<isa::RegisterType>(var).layout;
  kernel.out.open_unrolled("l_", layout.num_locals());
  emit_indices(site, layout, kernel);
  std::string number;
  std::int64_t stride = isa::element_count(site.shown);
  for (std::size_t d = 0; d < site.shape.size(); ++d) {
    stride /= site.shown[d];
    number += fmt::format("{}p{}_", d == 0 ? "" : " + ", d);
    if (stride != 1) number += fmt::format(" * {}", stride);
  }
  kernel.out.line(fmt::format("{}tv::store<{}>(record_, {}, tv::get<{}>({}, l_));",
                              shown_only(site, layout, kernel), site.element_bytes * 8,
                              number.empty() ? "0" : number, site.dtype.bits, kernel.name(var)));
  kernel.out.close();
}

std::string code_of(const isa::Expr& value, KernelEmission& kernel) {
  const std::string scalar = kernel.scalar(value);
  if (value.kind() == isa::ScalarKind::f32) return fmt::format("tv::f32_bits({})", scalar);
  const bool wide = isa::element_type(value.kind()).bits > 32;
  return fmt::format("static_cast<tv::u{}>({})", wide ? 64 : 32, scalar);
}

}  // namespace

template <>
void emit_plain(const isa::Print& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const std::uint32_t number = kernel.info().print_site(stmt);
  const isa::PrintSite& site = kernel.info().prints[number];
  const auto* scalar = std::get_if<isa::ScalarOperand>(&inst.value.value);
  kernel.out.open_plain();
  // Evaluated even if the record is dropped, since the expression may fault.
  if (scalar != nullptr) {
    kernel.out.line(fmt::format("const tv::u{} code_ = {};", site.dtype.bits > 32 ? 64 : 32,
                                code_of(scalar->value, kernel)));
  }
  kernel.out.open(fmt::format("if (tv::u8* const record_ = tv::print_record(print_, {}, {}))",
                              number, site.record_bytes));
  if (scalar != nullptr) {
    kernel.out.line(fmt::format("if (tv::thread() == 0) tv::store<{}>(record_, 0, code_);",
                                site.element_bytes * 8));
  } else {
    emit_tile(site, std::get_if<isa::RegisterOperand>(&inst.value.value)->var, kernel);
  }
  kernel.out.close();
  kernel.out.close();
}

template <>
void emit_plain(const isa::Assert& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto call = [&](std::string_view place) {
    return fmt::format("tv::assertion_failed(assertions_, {}, {}, {});", kernel.kernel().kernel,
                       stmt.id.index, place);
  };
  if (const auto* scalar = std::get_if<isa::ScalarOperand>(&inst.condition.value)) {
    kernel.out.line(fmt::format("if (!{}) {}", kernel.condition(scalar->value), call("0")));
    return;
  }
  const isa::VarId var = std::get_if<isa::RegisterOperand>(&inst.condition.value)->var;
  const std::int64_t count = kernel.type<isa::RegisterType>(var).layout.num_locals();
  kernel.out.open_plain();
  kernel.out.line(
      fmt::format("const tv::u32 false_ = tv::first_false<{}>({});", count, kernel.name(var)));
  kernel.out.line(fmt::format("if (false_ < {}) {}", count, call("false_")));
  kernel.out.close();
}

}  // namespace tilevm::backend
