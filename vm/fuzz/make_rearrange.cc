// Instructions that take elements of tiles to other places.
#include <algorithm>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;

constexpr std::int64_t most_joined_places = 128;

struct Part {
  int dim = 0;
  std::int64_t extent = 1;
};

/// The parts that a layout has along its dimensions.
std::vector<Part> parts_of(const isa::RegisterLayout& layout) {
  std::vector<Part> parts;
  for (int dim = 0; dim < layout.rank(); ++dim) {
    const std::int64_t all = layout.shape()[static_cast<std::size_t>(dim)];
    for (std::int64_t extent = 1; extent <= all; ++extent) {
      if (all % extent == 0 && isa::slice(layout, dim, extent).ok()) parts.push_back({dim, extent});
    }
  }
  return parts;
}

isa::ScalarOperand number(std::int64_t value) { return {Expr::constant(value)}; }

/// Indices that are all less than 2^bits, of any unsigned type that holds them.
Tile indices_below(KernelBuilder& builder, int bits, const isa::RegisterLayout& layout) {
  Draw& draw = builder.draw();
  if (bits > 0 && draw.chance(70)) return builder.tile(isa::unsigned_int(bits), layout);
  static const std::vector<isa::DType> wider = {isa::u8, isa::u16, isa::u32};
  const Tile any = builder.tile(draw.pick(wider), layout);
  if (!any.var.valid()) return any;
  const Tile mask =
      builder.constant(any.type.dtype, layout, Expr::constant((std::int64_t{1} << bits) - 1));
  const isa::VarId var = builder.add(isa::And{{any.var}, {mask.var}});
  builder.add_tile(var);
  return {var, any.type};
}

}  // namespace

void make_slice(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const Tile source = builder.any_tile();
  if (!source.var.valid()) return;
  const std::vector<Part> parts = parts_of(source.type.layout);
  if (parts.empty()) return;
  const Part part = draw.pick(parts);
  const std::int64_t all = source.type.shape()[static_cast<std::size_t>(part.dim)];
  const std::int64_t begin = draw.below(all / part.extent) * part.extent;
  builder.compute(isa::Slice{{source.var}, {{part.dim}}, number(begin), number(part.extent)});
}

void make_concat(KernelBuilder& builder) {
  const Tile a = builder.any_tile();
  if (!a.var.valid() || a.type.layout.rank() == 0) return;
  if (a.type.layout.num_locals() * 2 > most_joined_places) return;
  const Tile b = builder.tile(a.type.dtype, a.type.layout);
  if (!b.var.valid()) return;
  const auto dim = static_cast<int>(builder.draw().below(a.type.layout.rank()));
  builder.compute(isa::Concat{{a.var}, {b.var}, {{dim}}});
}

void make_lookup(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const auto bits = static_cast<int>(draw.between(0, 5));
  const std::int64_t entries = (std::int64_t{1} << bits) + (draw.chance(30) ? draw.below(5) : 0);
  const auto all = isa::local({entries});
  const auto copies = isa::replicated(builder.threads());
  const auto whole = isa::compose(*copies, *all);
  TILEVM_CHECK(whole.ok(), "a table of few entries");
  const Tile table = builder.load(builder.some_type(), *whole);
  if (!table.var.valid()) return;
  const Tile index = indices_below(builder, bits, builder.some_layout());
  if (index.var.valid()) builder.compute(isa::Lookup{{table.var}, {index.var}});
}

}  // namespace tilevm::vm::fuzz
