// More than 400 lines: a flow for each family of instructions, all made of the same parts.
#include "sim/shadow/shadow_flow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

#include "isa/layout/broadcast.h"
#include "sim/shadow/shadow_tile.h"

namespace tilevm::sim {
namespace {

using isa::BinaryOp, isa::UnaryOp;
using Before = std::function<void(Context&)>;
using ResultTile = std::shared_ptr<const ShadowTile>;

/// An element-wise operand, and its place for each place of the result.
struct Operand {
  Operand(isa::RegisterOperand operand, const Preparation& preparation)
      : type(preparation.register_type(operand.var).dtype),
        tile(preparation.tile(operand.var)),
        places(preparation.tables.places(preparation.register_type(preparation.result()).layout,
                                         preparation.register_type(operand.var).layout)) {}

  [[nodiscard]] std::size_t place(std::size_t i) const {
    return places ? static_cast<std::size_t>((*places)[i]) : i;
  }
  [[nodiscard]] double own(const BlockState& state, std::size_t t, std::size_t i) const {
    return value_at(type, tile, state.registers, t, place(i));
  }
  [[nodiscard]] double shadow(BlockState& state, std::size_t t, std::size_t i) const {
    return state.shadow.at(tile, t, place(i));
  }

  isa::DType type;
  Tile tile;
  std::shared_ptr<const isa::PlaceMap> places;
};

ResultTile shared_result(const Preparation& preparation) {
  return std::make_shared<const ShadowTile>(preparation.result(), preparation);
}

ShadowPairs& results_for(const ShadowTile& result, Context& context) {
  ShadowPairs& results = context.scratch.shadow;
  results.own.resize(result.size());
  results.shadow.resize(result.size());
  return results;
}

/// Compares the result with the expected values; undefined elements have no errors.
void measure(const ShadowTile& result, const ErrorMeter& meter, Context& context,
             InstructionErrors& errors) {
  const BlockState& state = context.state;
  const ShadowPairs& expected = context.scratch.shadow;
  const bool marked = state.undefined.marked(result.tile());
  ErrorLocation location{state.block, 0};
  result.for_each([&](std::size_t t, std::size_t i, std::size_t e) {
    if (marked && state.undefined.element(result.tile(), t, i)) return;
    const double value = result.value(state, t, i);
    location.element = e;
    meter.add(value, expected.own[e], location, errors.own);
    meter.add(value, expected.shadow[e], location, errors.accumulated);
  });
}

/// Compares the result with the values that `before` expects, which become the shadow values.
ShadowFlow measured(Before before, ResultTile result) {
  const isa::RegisterType* type = &result->type();
  return {std::move(before),
          [result = std::move(result), meter = ErrorMeter(type->dtype)](Context& context,
                                                                        InstructionErrors& errors) {
            measure(*result, meter, context, errors);
            result->write(context.scratch.shadow.shadow, context.state);
          },
          type};
}

/// result = f(operands), element by element.
template <std::size_t n, class F>
ShadowFlow elementwise(std::array<Operand, n> operands, F f, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  Before before = [operands = std::move(operands), result, f](Context& context) {
    ShadowPairs& results = results_for(*result, context);
    result->for_each([&](std::size_t t, std::size_t i, std::size_t e) {
      std::apply(
          [&](const auto&... operand) {
            results.own[e] = f(operand.own(context.state, t, i)...);
            results.shadow[e] = f(operand.shadow(context.state, t, i)...);
          },
          operands);
    });
  };
  return measured(std::move(before), std::move(result));
}

/// values.own += a.own * b.own for [.., m, k] and [.., k, n] matrices; the same for the shadow
/// values.
void multiply_add(const ShadowPairs& a, const ShadowPairs& b, const isa::Shape& left_shape,
                  std::size_t n, ShadowPairs& values) {
  const auto m = static_cast<std::size_t>(left_shape[left_shape.size() - 2]),
             k = static_cast<std::size_t>(left_shape.back());
  for (const auto part : {&ShadowPairs::own, &ShadowPairs::shadow}) {
    const double* left = (a.*part).data();
    double* sums = (values.*part).data();
    for (std::size_t row = 0; row < (values.*part).size() / n; ++row, sums += n) {
      const double* matrix = (b.*part).data() + row / m * k * n;
      for (std::size_t depth = 0; depth < k; ++depth) {
        const double factor = *left++;
        const double* right = matrix + depth * n;
        for (std::size_t column = 0; column < n; ++column) sums[column] += factor * right[column];
      }
    }
  }
}

/// Multiplies and adds the stored elements of [.., m, k / 2] at their places.
void multiply_add_sparse(const ShadowPairs& a, const ShadowPairs& places, const ShadowPairs& b,
                         const isa::Shape& left_shape, std::size_t n, ShadowPairs& values) {
  const auto m = static_cast<std::size_t>(left_shape[left_shape.size() - 2]),
             stored = static_cast<std::size_t>(left_shape.back());
  for (const auto part : {&ShadowPairs::own, &ShadowPairs::shadow}) {
    double* sums = (values.*part).data();
    for (std::size_t row = 0; row < (values.*part).size() / n; ++row, sums += n) {
      const double* matrix = (b.*part).data() + row / m * stored * 2 * n;
      for (std::size_t p = 0; p < stored; ++p) {
        const double factor = (a.*part)[row * stored + p];
        const auto place = static_cast<std::size_t>(places.own[row * stored + p]);
        const double* right = matrix + (p / 2 * 4 + place) * n;
        for (std::size_t column = 0; column < n; ++column) sums[column] += factor * right[column];
      }
    }
  }
}

/// Multiplies [.., rows, columns] matrices by scales of which `shared_rows` x `shared_columns`
/// elements share each.
void scale(const ShadowPairs& scales, const isa::Shape& shape, std::size_t shared_rows,
           std::size_t shared_columns, ShadowPairs& values) {
  const auto columns = static_cast<std::size_t>(shape.back());
  for (const auto part : {&ShadowPairs::own, &ShadowPairs::shadow}) {
    std::vector<double>& elements = values.*part;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      // Rows are numbered through the batch, whose matrices have whole groups of them.
      const std::size_t row = e / columns / shared_rows, column = e % columns / shared_columns;
      elements[e] *= (scales.*part)[row * (columns / shared_columns) + column];
    }
  }
}

/// For each element of a tile, in row-major order, its row: the tile without the dimensions.
std::vector<std::size_t> rows_of(const isa::Shape& shape, const std::vector<int>& dims) {
  isa::Shape kept = shape;
  for (const int dim : dims) kept[static_cast<std::size_t>(dim)] = 1;
  std::vector<std::size_t> rows;
  for (std::int64_t e = 0; e < isa::element_count(shape); ++e) {
    isa::Index index = isa::unravel(e, shape);
    for (const int dim : dims) index[static_cast<std::size_t>(dim)] = 0;
    rows.push_back(static_cast<std::size_t>(isa::ravel(index, kept)));
  }
  return rows;
}

/// The elements of each row, combined by f.
void combine_rows(const std::vector<double>& elements, const std::vector<std::size_t>& rows,
                  isa::RealFunction2 f, std::vector<double>& results) {
  std::vector<bool> begun(results.size(), false);
  for (std::size_t e = 0; e < elements.size(); ++e) {
    double& result = results[rows[e]];
    result = begun[rows[e]] ? f(result, elements[e]) : elements[e];
    begun[rows[e]] = true;
  }
}

/// The shadow values of a tile become its own values.
void restart(const ShadowTile& tile, BlockState& state) {
  for (std::size_t t = 0; t < tile.tile().threads; ++t) {
    for (std::size_t i = 0; i < tile.tile().locals; ++i) {
      state.shadow.at(tile.tile(), t, i) = tile.value(state, t, i);
    }
  }
}

/// Takes each shadow value from an operand: shadow(state, thread, place of the result).
template <class F>
ShadowFlow taken(F shadow, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  return {[shadow = std::move(shadow), result](Context& context) {
            ShadowPairs& results = results_for(*result, context);
            result->for_each([&](std::size_t t, std::size_t i, std::size_t e) {
              results.shadow[e] = shadow(context.state, t, i);
            });
          },
          [result](Context& context, InstructionErrors&) {
            result->write(context.scratch.shadow.shadow, context.state);
          }};
}

}  // namespace

