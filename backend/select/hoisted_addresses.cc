// Addresses of accesses to shared memory that are computed once, before the kernel's first
// statement.
//
// An address is tensor base + thread offset + iteration offset. The first two are hoisted out of
// long loops for a few addresses of a kernel, as many as registers are worth spending on.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "backend/select/passes.h"
#include "backend/select/trip_counts.h"
#include "isa/layout/memory_layout.h"

namespace tilevm::backend {
namespace {

using isa::StmtId;

/// The stride of each dimension of a memory layout, if an index times these is the offset.
std::optional<std::vector<std::int64_t>> plain_strides(const isa::MemoryLayout& layout) {
  if (layout.swizzle()) return std::nullopt;
  std::vector<std::int64_t> strides;
  std::size_t mode = 0;
  for (const std::int64_t extent : layout.shape()) {
    strides.push_back(0);
    if (extent == 1) continue;
    if (layout.mode_shape()[mode] != extent) return std::nullopt;
    strides.back() = layout.mode_strides()[mode++];
  }
  return strides;
}

/// The digits of the thread index in one dimension's index. A digit that reaches the thread count
/// gets its exact size, so that equal addresses compare equal.
std::vector<isa::TensorTerm> thread_digits(const isa::AccessSide& side, int dim,
                                           std::int64_t threads) {
  std::vector<isa::TensorTerm> digits;
  for (isa::TensorTerm term : side.threads) {
    if (term.dim != dim) continue;
    term.dim = 0;
    if (term.divisor * term.size >= threads) term.size = (threads - 1) / term.divisor + 1;
    digits.push_back(term);
  }
  return digits;
}

/// The address of a thread's share, if offsets add up to it.
std::optional<HoistedAddress> address_of(const isa::AccessSide& side, isa::VarId tensor,
                                         const Selection& selection) {
  if (!side.mapping.shared || side.address != isa::AddressForm::sum) return std::nullopt;
  const auto& type = *std::get_if<isa::SharedType>(&selection.kernel.variable(tensor).type);
  const auto strides = plain_strides(type.layout);
  if (!strides || side.mapping.dtype.bits % 8 != 0) return std::nullopt;
  HoistedAddress address{.offset = selection.info.shared_tile(tensor).gpu_offset,
                         .bits = side.mapping.dtype.bits};
  for (std::size_t d = 0; d < strides->size(); ++d) {
    auto digits = thread_digits(side, static_cast<int>(d), selection.info.num_threads);
    if (digits.empty() || (*strides)[d] == 0) continue;
    address.shares.push_back({std::move(digits), (*strides)[d]});
  }
  return address.shares.empty() ? std::nullopt : std::optional(std::move(address));
}

/// The index of an address among the hoisted ones; nothing if no further one may be hoisted.
std::optional<std::size_t> hoist_address(HoistedAddress address,
                                         std::vector<HoistedAddress>& hoisted) {
  constexpr std::size_t most = 4;
  const auto known = std::find(hoisted.begin(), hoisted.end(), address);
  const auto position = static_cast<std::size_t>(std::distance(hoisted.begin(), known));
  if (known != hoisted.end()) return position;
  if (hoisted.size() == most) return std::nullopt;
  hoisted.push_back(std::move(address));
  return position;
}

/// An access to shared memory whose address can be hoisted, and the form's field for its index.
struct HoistSite {
  const isa::AccessSide* side;
  isa::VarId tensor;
  std::optional<std::size_t>* hoisted;
};

std::optional<HoistSite> hoist_site(StmtId id, Selection& selection) {
  const auto of_access = [](TileAccess& access) {
    return HoistSite{access.plan, access.tensor, &access.hoisted};
  };
  if (auto* accesses = selection.form<WideAccesses>(id)) return of_access(accesses->access);
  if (auto* accesses = selection.form<MatrixAccesses>(id)) return of_access(accesses->access);
  if (auto* copy = selection.form<PieceCopy>(id)) {
    const auto& inst = selection.statements.instruction(id)->inst;
    return HoistSite{&copy->plan->to, std::get_if<isa::CopyAsync>(&inst)->dst.var, &copy->hoisted};
  }
  return std::nullopt;
}

}  // namespace

void hoist_addresses(Selection& selection) {
  if (selection.info.num_threads % 32 != 0) return;
  selection.statements.for_each([&](StmtId id) {
    // Threads of a group have other numbers.
    if (selection.info.group_of[id] != 0) return;
    if (trip_count(selection.statements, id) < long_trip_count) return;
    const auto found = hoist_site(id, selection);
    if (!found) return;
    auto address = address_of(*found->side, found->tensor, selection);
    if (!address) return;
    *found->hoisted = hoist_address(*std::move(address), selection.result.hoisted);
  });
}

}  // namespace tilevm::backend
