// Instructions that make tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "isa/layout/element_values.h"
#include "isa/rules/support.h"
#include "isa/type/bits.h"
#include "isa/type/function_sequences.h"
#include "isa/type/number.h"
#include "sim/exec/move_elements.h"
#include "sim/exec/semantics.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

constexpr std::int64_t max_view_elements = std::int64_t{1} << 40;
constexpr std::int64_t max_stride = std::int64_t{1} << 48;

/// A view's type, ready to be evaluated.
struct ViewCode {
  std::size_t view = 0;  ///< slot of the result
  Span span{};           ///< range of the extents
  std::string name;
  std::vector<ScalarCode> extents, strides;
  const isa::MemoryLayout* layout = nullptr;  ///< memory layout instead of strides
};

ScalarCode as_integer(const isa::Expr& expr, Wrapping wrapping = Wrapping::allowed) {
  return ScalarCode(isa::Expr::convert(expr, isa::ScalarKind::i64, expr.span()), wrapping);
}

ViewCode compile_view(const Preparation& preparation, Span span) {
  const isa::GlobalType& type = preparation.global_type(preparation.result());
  ViewCode code;
  code.view = static_cast<std::size_t>(preparation.result().index);
  code.span = span;
  code.name = preparation.name(preparation.result());
  for (const isa::Expr& extent : type.extents) {
    code.extents.push_back(as_integer(extent, preparation.wrapping));
  }
  if (const auto* strides = type.layout.strides()) {
    for (const isa::Expr& stride : *strides) {
      code.strides.push_back(as_integer(stride, preparation.wrapping));
    }
    return code;
  }
  const isa::MemoryLayout& layout = *type.layout.memory_layout();
  if (const auto strides = plain_strides(layout)) {
    for (const std::int64_t stride : *strides) {
      code.strides.push_back(as_integer(isa::Expr::constant(stride)));
    }
  } else {
    code.layout = &layout;
  }
  return code;
}

bool evaluate_extents(const ViewCode& code, Context& context, GlobalView& view) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < code.extents.size(); ++d) {
    std::int64_t extent = 0;
    if (!context.evaluate(code.extents[d], extent)) return false;
    if (extent < 0) {
      return context.fail(Code::bad_shape, code.span,
                          fmt::format("extent {} of `{}` is {}; extents must not be negative", d,
                                      code.name, extent));
    }
    view.extents[d] = extent;
    if (extent > max_view_elements || (extent > 0 && count > max_view_elements / extent)) {
      return context.fail(
          Code::bad_shape, code.span,
          fmt::format("`{}` has more than 2^40 elements, the limit of a view", code.name));
    }
    count *= std::max<std::int64_t>(extent, 1);
  }
  return true;
}

/// The stride of a dimension of extent 1 does not matter, however large the stride is.
bool evaluate_strides(const ViewCode& code, Context& context, GlobalView& view) {
  const bool empty = std::any_of(view.extents.begin(), view.extents.begin() + view.rank,
                                 [](std::int64_t extent) { return extent == 0; });
  for (std::size_t d = 0; d < code.strides.size(); ++d) {
    std::int64_t stride = 0;
    if (!context.evaluate(code.strides[d], stride)) return false;
    if (empty || view.extents[d] == 1) stride = 0;
    if (stride > max_stride || stride < -max_stride) {
      return context.fail(Code::bad_shape, code.span,
                          fmt::format("stride {} of `{}` is {}; strides lie between -2^48 and 2^48",
                                      d, code.name, stride));
    }
    view.strides[d] = stride;
  }
  return true;
}

bool make_view(const ViewCode& code, int buffer, Context& context) {
  GlobalView view;
  view.buffer = buffer;
  view.rank = static_cast<int>(code.extents.size());
  view.layout = code.layout;
  if (!evaluate_extents(code, context, view) || !evaluate_strides(code, context, view)) {
    return false;
  }
  context.state.views[code.view] = view;
  return true;
}

