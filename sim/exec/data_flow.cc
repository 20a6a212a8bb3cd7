#include "sim/exec/data_flow.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "isa/dot/dot_tiling.h"
#include "isa/layout/shape.h"

namespace tilevm::sim {
namespace {

/// An operand, and the operand's place for each place of the result; null: the same places.
struct Operand {
  isa::VarId var;
  std::shared_ptr<const isa::PlaceMap> places;

  [[nodiscard]] ElementSource at(std::size_t thread, std::size_t place) const {
    return {var, thread, places ? static_cast<std::size_t>((*places)[place]) : place};
  }
};

Operand operand_of(isa::VarId var, const Preparation& preparation) {
  const isa::RegisterLayout& result = preparation.register_type(preparation.result()).layout;
  return {var, preparation.tables.places(result, preparation.register_type(var).layout)};
}

/// The first place that holds an element of a batch of matrices.
ElementSource holder_of(isa::VarId var, const isa::RegisterLayout& batch, const isa::Index& index) {
  return {var, static_cast<std::size_t>(batch.first_thread_of(index)),
          static_cast<std::size_t>(batch.local_of(index))};
}

}  // namespace

DataFlow elementwise_flow(const std::vector<TileOperand>& operands,
                          const Preparation& preparation) {
  std::vector<Operand> sources;
  for (const TileOperand& operand : operands) {
    sources.push_back(operand_of(operand.var, preparation));
  }
  return {DataFlow::Kind::computed,
          {},
          [sources = std::move(sources)](std::size_t thread, std::size_t place) {
            std::vector<ElementSource> found;
            for (const Operand& source : sources) found.push_back(source.at(thread, place));
            return found;
          }};
}

DataFlow moved_flow(isa::VarId source, const Preparation& preparation) {
  return {DataFlow::Kind::moved,
          {},
          [operand = operand_of(source, preparation)](std::size_t thread, std::size_t place) {
            return std::vector{operand.at(thread, place)};
          }};
}

DataFlow moved_flow(const std::vector<isa::VarId>& sources,
                    std::shared_ptr<const ElementMoves> moves) {
  return {DataFlow::Kind::moved,
          {},
          [sources, moves = std::move(moves)](std::size_t thread, std::size_t place) {
            const auto [source, number] = moves->from[thread * moves->result.locals + place];
            const std::size_t locals = moves->sources[source].locals;
            return std::vector{ElementSource{sources[source], number / locals, number % locals}};
          }};
}

DataFlow reduced_flow(isa::VarId source, const std::vector<int>& dims,
                      const Preparation& preparation) {
  isa::Shape row(preparation.register_type(source).shape().size(), 1);
  for (const int dim : dims) {
    const auto d = static_cast<std::size_t>(dim);
    row[d] = preparation.register_type(source).shape()[d];
  }
  const isa::RegisterLayout& result = preparation.register_type(preparation.result()).layout;
  const bool keeps_dims = result.shape().size() == row.size();
  return {DataFlow::Kind::computed,
          {},
          [source, dims, row, keeps_dims, to = result,
           from = preparation.register_type(source).layout](std::size_t thread, std::size_t place) {
            const isa::Index kept =
                to.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(place));
            std::vector<ElementSource> found;
            for (std::int64_t k = 0; k < isa::element_count(row); ++k) {
              isa::Index index = isa::unravel(k, row);
              for (std::size_t d = 0, next = 0; d < index.size(); ++d) {
                const bool reduced =
                    std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end();
                if (!reduced) index[d] = kept[next];
                next += !reduced || keeps_dims ? 1 : 0;
              }
              found.push_back(holder_of(source, from, index));
            }
            return found;
          }};
}

