// More than 400 lines: a transfer for each family of instructions, all made of the same parts.
#include "sim/checks/undefined_flow.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "isa/dot/dot.h"
#include "isa/dot/dot_tiling.h"
#include "isa/layout/broadcast.h"
#include "isa/rules/support.h"
#include "isa/type/bits.h"
#include "sim/checks/defined_elements.h"

namespace tilevm::sim {
namespace {

/// An operand, and which of its elements a place of the result is computed from.
struct Source {
  enum class Reach : std::uint8_t {
    same,    ///< the one at the result's place
    places,  ///< the one that broadcasting gives
    all,     ///< any of the tile
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

/// Replaces the undefined mask of a result.
void set_undefined(const Tile& result, const std::vector<std::uint8_t>& bits, const Origin& origin,
                   UndefinedRegisters& undefined) {
  std::memcpy(undefined.at(result.offset), bits.data(), bits.size());
  undefined.update(result, origin);
}

/// An operand of a product: a batch of matrices.
struct Matrices {
  Matrices(isa::VarId var, const Preparation& preparation)
      : tile(preparation.tile(var)),
        shape(isa::as_batch(preparation.register_type(var).layout).shape()),
        parts(isa::as_batch(preparation.register_type(var).layout)) {}

  Tile tile;
  isa::Shape shape;
  LayoutParts parts;

  /// The row (dim 1) or column (dim 2) of an element, numbered through the batch.
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

/// The lines of several matrices together; `first` becomes the first that has an undefined element.
std::vector<bool> undefined_lines(const std::vector<Matrices>& matrices, std::size_t dim,
                                  const UndefinedRegisters& undefined, const Tile*& first) {
  std::vector<bool> found;
  for (const Matrices& each : matrices) {
    if (first == nullptr && undefined.marked(each.tile)) first = &each.tile;
    const std::vector<bool> lines = undefined_lines(each, dim, undefined);
    found.resize(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) found[i] = found[i] || lines[i];
  }
  return found;
}

/// d[.., m, n] depends on row m of the left matrices, a[..] and its scales, on column n of the
/// right ones, and on c[.., m, n].
struct ProductTransfer {
  std::vector<Matrices> left, right;
  Tile c;
  Matrices d;

  void operator()(Context& context) const {
    UndefinedRegisters& undefined = context.state.undefined;
    const Tile* first = nullptr;
    const auto rows = undefined_lines(left, 1, undefined, first),
               columns = undefined_lines(right, 2, undefined, first);
    if (first == nullptr && undefined.marked(c)) first = &c;
    if (first == nullptr) return undefined.clear(d.tile);
    const Origin origin = undefined.origin(*first);
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
    set_undefined(d.tile, bits, origin, undefined);
  }
};

/// d[.., m, n] depends on row m of the stored elements and of places, on the elements of column n
/// of b that the places choose, and on c[.., m, n].
struct SparseProductTransfer {
  Matrices a, places, b;
  isa::RegisterLayout places_layout, b_layout;  ///< layouts of rank 3
  Tile c;
  Matrices d;

  void operator()(Context& context) const {
    UndefinedRegisters& undefined = context.state.undefined;
    const auto first = undefined.marked(a.tile)        ? &a.tile
                       : undefined.marked(places.tile) ? &places.tile
                       : undefined.marked(b.tile)      ? &b.tile
                       : undefined.marked(c)           ? &c
                                                       : nullptr;
    if (first == nullptr) return undefined.clear(d.tile);
    const Origin origin = undefined.origin(*first);
    const auto rows = undefined_lines(a, 1, undefined),
               place_rows = undefined_lines(places, 1, undefined);
    std::vector<std::uint8_t> bits(d.tile.bytes(), 0);
    for (std::size_t t = 0; t < d.tile.threads; ++t) {
      for (std::size_t i = 0; i < d.tile.locals; ++i) {
        const std::size_t row = d.line(t, i, 1);
        if (rows[row] || place_rows[row] || (undefined.marked(c) && undefined.element(c, t, i)) ||
            (undefined.marked(b.tile) && takes_undefined(d.parts.index(t, i), context))) {
          isa::put_bits(bits.data() + t * d.tile.thread_bytes, i * d.tile.bits, d.tile.bits,
                        ~std::uint64_t{0});
        }
      }
    }
    set_undefined(d.tile, bits, origin, undefined);
  }

