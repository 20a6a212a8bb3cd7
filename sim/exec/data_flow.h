// Where the elements of an instruction's result come from: what the debugger's `why` follows.
//
// The flow of an element-wise instruction follows from its schema. That of a load follows from the
// accesses that the load makes (sim/state/access_observer.h). Every other instruction that gives a
// register tile declares its flow, with the functions below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "isa/inst/product.h"
#include "isa/inst/slots.h"
#include "sim/checks/undefined_flow.h"
#include "sim/state/preparation.h"
#include "sim/tiles/element_moves.h"

namespace tilevm::sim {

/// An element of a register tile, by the place that holds it.
struct ElementSource {
  isa::VarId var;
  std::size_t thread = 0, place = 0;
};

struct DataFlow {
  enum class Kind : std::uint8_t {
    none,      ///< the instruction gives no register tile
    created,   ///< value made from constants and scalars
    loaded,    ///< value loaded from memory
    viewed,    ///< bit j of a thread is bit j of that thread in `viewed`
    moved,     ///< an element is the first of its sources, unchanged
    computed,  ///< an element is computed from its sources
    selected,  ///< the first source, a bit, says which of the others an element is: 1 the second
    product,   ///< the first source is added to the products of the others, two by two
  };
  Kind kind = Kind::none;
  isa::VarId viewed;
  /// The sources by thread and place of the result; empty unless elements are moved or computed.
  std::function<std::vector<ElementSource>(std::size_t, std::size_t)> sources;
};

/// The flow of an instruction that gives a register tile, reads no memory and is not element-wise.
/// Each is a specialisation beside the instruction's action. The template has no definition, so a
/// forgotten specialisation does not link.
template <class Inst>
DataFlow data_flow(const Inst& inst, const Preparation& preparation);

/// Each element of the result is computed from one element of each operand, after broadcasting.
[[nodiscard]] DataFlow elementwise_flow(const std::vector<TileOperand>& operands,
                                        const Preparation& preparation);

/// Each element of the result is an element of the same thread in the source.
[[nodiscard]] DataFlow moved_flow(isa::VarId source, const Preparation& preparation);

/// Each element of the result is the element of `sources` that the moves give it.
[[nodiscard]] DataFlow moved_flow(const std::vector<isa::VarId>& sources,
                                  std::shared_ptr<const ElementMoves> moves);

/// Each element of the result is computed from the elements of a row of the source, which has any
/// index along `dims`.
[[nodiscard]] DataFlow reduced_flow(isa::VarId source, const std::vector<int>& dims,
                                    const Preparation& preparation);

/// Each element of the result is computed from those of the source up to its own along a dimension,
/// or from those before its own.
[[nodiscard]] DataFlow scanned_flow(isa::VarId source, int dim, bool exclusive,
                                    const Preparation& preparation);

/// d[.., m, n] is c[.., m, n] and the products of row m of a[..] and column n of b[..]. A sparse
/// product names the stored elements of each group of four with their metadata, and all of b that
/// they may choose; a block-scaled one names the scales before the elements that share them.
[[nodiscard]] DataFlow product_flow(const isa::ProductOperands& operands,
                                    const Preparation& preparation);

}  // namespace tilevm::sim