/// Gives every element of a tile one code.
void fill(const Tile& tile, std::uint64_t code, std::uint8_t* registers) {
  std::memset(registers, 0, code == 0 ? tile.bytes() : tile.thread_bytes);
  if (code == 0) return;
  for (std::size_t i = 0; i < tile.locals; ++i) {
    isa::put_bits(registers, i * tile.bits, tile.bits, code);
  }
  for (std::size_t t = 1; t < tile.threads; ++t) {
    std::memcpy(registers + t * tile.thread_bytes, registers, tile.thread_bytes);
  }
}

/// Gives each element, thread after thread, the code that its entry in `turns` selects.
void fill(const Tile& tile, const std::vector<std::uint64_t>& codes,
          const std::vector<std::int32_t>& turns, std::uint8_t* registers) {
  std::memset(registers, 0, tile.bytes());
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      const auto turn = static_cast<std::size_t>(turns[t * tile.locals + i]);
      isa::put_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits, codes[turn]);
    }
  }
}

/// The counter that each random word is made of.
std::shared_ptr<const ElementMoves> counter_moves(const isa::Philox& inst,
                                                  const Preparation& preparation) {
  return make_moves({inst.counter.var}, preparation, [](isa::Index& index) -> std::uint32_t {
    index.erase(index.begin());
    return 0;
  });
}

/// A scalar that becomes the code of an element.
struct InitialValue {
  ScalarCode value;
  isa::DType from, to;

  bool evaluate(Context& context, std::uint64_t& code) const {
    std::uint64_t bits = 0;
    if (!context.evaluate(value, bits)) return false;
    code = isa::cast(from, to, bits);
    return true;
  }
};

}  // namespace

/// The launch provides the memory of workspaces; they are the first buffers, in order.
template <>
Action prepare(const isa::AllocateGlobal&, const Preparation& preparation) {
  ViewCode code = compile_view(preparation, preparation.span);
  int buffer = 0;
  for (const auto& workspace : preparation.info.workspaces) {
    if (workspace.var == preparation.result()) break;
    ++buffer;
  }
  return [code = std::move(code), buffer](Context& context) {
    return make_view(code, buffer, context);
  };
}

/// The verifier chose the tensor's offset. The bytes there keep their contents.
template <>
Action prepare(const isa::AllocateShared&, const Preparation&) {
  return [](Context&) { return true; };
}

/// `init` is converted to the element type as by Cast. Without `init` the elements have no defined
/// value; the simulator makes them zero, whatever ran before.
template <>
Action prepare(const isa::AllocateRegister& inst, const Preparation& preparation) {
  const Tile tile = preparation.result_tile();
  if (!inst.init) {
    return [tile, name = preparation.mnemonic(), span = preparation.span](Context& context) {
      fill(tile, 0, context.state.registers.at(tile.offset));
      if (context.settings.checks.uninitialized) {
        context.state.undefined.fill(tile, {name, span, "give it `init=`"});
      }
      return true;
    };
  }
  const isa::RegisterType& type = preparation.register_type(preparation.result());
  std::vector<InitialValue> values;
  for (const isa::Expr& value : inst.init->values) {
    values.push_back({ScalarCode(value), isa::element_type(value.kind()), type.dtype});
  }
  if (values.size() == 1) {
    return [tile, value = std::move(values.front())](Context& context) {
      std::uint64_t code = 0;
      if (!value.evaluate(context, code)) return false;
      fill(tile, code, context.state.registers.at(tile.offset));
      return true;
    };
  }
  auto turns = isa::value_turns(type.layout, static_cast<std::int64_t>(values.size()));
  return [tile, values = std::move(values), turns = std::move(turns)](Context& context) {
    std::vector<std::uint64_t> codes(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!values[k].evaluate(context, codes[k])) return false;
    }
    fill(tile, codes, turns, context.state.registers.at(tile.offset));
    return true;
  };
}