  /// Whether an element of b that the places of a row choose is undefined.
  [[nodiscard]] bool takes_undefined(const isa::Index& index, Context& context) const {
    for (std::int64_t p = 0; p < places.shape[2]; ++p) {
      const isa::Index stored{index[0], index[1], p};
      const auto thread = static_cast<std::size_t>(places_layout.first_thread_of(stored));
      const auto local = static_cast<std::size_t>(places_layout.local_of(stored));
      const std::uint8_t* registers =
          context.state.registers.at(places.tile.offset + thread * places.tile.thread_bytes);
      const auto place = static_cast<std::int64_t>(
          isa::get_bits(registers, local * places.tile.bits, places.tile.bits));
      const isa::Index chosen{index[0], p / 2 * 4 + place, index[2]};
      if (context.state.undefined.element(
              b.tile, static_cast<std::size_t>(b_layout.first_thread_of(chosen)),
              static_cast<std::size_t>(b_layout.local_of(chosen)))) {
        return true;
      }
    }
    return false;
  }
};

/// For each place of each thread the number of the row that its element is in.
std::vector<std::size_t> rows_of(const isa::RegisterLayout& layout, const std::vector<int>& dims) {
  isa::Shape kept = layout.shape();
  for (const int dim : dims) kept[static_cast<std::size_t>(dim)] = 1;
  std::vector<std::size_t> rows;
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
      isa::Index index = layout.element(t, i);
      for (const int dim : dims) index[static_cast<std::size_t>(dim)] = 0;
      rows.push_back(static_cast<std::size_t>(isa::ravel(index, kept)));
    }
  }
  return rows;
}

/// A row of the source makes an element of each result.
struct ReductionTransfer {
  Tile source;
  std::vector<std::size_t> row_of;  ///< row by thread and place of the source
  std::size_t rows = 0;
  struct Result {
    Tile tile;
    std::vector<std::size_t> row_of;
  };
  std::vector<Result> results;

  void operator()(Context& context) const {
    UndefinedRegisters& undefined = context.state.undefined;
    if (!undefined.marked(source)) {
      for (const Result& result : results) undefined.clear(result.tile);
      return;
    }
    const Origin origin = undefined.origin(source);
    std::vector<bool> found(rows, false);
    for (std::size_t e = 0; e < row_of.size(); ++e) {
      if (undefined.element(source, e / source.locals, e % source.locals)) found[row_of[e]] = true;
    }
    for (const Result& result : results) {
      const Tile& tile = result.tile;
      std::vector<std::uint8_t> bits(tile.bytes(), 0);
      for (std::size_t e = 0; e < result.row_of.size(); ++e) {
        if (!found[result.row_of[e]]) continue;
        isa::put_bits(bits.data() + e / tile.locals * tile.thread_bytes,
                      e % tile.locals * tile.bits, tile.bits, ~std::uint64_t{0});
      }
      set_undefined(tile, bits, origin, undefined);
    }
  }
};
/// An element depends on those of its row up to its own, or before it.
struct ScanTransfer {
  Tile source, result;
  bool exclusive = false;
  std::vector<std::size_t> row_of;  ///< row by thread and place
  std::vector<std::int64_t> along;  ///< index along the row, by thread and place
  std::size_t rows = 0;

