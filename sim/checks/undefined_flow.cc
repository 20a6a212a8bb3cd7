#include "sim/checks/undefined_flow.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "isa/dot/dot.h"
#include "isa/dot/dot_tiling.h"
#include "isa/layout/broadcast.h"
#include "isa/rules/support.h"
#include "isa/type/bits.h"

namespace tilevm::sim {
namespace {

/// An operand, and where the elements lie that the result's places are computed from.
struct Source {
  enum class Reach : std::uint8_t {
    same,    ///< at the result's places
    places,  ///< broadcast
    all,     ///< anywhere in the tile
  };
  Tile tile;
  Reach reach = Reach::same;
  std::shared_ptr<const isa::PlaceMap> places;
};

Source make_source(isa::VarId var, const Preparation& preparation) {
  Source source;
  source.tile = preparation.tile(var);
  const isa::RegisterLayout& layout = preparation.register_type(var).layout;
  const isa::RegisterLayout& result = preparation.register_type(preparation.result()).layout;
  if (layout == result) return source;
  source.reach = isa::broadcasts_to(layout, result) ? Source::Reach::places : Source::Reach::all;
  if (source.reach == Source::Reach::places) {
    source.places = preparation.tables.places(result, layout);
  }
  return source;
}

/// Marks the elements of the result that are computed from undefined ones of a source.
void spread(const Source& source, const Tile& result, const UndefinedRegisters& undefined,
            std::vector<std::uint8_t>& bits) {
  for (std::size_t t = 0; t < result.threads; ++t) {
    for (std::size_t i = 0; i < result.locals; ++i) {
      const std::size_t place =
          source.reach == Source::Reach::places ? static_cast<std::size_t>((*source.places)[i]) : i;
      if (source.reach == Source::Reach::all || undefined.element(source.tile, t, place)) {
        isa::put_bits(bits.data() + t * result.thread_bytes, i * result.bits, result.bits,
                      ~std::uint64_t{0});
      }
    }
  }
}

/// The shadow of a result is complete: it takes the place of the old one.
void set_shadow(const Tile& result, const std::vector<std::uint8_t>& bits, const Origin& origin,
                UndefinedRegisters& undefined) {
  std::memcpy(undefined.at(result.offset), bits.data(), bits.size());
  undefined.update(result, origin);
}

/// Element-wise instructions: element by element, at the operands' broadcast places.
std::function<void(Context&)> element_flow(std::vector<Source> sources, const Tile& result) {
  return [sources = std::move(sources), result](Context& context) {
    UndefinedRegisters& undefined = context.state.undefined;
    std::vector<std::uint8_t> bits(result.bytes(), 0);
    Origin origin;
    bool any = false;
    for (const Source& source : sources) {
      if (!undefined.marked(source.tile)) continue;
      if (!std::exchange(any, true)) origin = undefined.origin(source.tile);
      spread(source, result, undefined, bits);
    }
    if (!any) return undefined.clear(result);
    set_shadow(result, bits, origin, undefined);
  };
}

/// The bits move, and what is known of them with them.
std::function<void(Context&)> view_flow(const Tile& source, const Tile& result) {
  if (source.offset == result.offset) return {};
  return [source, result](Context& context) {
    UndefinedRegisters& undefined = context.state.undefined;
    if (!undefined.marked(source)) return undefined.clear(result);
    std::memcpy(undefined.at(result.offset), undefined.at(source.offset), result.bytes());
    undefined.update(result, undefined.origin(source));
  };
}

/// The bits move to other places of their threads.
std::function<void(Context&)> convert_flow(Source source, const Tile& result) {
  if (!source.places) return view_flow(source.tile, result);
  return [source = std::move(source), result](Context& context) {
    UndefinedRegisters& undefined = context.state.undefined;
    if (!undefined.marked(source.tile)) return undefined.clear(result);
    std::vector<std::uint8_t> bits(result.bytes(), 0);
    for (std::size_t t = 0; t < result.threads; ++t) {
      const std::uint8_t* from = undefined.at(source.tile.offset) + t * result.thread_bytes;
      for (std::size_t i = 0; i < result.locals; ++i) {
        const auto place = static_cast<std::size_t>((*source.places)[i]);
        isa::put_bits(bits.data() + t * result.thread_bytes, i * result.bits, result.bits,
                      isa::get_bits(from, place * result.bits, result.bits));
      }
    }
    set_shadow(result, bits, Origin(undefined.origin(source.tile)), undefined);
  };
}

/// An operand of a Dot: a batch of matrices.
struct Matrices {
  Matrices(isa::VarId var, const Preparation& preparation)
      : tile(preparation.tile(var)),
        shape(isa::as_batch(preparation.register_type(var).layout).shape()),
        parts(isa::as_batch(preparation.register_type(var).layout)) {}

  Tile tile;
  isa::Shape shape;
  LayoutParts parts;