DataFlow scanned_flow(isa::VarId source, int dim, bool exclusive, const Preparation& preparation) {
  return {
      DataFlow::Kind::computed,
      {},
      [source, d = static_cast<std::size_t>(dim), exclusive,
       layout = preparation.register_type(source).layout](std::size_t thread, std::size_t place) {
        isa::Index index =
            layout.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(place));
        const std::int64_t end = index[d] + (exclusive ? 0 : 1);
        std::vector<ElementSource> found;
        for (index[d] = 0; index[d] < end; ++index[d]) {
          found.push_back(holder_of(source, layout, index));
        }
        return found;
      }};
}

namespace {

DataFlow dense_product_flow(isa::VarId a, isa::VarId b, isa::VarId c,
                            const Preparation& preparation) {
  const auto batch = [&](isa::VarId var) {
    return isa::as_batch(preparation.register_type(var).layout);
  };
  return {DataFlow::Kind::product,
          {},
          [a, b, c, rows = batch(a), columns = batch(b), sums = batch(c)](std::size_t thread,
                                                                          std::size_t place) {
            const isa::Index index =
                sums.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(place));
            std::vector<ElementSource> found{{c, thread, place}};
            for (std::int64_t k = 0; k < rows.shape()[2]; ++k) {
              found.push_back(holder_of(a, rows, {index[0], index[1], k}));
              found.push_back(holder_of(b, columns, {index[0], k, index[2]}));
            }
            return found;
          }};
}

/// All elements of b that the metadata may choose are sources.
DataFlow sparse_product_flow(const isa::ProductOperands& inst, const Preparation& preparation) {
  const auto batch = [&](isa::VarId var) {
    return isa::as_batch(preparation.register_type(var).layout);
  };
  return {DataFlow::Kind::computed,
          {},
          [a = inst.left, places = inst.metadata, b = inst.right, c = inst.addend,
           rows = batch(inst.left), pairs = batch(inst.metadata), columns = batch(inst.right),
           sums = batch(inst.addend)](std::size_t thread, std::size_t place) {
            const isa::Index index =
                sums.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(place));
            std::vector<ElementSource> found{{c, thread, place}};
            for (std::int64_t k = 0; k < columns.shape()[1]; ++k) {
              if (k % 2 == 0) {
                found.push_back(holder_of(a, rows, {index[0], index[1], k / 2}));
                found.push_back(holder_of(places, pairs, {index[0], index[1], k / 2}));
              }
              found.push_back(holder_of(b, columns, {index[0], k, index[2]}));
            }
            return found;
          }};
}

DataFlow scaled_product_flow(const isa::ProductOperands& inst, const Preparation& preparation) {
  const auto batch = [&](isa::VarId var) {
    return isa::as_batch(preparation.register_type(var).layout);
  };
  return {DataFlow::Kind::computed,
          {},
          [a = inst.left, a_scales = inst.left_scales, b = inst.right, b_scales = inst.right_scales,
           c = inst.addend, rows = batch(inst.left), row_scales = batch(inst.left_scales),
           columns = batch(inst.right), column_scales = batch(inst.right_scales),
           sums = batch(inst.addend)](std::size_t thread, std::size_t place) {
            const isa::Index index =
                sums.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(place));
            const std::int64_t shared = rows.shape()[2] / row_scales.shape()[2];
            std::vector<ElementSource> found{{c, thread, place}};
            for (std::int64_t k = 0; k < rows.shape()[2]; ++k) {
              if (k % shared == 0) {
                const std::int64_t s = k / shared;
                found.push_back(holder_of(a_scales, row_scales, {index[0], index[1], s}));
                found.push_back(holder_of(b_scales, column_scales, {index[0], s, index[2]}));
              }
              found.push_back(holder_of(a, rows, {index[0], index[1], k}));
              found.push_back(holder_of(b, columns, {index[0], k, index[2]}));
            }
            return found;
          }};
}

}  // namespace

DataFlow product_flow(const isa::ProductOperands& operands, const Preparation& preparation) {
  if (operands.is_sparse()) return sparse_product_flow(operands, preparation);
  if (operands.is_scaled()) return scaled_product_flow(operands, preparation);
  return dense_product_flow(operands.left, operands.right, operands.addend, preparation);
}

}  // namespace tilevm::sim