  void operator()(Context& context) const {
    UndefinedRegisters& undefined = context.state.undefined;
    if (!undefined.marked(source)) return undefined.clear(result);
    const Origin origin = undefined.origin(source);
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> first(rows, none);  // undefined element of each row
    for (std::size_t e = 0; e < row_of.size(); ++e) {
      if (!undefined.element(source, e / source.locals, e % source.locals)) continue;
      first[row_of[e]] = std::min(first[row_of[e]], along[e]);
    }
    std::vector<std::uint8_t> bits(result.bytes(), 0);
    for (std::size_t e = 0; e < row_of.size(); ++e) {
      const std::int64_t begin = first[row_of[e]];
      if (begin == none || along[e] < begin + (exclusive ? 1 : 0)) continue;
      isa::put_bits(bits.data() + e / result.locals * result.thread_bytes,
                    e % result.locals * result.bits, result.bits, ~std::uint64_t{0});
    }
    set_undefined(result, bits, origin, undefined);
  }
};

/// The code of an operand's element for a place of the result, and its undefined mask.
struct Masked {
  std::uint64_t code = 0, undefined = 0;
};
Masked element_of(const Source& source, std::size_t t, std::size_t i, const Context& context) {
  const Tile& tile = source.tile;
  const std::size_t place =
      source.reach == Source::Reach::places ? static_cast<std::size_t>((*source.places)[i]) : i;
  const std::size_t thread = tile.offset + t * tile.thread_bytes;
  const auto bits_at = [&](const std::uint8_t* bytes) {
    return isa::get_bits(bytes, place * tile.bits, tile.bits);
  };
  const UndefinedRegisters& undefined = context.state.undefined;
  return {bits_at(context.state.registers.at(thread)),
          undefined.marked(tile) ? bits_at(undefined.at(thread)) : 0};
}

/// The transfer of an element-wise instruction whose result depends on the values of its operands
/// whether it depends on each of them: `mask` gives the undefined mask of an element. It is found
/// before the action, which may overwrite an operand.
template <std::size_t n, class Mask>
UndefinedTransfer valued_transfer(const std::array<isa::VarId, n>& operands,
                                  const Preparation& preparation, Mask mask) {
  std::array<Source, n> sources;
  for (std::size_t k = 0; k < n; ++k) sources[k] = make_source(operands[k], preparation);
  const Tile result = preparation.result_tile();
  const auto before = [sources, result, mask](Context& context) {
    UndefinedResult& found = context.scratch.undefined;
    const UndefinedRegisters& undefined = context.state.undefined;
    const auto marked = std::find_if(sources.begin(), sources.end(), [&](const Source& source) {
      return undefined.marked(source.tile);
    });
    found.any = marked != sources.end();
    if (!found.any) return true;
    found.origin = undefined.origin(marked->tile);
    found.bits.assign(result.bytes(), 0);
    for (std::size_t t = 0; t < result.threads; ++t) {
      for (std::size_t i = 0; i < result.locals; ++i) {
        std::array<Masked, n> elements;
        for (std::size_t k = 0; k < n; ++k) elements[k] = element_of(sources[k], t, i, context);
        isa::put_bits(found.bits.data() + t * result.thread_bytes, i * result.bits, result.bits,
                      mask(elements));
      }
    }
    return true;
  };
  const auto after = [result](Context& context) {
    const UndefinedResult& found = context.scratch.undefined;
    if (!found.any) return context.state.undefined.clear(result);
    set_undefined(result, found.bits, found.origin, context.state.undefined);
  };
  return {before, after};
}

}  // namespace

UndefinedTransfer elementwise_transfer(const std::vector<TileOperand>& operands,
                                       const Preparation& preparation) {
  std::vector<Source> sources;
  for (const TileOperand& operand : operands) {
    sources.push_back(make_source(operand.var, preparation));
  }
  return {{}, [sources = std::move(sources), result = preparation.result_tile()](Context& context) {
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
            set_undefined(result, bits, origin, undefined);
          }};
}

UndefinedTransfer choosing_transfer(isa::VarId condition, isa::VarId a, isa::VarId b,
                                    const Preparation& preparation) {
  return valued_transfer(std::array{condition, a, b}, preparation,
                         [](const std::array<Masked, 3>& elements) {
                           const auto& [chooser, first, second] = elements;
                           if (chooser.undefined != 0) return ~std::uint64_t{0};
                           return chooser.code != 0 ? first.undefined : second.undefined;
                         });
}

UndefinedTransfer bitwise_transfer(bool decided_by, isa::VarId a, isa::VarId b,
                                   const Preparation& preparation) {
  return valued_transfer(
      std::array{a, b}, preparation, [decided_by](const std::array<Masked, 2>& elements) {
        // Where one operand's bit is defined and decides, the other one does not matter.
        const auto decides = [&](const Masked& element) {
          return (decided_by ? element.code : ~element.code) & ~element.undefined;
        };
        const auto& [first, second] = elements;
        return (first.undefined & ~decides(second)) | (second.undefined & ~decides(first));
      });
}

UndefinedTransfer use_transfer(const std::vector<TileOperand>& operands,
                               const Preparation& preparation) {
  struct Use {
    std::string name;
    Span span;
    Tile tile;
    std::shared_ptr<const LayoutParts> parts;
  };
  std::vector<Use> uses;
  for (const auto& [var, slot] : operands) {
    uses.push_back({preparation.name(var), preparation.slot_span(slot), preparation.tile(var),
                    preparation.parts(var)});
  }
  if (uses.empty()) return {};
  return {[mnemonic = preparation.mnemonic(), uses = std::move(uses)](Context& context) {
            return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
              return check_defined(mnemonic, use.span, use.name, use.tile, *use.parts, context);
            });
          },
          {}};
}