/// Elements are `start` plus their index along the dimension, and wrap.
template <>
Action prepare(const isa::Iota& inst, const Preparation& preparation) {
  const isa::RegisterType& type = preparation.register_type(preparation.result());
  const auto dim = static_cast<std::size_t>(inst.dim ? inst.dim->dims.front() : 0);
  const ScalarCode start =
      inst.start ? as_integer(inst.start->value) : as_integer(isa::Expr::constant(0));
  return [tile = preparation.result_tile(), parts = preparation.parts(preparation.result()), dim,
          start, mask = isa::low_mask(type.dtype.bits)](Context& context) {
    std::int64_t first = 0;
    if (!context.evaluate(start, first)) return false;
    std::uint8_t* registers = context.state.registers.at(tile.offset);
    for (std::size_t t = 0; t < tile.threads; ++t, registers += tile.thread_bytes) {
      const std::int64_t of_thread = parts->thread_part(t)[dim];
      for (std::size_t i = 0; i < tile.locals; ++i) {
        const auto number = static_cast<std::uint64_t>(first) +
                            static_cast<std::uint64_t>(of_thread + parts->local_part(i)[dim]);
        isa::put_bits(registers, i * tile.bits, tile.bits, number & mask);
      }
    }
    return true;
  };
}

/// A thread has the words 0 of all its counters, then the words 1 and so on.
template <>
Action prepare(const isa::Philox& inst, const Preparation& preparation) {
  const ScalarCode key = as_integer(inst.key.value);
  const ScalarCode stream =
      inst.stream ? as_integer(inst.stream->value) : as_integer(isa::Expr::constant(0));
  return [counter = preparation.tile(inst.counter.var), result = preparation.result_tile(), key,
          stream](Context& context) {
    std::int64_t key_bits = 0, stream_bits = 0;
    if (!context.evaluate(key, key_bits) || !context.evaluate(stream, stream_bits)) return false;
    const std::uint8_t* from = context.state.registers.at(counter.offset);
    std::uint8_t* to = context.state.registers.at(result.offset);
    for (std::size_t t = 0; t < counter.threads; ++t) {
      for (std::size_t i = 0; i < counter.locals; ++i) {
        const auto number = load_lane<std::uint32_t>(from, t * counter.locals + i);
        const functions::RandomWords words =
            functions::philox(number, 0, static_cast<std::uint64_t>(stream_bits),
                              static_cast<std::uint64_t>(key_bits));
        for (std::size_t w = 0; w < 4; ++w) {
          store_lane(to, t * result.locals + w * counter.locals + i, words.word[w]);
        }
      }
    }
    return true;
  };
}

/// Extents and strides are evaluated here, once; memory is not accessed.
template <>
Action prepare(const isa::ViewGlobal& inst, const Preparation& preparation) {
  ViewCode code =
      compile_view(preparation, preparation.slot_span(isa::position_of(&isa::ViewGlobal::shape)));
  const auto pointer = static_cast<std::size_t>(inst.ptr.var.index);
  return [code = std::move(code), pointer](Context& context) {
    return make_view(code, static_cast<int>(context.state.scalars[pointer]), context);
  };
}

/// Without `init` the action itself marks the elements as undefined.
template <>
UndefinedTransfer undefined_transfer(const isa::AllocateRegister& inst,
                                     const Preparation& preparation) {
  if (!inst.init) return {};
  return elementwise_transfer({}, preparation);
}

template <>
UndefinedTransfer undefined_transfer(const isa::Iota&, const Preparation& preparation) {
  return elementwise_transfer({}, preparation);
}

template <>
UndefinedTransfer undefined_transfer(const isa::Philox& inst, const Preparation& preparation) {
  return move_undefined(counter_moves(inst, preparation));
}

template <>
ShadowFlow shadow_flow(const isa::Philox&, const Preparation& preparation) {
  return restarted(preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Iota&, const Preparation& preparation) {
  return restarted(preparation);
}

template <>
ShadowFlow shadow_flow(const isa::AllocateRegister& inst, const Preparation& preparation) {
  return inst.init ? filled(*inst.init, preparation) : restarted(preparation);
}

template <>
DataFlow data_flow(const isa::Iota&, const Preparation&) {
  return {DataFlow::Kind::created, {}, {}};
}

template <>
DataFlow data_flow(const isa::Philox& inst, const Preparation& preparation) {
  DataFlow flow = moved_flow({inst.counter.var}, counter_moves(inst, preparation));
  flow.kind = DataFlow::Kind::computed;
  return flow;
}

template <>
DataFlow data_flow(const isa::AllocateRegister&, const Preparation&) {
  return {DataFlow::Kind::created, {}, {}};
}

}  // namespace tilevm::sim