InstructionErrors& InstructionErrors::operator+=(const InstructionErrors& other) {
  own += other.own;
  accumulated += other.accumulated;
  return *this;
}

ShadowFlow restarted(const Preparation& preparation) {
  std::vector<ShadowTile> results;
  for (const isa::VarId result : preparation.stmt.results)
    results.emplace_back(result, preparation);
  return {{}, [results = std::move(results)](Context& context, InstructionErrors&) {
            for (const ShadowTile& result : results) restart(result, context.state);
          }};
}

ShadowFlow computed(isa::RealFunction1 f, isa::RegisterOperand a, const Preparation& preparation) {
  return elementwise(std::array{Operand(a, preparation)}, f, preparation);
}

ShadowFlow computed(isa::RealFunction2 f, isa::RegisterOperand a, isa::RegisterOperand b,
                    const Preparation& preparation) {
  return elementwise(std::array{Operand(a, preparation), Operand(b, preparation)}, f, preparation);
}

ShadowFlow computed(RealFunction3 f, isa::RegisterOperand a, isa::RegisterOperand b,
                    isa::RegisterOperand c, const Preparation& preparation) {
  return elementwise(
      std::array{Operand(a, preparation), Operand(b, preparation), Operand(c, preparation)}, f,
      preparation);
}