  /// The number of the row (dim 1) or column (2) of an element, counted through the batch.
  [[nodiscard]] std::size_t line(std::size_t t, std::size_t i, std::size_t dim) const {
    const isa::Index index = parts.index(t, i);
    return static_cast<std::size_t>(index[0] * shape[dim] + index[dim]);
  }
};

/// For each row or column: whether an element there is undefined.
std::vector<bool> undefined_lines(const Matrices& matrices, std::size_t dim,
                                  const UndefinedRegisters& undefined) {
  std::vector<bool> found(static_cast<std::size_t>(matrices.shape[0] * matrices.shape[dim]), false);
  if (!undefined.marked(matrices.tile)) return found;
  for (std::size_t t = 0; t < matrices.tile.threads; ++t) {
    for (std::size_t i = 0; i < matrices.tile.locals; ++i) {
      if (undefined.element(matrices.tile, t, i)) found[matrices.line(t, i, dim)] = true;
    }
  }
  return found;
}

/// d[.., m, n] depends on row m of a[..], column n of b[..], and c[.., m, n].
struct DotFlow {
  Matrices a, b;
  Tile c;
  Matrices d;

  void operator()(Context& context) const {
    UndefinedRegisters& undefined = context.state.undefined;
    const auto first = undefined.marked(a.tile)   ? &a.tile
                       : undefined.marked(b.tile) ? &b.tile
                       : undefined.marked(c)      ? &c
                                                  : nullptr;
    if (first == nullptr) return undefined.clear(d.tile);
    const Origin origin = undefined.origin(*first);
    const auto rows = undefined_lines(a, 1, undefined), columns = undefined_lines(b, 2, undefined);
    std::vector<std::uint8_t> bits(d.tile.bytes(), 0);
    for (std::size_t t = 0; t < d.tile.threads; ++t) {
      for (std::size_t i = 0; i < d.tile.locals; ++i) {
        if (rows[d.line(t, i, 1)] || columns[d.line(t, i, 2)] ||
            (undefined.marked(c) && undefined.element(c, t, i))) {
          isa::put_bits(bits.data() + t * d.tile.thread_bytes, i * d.tile.bits, d.tile.bits,
                        ~std::uint64_t{0});
        }
      }
    }
    set_shadow(d.tile, bits, origin, undefined);
  }
};

/// The variables of an instruction's register operands, with their places in the schema.
template <class Inst>
std::vector<std::pair<isa::VarId, std::size_t>> register_operands(const Inst& inst) {
  std::vector<std::pair<isa::VarId, std::size_t>> operands;
  isa::for_each_slot<Inst>([&](const auto& info, std::size_t position) {
    const auto& value = inst.*(info.member);
    using Slot = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) {
      operands.emplace_back(value.var, position);
    } else if constexpr (std::is_same_v<Slot, std::optional<isa::RegisterOperand>>) {
      if (value) operands.emplace_back(value->var, position);
    } else if constexpr (std::is_same_v<Slot, isa::ValueOperand>) {
      const auto* tile = std::get_if<isa::RegisterOperand>(&value.value);
      if (tile != nullptr) operands.emplace_back(tile->var, position);
    }
  });
  return operands;
}

/// The instruction needs every element of its operands.
template <class Inst>
Action use_of(const Inst& inst, const Preparation& preparation) {
  struct Use {
    std::string name;
    Span span;
    Tile tile;
    std::shared_ptr<const LayoutParts> parts;
  };
  std::vector<Use> uses;
  for (const auto& [var, position] : register_operands(inst)) {
    uses.push_back({preparation.name(var), preparation.slot_span(position), preparation.tile(var),
                    preparation.parts(var)});
  }
  if (uses.empty()) return {};
  return [uses = std::move(uses)](Context& context) {
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return check_defined(Inst::schema.description.mnemonic, use.span, use.name, use.tile,
                           *use.parts, context);
    });
  };
}

template <class Inst>
Flow flow_of(const Inst& inst, const Preparation& preparation) {
  if constexpr (Inst::schema.description.result != isa::ResultKind::register_tile) {
    return {use_of(inst, preparation), {}};
  } else {
    std::vector<Source> sources;
    for (const auto& operand : register_operands(inst)) {
      sources.push_back(make_source(operand.first, preparation));
    }
    return {{}, element_flow(std::move(sources), preparation.result_tile())};
  }
}

Flow flow_of(const isa::LoadGlobal&, const Preparation&) { return {}; }
Flow flow_of(const isa::LoadShared&, const Preparation&) { return {}; }
/// It stores only what lies inside the view.
Flow flow_of(const isa::StoreGlobal&, const Preparation&) { return {}; }

Flow flow_of(const isa::AllocateRegister& inst, const Preparation& preparation) {
  if (!inst.init) return {};
  return {{}, element_flow({}, preparation.result_tile())};
}

Flow flow_of(const isa::View& inst, const Preparation& preparation) {
  return {{}, view_flow(preparation.tile(inst.src.var), preparation.result_tile())};
}

Flow flow_of(const isa::ConvertLayout& inst, const Preparation& preparation) {
  return {{}, convert_flow(make_source(inst.src.var, preparation), preparation.result_tile())};
}

Flow flow_of(const isa::Dot& inst, const Preparation& preparation) {
  return {{},
          DotFlow{Matrices(inst.a.var, preparation), Matrices(inst.b.var, preparation),
                  preparation.tile(inst.c.var), Matrices(preparation.result(), preparation)}};
}

}  // namespace

Flow make_flow(const Preparation& preparation) {
  return std::visit([&](const auto& inst) { return flow_of(inst, preparation); },
                    preparation.stmt.inst);
}

}  // namespace tilevm::sim