UndefinedTransfer view_transfer(isa::VarId source, const Preparation& preparation) {
  const Tile from = preparation.tile(source), result = preparation.result_tile();
  if (from.offset == result.offset) return {};
  return {{}, [from, result](Context& context) {
            UndefinedRegisters& undefined = context.state.undefined;
            if (!undefined.marked(from)) return undefined.clear(result);
            std::memcpy(undefined.at(result.offset), undefined.at(from.offset), result.bytes());
            undefined.update(result, undefined.origin(from));
          }};
}

UndefinedTransfer convert_transfer(isa::VarId source, const Preparation& preparation) {
  Source from = make_source(source, preparation);
  if (!from.places) return view_transfer(source, preparation);
  return {{}, [from = std::move(from), result = preparation.result_tile()](Context& context) {
            UndefinedRegisters& undefined = context.state.undefined;
            if (!undefined.marked(from.tile)) return undefined.clear(result);
            std::vector<std::uint8_t> bits(result.bytes(), 0);
            for (std::size_t t = 0; t < result.threads; ++t) {
              const std::uint8_t* thread = undefined.at(from.tile.offset) + t * result.thread_bytes;
              for (std::size_t i = 0; i < result.locals; ++i) {
                const auto place = static_cast<std::size_t>((*from.places)[i]);
                isa::put_bits(bits.data() + t * result.thread_bytes, i * result.bits, result.bits,
                              isa::get_bits(thread, place * result.bits, result.bits));
              }
            }
            set_undefined(result, bits, Origin(undefined.origin(from.tile)), undefined);
          }};
}

UndefinedTransfer reduction_transfer(isa::VarId source, const std::vector<int>& dims,
                                     const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(source).layout;
  ReductionTransfer transfer{preparation.tile(source), rows_of(layout, dims), 0, {}};
  for (const std::size_t row : transfer.row_of) transfer.rows = std::max(transfer.rows, row + 1);
  for (const isa::VarId result : preparation.stmt.results) {
    transfer.results.push_back(
        {preparation.tile(result), rows_of(preparation.register_type(result).layout, {})});
  }
  return {{}, std::move(transfer)};
}

UndefinedTransfer scan_transfer(isa::VarId source, int dim, bool exclusive,
                                const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(source).layout;
  ScanTransfer transfer{preparation.tile(source),
                        preparation.result_tile(),
                        exclusive,
                        rows_of(layout, {dim}),
                        {},
                        0};
  for (const std::size_t row : transfer.row_of) transfer.rows = std::max(transfer.rows, row + 1);
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
      transfer.along.push_back(layout.element(t, i)[static_cast<std::size_t>(dim)]);
    }
  }
  return {{}, std::move(transfer)};
}

UndefinedTransfer product_transfer(const isa::ProductOperands& operands,
                                   const Preparation& preparation) {
  const auto matrices = [&](isa::VarId var) { return Matrices(var, preparation); };
  const auto batch = [&](isa::VarId var) {
    return isa::as_batch(preparation.register_type(var).layout);
  };
  const Tile addend = preparation.tile(operands.addend);
  const Matrices result = matrices(preparation.result());
  if (operands.is_sparse()) {
    return {{},
            SparseProductTransfer{matrices(operands.left), matrices(operands.metadata),
                                  matrices(operands.right), batch(operands.metadata),
                                  batch(operands.right), addend, result}};
  }
  std::vector<Matrices> left{matrices(operands.left)}, right{matrices(operands.right)};
  if (operands.is_scaled()) {
    left.push_back(matrices(operands.left_scales));
    right.push_back(matrices(operands.right_scales));
  }
  return {{}, ProductTransfer{std::move(left), std::move(right), addend, result}};
}

}  // namespace tilevm::sim