ShadowFlow filled(const isa::ElementValues& element_values, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  std::vector<std::pair<ScalarCode, isa::DType>> values;
  for (const isa::Expr& value : element_values.values) {
    values.emplace_back(ScalarCode(value), isa::element_type(value.kind()));
  }
  Before before = [result, values = std::move(values)](Context& context) {
    ShadowPairs& results = results_for(*result, context);
    std::vector<double> given;
    for (const auto& [code, type] : values) {
      std::uint64_t bits = 0;
      Span fault{};
      if (!code.evaluate(context.state.scalars.data(), bits, fault)) return;  // the action reports
      given.push_back(value_of(type, bits));
    }
    for (std::size_t e = 0; e < result->size(); ++e) results.own[e] = given[e % given.size()];
    results.shadow = results.own;
  };
  return measured(std::move(before), std::move(result));
}

ShadowFlow moved(isa::RegisterOperand source, const Preparation& preparation) {
  return taken(
      [from = Operand(source, preparation)](BlockState& state, std::size_t t, std::size_t i) {
        return from.shadow(state, t, i);
      },
      preparation);
}

ShadowFlow moved(std::shared_ptr<const ElementMoves> moves, const Preparation& preparation) {
  return taken(
      [moves = std::move(moves)](BlockState& state, std::size_t t, std::size_t i) {
        const auto [source, number] = moves->from[t * moves->result.locals + i];
        const Tile& from = moves->sources[source];
        return state.shadow.at(from, number / from.locals, number % from.locals);
      },
      preparation);
}

ShadowFlow chosen(isa::RegisterOperand condition, isa::RegisterOperand a, isa::RegisterOperand b,
                  const Preparation& preparation) {
  const std::array operands{Operand(condition, preparation), Operand(a, preparation),
                            Operand(b, preparation)};
  return taken(
      [operands](BlockState& state, std::size_t t, std::size_t i) {
        const bool holds = operands[0].own(state, t, i) != 0;
        return operands[holds ? 1 : 2].shadow(state, t, i);
      },
      preparation);
}

/// A View to another type restarts the shadow values: the bits have another meaning.
ShadowFlow viewed(isa::RegisterOperand source, const Preparation& preparation) {
  const Tile from = preparation.tile(source.var), result = preparation.result_tile();
  const isa::DType type = preparation.register_type(preparation.result()).dtype;
  if (type != preparation.register_type(source.var).dtype) return restarted(preparation);
  return {{}, [from, result](Context& context, InstructionErrors&) {
            const double* values = &context.state.shadow.at(from, 0, 0);
            std::copy_n(values, result.threads * result.locals,
                        &context.state.shadow.at(result, 0, 0));
          }};
}

ShadowFlow combined(isa::RealFunction2 f, isa::RegisterOperand source, const std::vector<int>& dims,
                    const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  Before before =
      [from = ShadowTile(source.var, preparation), result, f,
       rows = rows_of(preparation.register_type(source.var).shape(), dims)](Context& context) {
        Scratch& scratch = context.scratch;
        from.read(context.state, scratch.shadow_a);
        ShadowPairs& results = results_for(*result, context);
        combine_rows(scratch.shadow_a.own, rows, f, results.own);
        combine_rows(scratch.shadow_a.shadow, rows, f, results.shadow);
      };
  ShadowFlow flow = measured(std::move(before), std::move(result));
  std::vector<ShadowTile> others;
  for (std::size_t i = 1; i < preparation.stmt.results.size(); ++i) {
    others.emplace_back(preparation.stmt.results[i], preparation);
  }
  if (others.empty()) return flow;
  flow.after = [after = std::move(flow.after), others = std::move(others)](
                   Context& context, InstructionErrors& errors) {
    after(context, errors);
    for (const ShadowTile& other : others) restart(other, context.state);
  };
  return flow;
}

