// Semaphores and counters, through which blocks wait for one another.
#include <fmt/format.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_scalar.h"
#include "isa/rules/rules.h"

namespace tilevm::backend {
namespace {

/// The address of an element, after a test that the element is in the view.
template <class Inst>
std::string element(const Inst& inst, KernelEmission& kernel) {
  const std::string view = kernel.name(inst.view.var);
  const auto& type = kernel.type<isa::GlobalType>(inst.view.var);
  const isa::TilePlacement placement = isa::place_tile(inst.offset, type.rank(), 0);
  std::string test, sum;
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    const std::string separator = d > 0 ? " && " : "";
    kernel.out.line(
        fmt::format("const tv::u64 at{}_ = {};", d, kernel.index(placement.dimensions[d].offset)));
    test += fmt::format("{}at{}_ < {}.extent[{}]", separator, d, view, d);
    sum += fmt::format("{}at{}_ * {}.stride[{}]", d > 0 ? " + " : "", d, view, d);
  }
  if (const isa::MemoryLayout* layout = type.layout.memory_layout()) {
    sum = layout_offset(*layout, "at");
  }
  if (!test.empty()) kernel.out.line(fmt::format("if (!({})) tv::fault();", test));
  if (sum.empty() || sum == "0") return view + ".data";
  return fmt::format("{}.data + tv::bytes<{}>({})", view, type.dtype.bits, sum);
}

/// "FUNCTION(address, value)", or with what the element is compared with.
template <class Inst>
std::string call(const std::string& function, const Inst& inst, KernelEmission& kernel) {
  const std::string address = element(inst, kernel);
  std::string compare;
  if constexpr (requires { inst.compare; }) {
    compare = fmt::format(", static_cast<tv::u32>({})", kernel.scalar(inst.compare.value));
  }
  return fmt::format("{}({}, static_cast<tv::u32>({}){})", function, address,
                     kernel.scalar(inst.value.value), compare);
}

/// An atomic instruction, whose result is what the element was.
template <class Inst>
void emit_update(const std::string& function, const Inst& inst, const isa::InstStmt& stmt,
                 KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const std::string type = scalar_type(kernel.type<isa::ScalarType>(result).kind);
  if (stmt.declares) kernel.out.line(fmt::format("{} {};", type, kernel.name(result)));
  kernel.out.open_plain();
  const std::string before = call(std::string(kernel.writer(stmt.id)) + function, inst, kernel);
  kernel.out.line(fmt::format("{} = static_cast<{}>({});", kernel.name(result), type, before));
  kernel.out.close();
}

}  // namespace

template <>
void emit_plain(const isa::LockSemaphore& inst, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.open_plain();
  kernel.out.line(call("tv::lock_semaphore", inst, kernel) + ";");
  kernel.out.close();
}

template <>
void emit_plain(const isa::ReleaseSemaphore& inst, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.open_plain();
  kernel.out.line(call(std::string(kernel.writer()) + "release_semaphore", inst, kernel) + ";");
  kernel.out.close();
}

template <>
void emit_plain(const isa::AtomicAdd& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_update("atomic_add", inst, stmt, kernel);
}

template <>
void emit_plain(const isa::AtomicCombine& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const std::string type = scalar_type(kernel.type<isa::ScalarType>(stmt.results[0]).kind);
  const std::string combination = fmt::format("tv::Combination::{}", to_string(inst.op));
  emit_update(fmt::format("atomic_combine<{}, {}>", combination, type), inst, stmt, kernel);
}

template <>
void emit_plain(const isa::AtomicExchange& inst, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  emit_update("atomic_exchange", inst, stmt, kernel);
}

template <>
void emit_plain(const isa::AtomicCompareExchange& inst, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  emit_update("atomic_compare_exchange", inst, stmt, kernel);
}

}  // namespace tilevm::backend
