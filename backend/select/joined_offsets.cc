// Offsets in shared memory whose two parts share no bit.
//
// Where a thread chooses an entry of a table in shared memory, its own part of the offset may be
// low bits, and the entry's high bits. A compiler that sees an OR there takes fewer instructions.
#include <cstdint>

#include "backend/select/passes.h"

namespace tilevm::backend {
namespace {

/// The index whose terms of each dimension are summed.
template <class Terms>
isa::Index index_of(const Terms& terms, std::int64_t number, std::size_t rank) {
  isa::Index index(rank, 0);
  for (const auto& term : terms) {
    if (term.stride == 0) continue;
    index[static_cast<std::size_t>(term.dim)] += number / term.divisor % term.size * term.stride;
  }
  return index;
}

/// Whether no thread's part of an offset shares a bit with an entry's.
bool parts_share_no_bit(const TileAccess& access, const isa::MemoryLayout& layout,
                        std::int64_t threads) {
  const isa::AccessPlan& plan = *access.plan;
  const isa::TileMapping& mapping = plan.mapping;
  if (layout.swizzle() || !mapping.fits_32_bits) return false;
  for (const auto& dimension : mapping.dimensions) {
    if (dimension.offset.constant_int() != std::int64_t{0}) return false;
  }
  constexpr std::int64_t most = std::int64_t{1} << 18;  // offsets that are looked at
  const std::size_t rank = layout.shape().size(), dim = static_cast<std::size_t>(*mapping.indexed);
  const std::int64_t entries = layout.shape()[dim];
  if (entries * plan.count > most) return false;
  std::int64_t own = 0, rest = 0;
  for (std::int64_t t = 0; t < threads; ++t) {
    own |= layout.offset(index_of(plan.threads, t, rank));
  }
  for (std::int64_t n = 0; n < plan.count; ++n) {
    isa::Index index = index_of(plan.outer, n, rank);
    for (index[dim] = 0; index[dim] < entries; ++index[dim]) rest |= layout.offset(index);
  }
  return own != 0 && (own & rest) == 0;
}

TileAccess* access_of(Form& form) {
  if (auto* accesses = std::get_if<WideAccesses>(&form)) return &accesses->access;
  if (auto* accesses = std::get_if<MatrixAccesses>(&form)) return &accesses->access;
  if (auto* accesses = std::get_if<CombiningAccesses>(&form)) return &accesses->access;
  return nullptr;
}

}  // namespace

void join_offsets(Selection& selection) {
  selection.statements.for_each([&](isa::StmtId id) {
    TileAccess* const access = access_of(selection.result.forms[id]);
    if (access == nullptr || access->hoisted) return;
    const isa::AccessPlan& plan = *access->plan;
    if (plan.address != isa::AddressForm::sum || !plan.mapping.shared || !plan.mapping.indexed) {
      return;
    }
    const auto& type =
        *std::get_if<isa::SharedType>(&selection.kernel.variable(access->tensor).type);
    access->joined = parts_share_no_bit(*access, type.layout, selection.info.num_threads);
  });
}

}  // namespace tilevm::backend