ShadowFlow scanned(isa::RealFunction2 f, isa::RegisterOperand source, int dim,
                   std::optional<double> before, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  const isa::Shape& shape = preparation.register_type(source.var).shape();
  const auto extent = static_cast<std::size_t>(shape[static_cast<std::size_t>(dim)]);
  std::size_t stride = 1;  // of row-major neighbours along the dimension
  for (std::size_t d = static_cast<std::size_t>(dim) + 1; d < shape.size(); ++d) {
    stride *= static_cast<std::size_t>(shape[d]);
  }
  Before work = [from = ShadowTile(source.var, preparation), result, f, extent, stride,
                 before](Context& context) {
    Scratch& scratch = context.scratch;
    from.read(context.state, scratch.shadow_a);
    ShadowPairs& results = results_for(*result, context);
    for (const auto part : {&ShadowPairs::own, &ShadowPairs::shadow}) {
      const std::vector<double>& elements = scratch.shadow_a.*part;
      for (std::size_t e = 0; e < elements.size(); ++e) {
        const bool first = e / stride % extent == 0;
        double& made = (results.*part)[e];
        if (before) {
          made = first ? *before : f((results.*part)[e - stride], elements[e - stride]);
        } else {
          made = first ? elements[e] : f((results.*part)[e - stride], elements[e]);
        }
      }
    }
  };
  return measured(std::move(work), std::move(result));
}

namespace {

ShadowFlow multiplied_dense(const isa::ProductOperands& inst, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  Before before = [left = ShadowTile(inst.left, preparation),
                   right = ShadowTile(inst.right, preparation),
                   added = ShadowTile(inst.addend, preparation)](Context& context) {
    Scratch& scratch = context.scratch;
    left.read(context.state, scratch.shadow_a);
    right.read(context.state, scratch.shadow_b);
    added.read(context.state, scratch.shadow);
    multiply_add(scratch.shadow_a, scratch.shadow_b, left.type().shape(),
                 static_cast<std::size_t>(right.type().shape().back()), scratch.shadow);
  };
  return measured(std::move(before), std::move(result));
}

ShadowFlow multiplied_sparse(const isa::ProductOperands& inst, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  Before before = [left = ShadowTile(inst.left, preparation),
                   chosen = ShadowTile(inst.metadata, preparation),
                   right = ShadowTile(inst.right, preparation),
                   added = ShadowTile(inst.addend, preparation)](Context& context) {
    Scratch& scratch = context.scratch;
    left.read(context.state, scratch.shadow_a);
    chosen.read(context.state, scratch.shadow_places);
    right.read(context.state, scratch.shadow_b);
    added.read(context.state, scratch.shadow);
    multiply_add_sparse(scratch.shadow_a, scratch.shadow_places, scratch.shadow_b,
                        left.type().shape(), static_cast<std::size_t>(right.type().shape().back()),
                        scratch.shadow);
  };
  return measured(std::move(before), std::move(result));
}

ShadowFlow multiplied_scaled(const isa::ProductOperands& inst, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  Before before = [left = ShadowTile(inst.left, preparation),
                   left_scales = ShadowTile(inst.left_scales, preparation),
                   right = ShadowTile(inst.right, preparation),
                   right_scales = ShadowTile(inst.right_scales, preparation),
                   added = ShadowTile(inst.addend, preparation)](Context& context) {
    Scratch& scratch = context.scratch;
    const isa::Shape &a = left.type().shape(), &b = right.type().shape();
    const auto shared = static_cast<std::size_t>(a.back() / left_scales.type().shape().back());
    left.read(context.state, scratch.shadow_a);
    left_scales.read(context.state, scratch.shadow_places);
    scale(scratch.shadow_places, a, 1, shared, scratch.shadow_a);
    right.read(context.state, scratch.shadow_b);
    right_scales.read(context.state, scratch.shadow_places);
    scale(scratch.shadow_places, b, shared, 1, scratch.shadow_b);
    added.read(context.state, scratch.shadow);
    multiply_add(scratch.shadow_a, scratch.shadow_b, a, static_cast<std::size_t>(b.back()),
                 scratch.shadow);
  };
  return measured(std::move(before), std::move(result));
}

}  // namespace

ShadowFlow multiplied(const isa::ProductOperands& operands, const Preparation& preparation) {
  if (operands.is_sparse()) return multiplied_sparse(operands, preparation);
  if (operands.is_scaled()) return multiplied_scaled(operands, preparation);
  return multiplied_dense(operands, preparation);
}

}  // namespace tilevm::sim
