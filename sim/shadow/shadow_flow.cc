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

/// An element-wise operand, and where the result's places find their elements in it.
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

/// Compares what the instruction gave with what it should have; undefined elements have no errors.
void measure(const ShadowTile& result, const ErrorMeter& meter, Context& context,
             InstructionErrors& errors) {
  const BlockState& state = context.state;
  const ShadowPairs& expected = context.scratch.shadow;
  const bool marked = state.undefined.marked(result.tile());
  ErrorPlace place{state.block, 0};
  result.for_each([&](std::size_t t, std::size_t i, std::size_t e) {
    if (marked && state.undefined.element(result.tile(), t, i)) return;
    const double value = result.value(state, t, i);
    place.element = e;
    meter.add(value, expected.own[e], place, errors.own);
    meter.add(value, expected.shadow[e], place, errors.accumulated);
  });
}

/// The results that `before` expects are compared, and become the shadow values.
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

/// The shadow values are the values of the result.
ShadowFlow restart(const Preparation& preparation) {
  return {{}, [result = shared_result(preparation)](Context& context, InstructionErrors&) {
            const Tile& tile = result->tile();
            for (std::size_t t = 0; t < tile.threads; ++t) {
              for (std::size_t i = 0; i < tile.locals; ++i) {
                context.state.shadow.at(tile, t, i) = result->value(context.state, t, i);
              }
            }
          }};
}

/// values.own += a.own * b.own for [.., m, k] and [.., k, n] matrices; the same of the shadow
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

template <class Inst>
ShadowFlow shadow_of(const Inst&, const Preparation&) {
  static_assert(Inst::schema.description.result != isa::ResultKind::register_tile,
                "this instruction has no shadow values in sim/shadow/shadow_flow.cc");
  return {};
}

ShadowFlow shadow_of(const isa::LoadGlobal&, const Preparation&) { return {}; }
ShadowFlow shadow_of(const isa::LoadShared&, const Preparation&) { return {}; }

/// The scalars are converted as by a Cast.
ShadowFlow shadow_of(const isa::AllocateRegister& inst, const Preparation& preparation) {
  if (!inst.init) return restart(preparation);
  ResultTile result = shared_result(preparation);
  std::vector<std::pair<ScalarCode, isa::DType>> values;
  for (const isa::Expr& value : inst.init->values) {
    values.emplace_back(ScalarCode(value), isa::element_type(value.kind()));
  }
  Before before = [result, values = std::move(values)](Context& context) {
    ShadowPairs& results = results_for(*result, context);
    std::vector<double> taken;
    for (const auto& [code, type] : values) {
      std::uint64_t bits = 0;
      Span fault{};
      if (!code.evaluate(context.state.scalars.data(), bits, fault)) return;  // the action tells
      taken.push_back(value_of(type, bits));
    }
    for (std::size_t e = 0; e < result->size(); ++e) results.own[e] = taken[e % taken.size()];
    results.shadow = results.own;
  };
  return measured(std::move(before), std::move(result));
}

ShadowFlow shadow_of(const isa::Cast& inst, const Preparation& preparation) {
  return elementwise(
      std::array{Operand(inst.src, preparation)}, [](double x) { return x; }, preparation);
}

template <BinaryOp op>
ShadowFlow shadow_of(const isa::Binary<op>& inst, const Preparation& preparation) {
  const isa::RealFunction2 function =
      isa::unrounded(op, preparation.register_type(inst.a.var).dtype);
  if (function == nullptr) return restart(preparation);
  return elementwise(std::array{Operand(inst.a, preparation), Operand(inst.b, preparation)},
                     function, preparation);
}

template <UnaryOp op>
ShadowFlow shadow_of(const isa::Unary<op>& inst, const Preparation& preparation) {
  return elementwise(std::array{Operand(inst.a, preparation)}, isa::unrounded(op), preparation);
}

ShadowFlow shadow_of(const isa::Fma& inst, const Preparation& preparation) {
  return elementwise(
      std::array{Operand(inst.a, preparation), Operand(inst.b, preparation),
                 Operand(inst.c, preparation)},
      [](double a, double b, double c) { return std::fma(a, b, c); }, preparation);
}

/// Each shadow value is that of an operand: shadow(state, thread, place of the result).
template <class F>
ShadowFlow moved(F shadow, const Preparation& preparation) {
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

/// The condition's own bits choose.
ShadowFlow shadow_of(const isa::Where& inst, const Preparation& preparation) {
  const std::array operands{Operand(inst.condition, preparation), Operand(inst.a, preparation),
                            Operand(inst.b, preparation)};
  return moved(
      [operands](BlockState& state, std::size_t t, std::size_t i) {
        const bool holds = operands[0].own(state, t, i) != 0;
        return operands[holds ? 1 : 2].shadow(state, t, i);
      },
      preparation);
}

ShadowFlow shadow_of(const isa::ConvertLayout& inst, const Preparation& preparation) {
  return moved(
      [source = Operand(inst.src, preparation)](BlockState& state, std::size_t t, std::size_t i) {
        return source.shadow(state, t, i);
      },
      preparation);
}

ShadowFlow shadow_of(const isa::View& inst, const Preparation& preparation) {
  const Tile source = preparation.tile(inst.src.var), result = preparation.result_tile();
  const isa::DType type = preparation.register_type(preparation.result()).dtype;
  if (type != preparation.register_type(inst.src.var).dtype) return restart(preparation);
  return {{}, [source, result](Context& context, InstructionErrors&) {
            const double* from = &context.state.shadow.at(source, 0, 0);
            std::copy_n(from, result.threads * result.locals,
                        &context.state.shadow.at(result, 0, 0));
          }};
}

ShadowFlow shadow_of(const isa::Dot& inst, const Preparation& preparation) {
  ResultTile result = shared_result(preparation);
  Before before = [a = ShadowTile(inst.a.var, preparation), b = ShadowTile(inst.b.var, preparation),
                   c = ShadowTile(inst.c.var, preparation)](Context& context) {
    Scratch& scratch = context.scratch;
    a.read(context.state, scratch.shadow_a);
    b.read(context.state, scratch.shadow_b);
    c.read(context.state, scratch.shadow);
    multiply_add(scratch.shadow_a, scratch.shadow_b, a.type().shape(),
                 static_cast<std::size_t>(b.type().shape().back()), scratch.shadow);
  };
  return measured(std::move(before), std::move(result));
}

}  // namespace

InstructionErrors& InstructionErrors::operator+=(const InstructionErrors& other) {
  own += other.own;
  accumulated += other.accumulated;
  return *this;
}

ShadowFlow make_shadow_flow(const Preparation& preparation) {
  return std::visit([&](const auto& inst) { return shadow_of(inst, preparation); },
                    preparation.stmt.inst);
}

}  // namespace tilevm::sim
