// What a session shows of tensors, and changes by hand.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/type/number.h"
#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

/// The most elements that a reply has; the counts are over all.
constexpr std::int64_t max_shown = std::int64_t{1} << 16;

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", isa::to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
}

Error not_in_registers(const Tensor& tensor) {
  return {ErrorKind::usage,
          fmt::format("`{}` is in memory, which all threads share; look at its elements as {}[..]",
                      tensor.name, tensor.name)};
}

/// Error (usage): the layout has no such thread.
Status check_thread(const RegisterPlace& place, const std::string& name, std::int64_t thread) {
  const std::int64_t threads = place.type->layout.num_threads();
  if (thread >= 0 && thread < threads) return Done{};
  return Error{ErrorKind::usage,
               fmt::format("`{}` is spread over threads 0 to {}", name, threads - 1)};
}

/// Counts elements of a tile, and finds the range of their numbers.
class Statistics {
 public:
  Statistics(reply::Tile& tile, std::int64_t elements) : tile_(tile) {
    const std::size_t codes = std::size_t{1} << std::min<unsigned>(tile.dtype.bits, 20);
    if (tile.dtype.bits > 16 || elements < static_cast<std::int64_t>(codes)) return;
    for (std::size_t code = 0; code < codes; ++code) {
      values_.push_back(as_double(value_of_code(tile.dtype, code)));
    }
  }

  void add(const Element& element) {
    if (element.undefined) {
      ++tile_.undefined;
      return;
    }
    const double value = values_.empty() ? as_double(value_of_code(tile_.dtype, element.code))
                                         : values_[element.code];
    if (std::isnan(value)) {
      ++tile_.nan;
      return;
    }
    if (std::isinf(value)) ++tile_.inf;
    if (!tile_.lowest || value < lowest_) tile_.lowest = element.code, lowest_ = value;
    if (!tile_.highest || value > highest_) tile_.highest = element.code, highest_ = value;
  }

 private:
  reply::Tile& tile_;
  std::vector<double> values_;  // of all codes, where there are more elements than codes
  double lowest_ = 0, highest_ = 0;
};

/// The next index of a part, in row-major order.
void advance(const Part& part, isa::Index& index) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (++index[d] < part.origin[d] + part.extents[d]) return;
    index[d] = part.origin[d];
  }
}

reply::Tile show(const Selection& what, const Tensor& tensor, const Part& part,
                 const BlockState* block) {
  reply::Tile tile;
  tile.text = what.text;
  tile.dtype = tensor.dtype;
  tile.type = type_text(tensor);
  tile.origin = part.origin;
  for (std::size_t d = 0; d < part.extents.size(); ++d) {
    if (part.is_index[d]) continue;
    tile.shape.push_back(part.extents[d]);
    tile.dims.push_back(static_cast<int>(d));
  }
  const std::int64_t elements = isa::element_count(part.extents);
  Statistics statistics(tile, elements);
  isa::Index index = part.origin;
  for (std::int64_t k = 0; k < elements; ++k, advance(part, index)) {
    const Element element = tensor.read(block, index);
    statistics.add(element);
    if (k < max_shown) tile.elements.push_back(element);
  }
  const auto* place = std::get_if<RegisterPlace>(&tensor.place);
  if (place != nullptr && tile.shape.empty()) {
    tile.threads = place->type->layout.threads_of(part.origin);
    tile.local = place->type->layout.local_of(part.origin);
  }
  return tile;
}

Result<reply::ThreadTile> show_thread(const Selection& what, const Tensor& tensor,
                                      std::int64_t thread, const BlockState* running) {
  const auto* place = std::get_if<RegisterPlace>(&tensor.place);
  if (place == nullptr) return not_in_registers(tensor);
  if (Status status = check_thread(*place, tensor.name, thread); !status) return status.error();
  const BlockState& block = *running;
  reply::ThreadTile shown;
  shown.text = what.text;
  shown.dtype = tensor.dtype;
  shown.type = type_text(tensor);
  shown.thread = thread;
  const auto t = static_cast<std::size_t>(thread);
  for (std::size_t i = 0; i < place->tile.locals; ++i) {
    shown.indices.push_back(place->type->layout.element(thread, static_cast<std::int64_t>(i)));
    shown.elements.push_back(tensor.read(block, t, i));
  }
  shown.outside.resize(shown.elements.size());
  const std::uint8_t* bytes = block.registers.at(place->tile.offset) + t * place->tile.thread_bytes;
  shown.bytes.assign(bytes, bytes + place->tile.thread_bytes);
  return shown;
}

/// Whether an element is what a load or a copy gives for one that its view does not have: zero, or
/// the NaN that a copy may fill with.
bool may_be_outside(const isa::DType& type, const Element& element) {
  if (element.undefined) return false;
  return element.code == 0 || (type.is_float() && isa::decode(type, element.code).is_nan());
}

}  // namespace

Reply Session::run(const command::Print& print) {
  const Result<Named> named = names().find(print.what.tensor);
  if (!named) return named.error();
  if (const auto* scalar = std::get_if<ScalarVariable>(&*named)) {
    if (!print.what.ranges.empty() || print.what.thread) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` is a scalar, which has no elements", print.what.tensor)};
    }
    return reply::Scalars{{*scalar}};
  }
  const Tensor& tensor = *std::get_if<Tensor>(&*named);
  const BlockState* block = focus_block();
  const bool in_registers = std::holds_alternative<RegisterPlace>(tensor.place);
  if (print.what.thread) return shown_thread(print.what, tensor, *print.what.thread);
  if (thread_ && in_registers && print.what.ranges.empty()) {
    return shown_thread(print.what, tensor, *thread_);
  }
  const Result<Part> part = resolve(print.what, tensor);
  if (!part) return part.error();
  reply::Tile tile = show(print.what, tensor, *part, block);
  if (in_registers) tile.overwritten = overwritten_at(tensor.var);
  if (tile.overwritten.line == 0) mark_outside(tensor, *part, tile);
  return tile;
}

Reply Session::shown_thread(const Selection& what, const Tensor& tensor, std::int64_t thread) {
  Result<reply::ThreadTile> shown = show_thread(what, tensor, thread, focus_block());
  if (!shown) return shown.error();
  if (overwritten_at(tensor.var).line == 0) mark_outside(tensor, *shown);
  return *std::move(shown);
}

std::vector<OutsideElement> Session::find_outside(std::vector<Trail> trails) {
  if (trails.empty()) return {};
  Provenance provenance(*timeline_, spec_.dtypes, spec_.shapes);
  return OutsideSearch(*timeline_, provenance).find(std::move(trails));
}

/// Only zeros and NaN come from outside of a view. In global memory, where each store of the run
/// may have written an element, only a few are followed.
void Session::mark_outside(const Tensor& tensor, const Part& part, reply::Tile& tile) {
  constexpr std::size_t most_global = 16;
  if (std::holds_alternative<GlobalPlace>(tensor.place) && tile.elements.size() > most_global) {
    return;
  }
  std::vector<Trail> trails;
  std::vector<std::size_t> numbers;
  for (std::size_t k = 0; k < tile.elements.size(); ++k) {
    if (!may_be_outside(tensor.dtype, tile.elements[k])) continue;
    trails.push_back(Provenance::trail_of(tensor, index_in(part, static_cast<std::int64_t>(k)),
                                          std::nullopt, focus_.launch, focus_.rank));
    numbers.push_back(k);
  }
  for (OutsideElement& found : find_outside(std::move(trails))) {
    tile.outside.push_back(numbers[found.number]);
    if (!tile.outside_view) tile.outside_view = std::move(found.view);
  }
}

void Session::mark_outside(const Tensor& tensor, reply::ThreadTile& tile) {
  std::vector<Trail> trails;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < tile.elements.size(); ++i) {
    if (!may_be_outside(tensor.dtype, tile.elements[i])) continue;
    trails.push_back(
        Provenance::trail_of(tensor, tile.indices[i], tile.thread, focus_.launch, focus_.rank));
    numbers.push_back(i);
  }
  for (OutsideElement& found : find_outside(std::move(trails))) {
    tile.outside[numbers[found.number]] = std::move(found.view);
  }
}

/// A View and its source share their registers: the line that wrote the source again since the
/// variable was written; none if nothing has.
SourceLine Session::overwritten_at(isa::VarId var) {
  const auto resident = resident_of_focus();
  const PreparedLaunch& launch = machine().launch();
  const Moment written = names().last_written(var);
  const std::vector<Moment>& last_run = machine().state().residents[*resident]->last_run;
  for (std::size_t record = 0; record < last_run.size(); ++record) {
    if (last_run[record] <= written) continue;
    for (const isa::VarId other : launch.records()[record].written) {
      const isa::Type& type = launch.kernel().variable(other).type;
      if (other == var || !std::holds_alternative<isa::RegisterType>(type)) continue;
      if (launch.registers().offset(other) != launch.registers().offset(var)) continue;
      return launch.records()[record].line;
    }
  }
  return {};
}

Reply Session::run(const command::Compute& compute) {
  const Result<Value> value = evaluate(*compute.expression, names(), focus_block(), implied());
  if (!value) return value.error();
  return reply::Computed{compute.expression->text, *value};
}

Reply Session::run(const command::Layout& layout) {
  const Result<Tensor> tensor = names().tensor(layout.tensor);
  if (!tensor) return tensor.error();
  reply::LayoutShown shown{tensor->name, type_text(*tensor), std::nullopt, std::nullopt,
                           tensor->dtype.bits};
  if (const auto* registers = std::get_if<RegisterPlace>(&tensor->place)) {
    shown.registers = registers->type->layout;
  } else if (const auto* shared = std::get_if<SharedPlace>(&tensor->place)) {
    shown.memory = shared->type->layout;
  } else {
    const GlobalView& view = std::get_if<GlobalPlace>(&tensor->place)->view;
    shown.type += fmt::format(
        ", strides [{}]", fmt::join(view.strides.begin(), view.strides.begin() + view.rank, ", "));
    if (view.layout != nullptr) shown.memory = *view.layout;
  }
  return shown;
}

Reply Session::run(const command::Bits& bits) {
  const Result<Tensor> tensor = names().tensor(bits.tensor);
  if (!tensor) return tensor.error();
  const Selection what{
      bits.tensor, {}, bits.thread, fmt::format("{}@{}", bits.tensor, bits.thread)};
  return shown_thread(what, *tensor, bits.thread);
}

Reply Session::run(const command::Set& set) {
  const Result<Named> named = names().find(set.what.tensor);
  if (!named) return named.error();
  const Result<Value> value = evaluate(*set.value, names(), focus_block(), implied());
  if (!value) return value.error();
  const auto resident = resident_of_focus();
  if (const auto* scalar = std::get_if<ScalarVariable>(&*named)) {
    const isa::ScalarKind kind = scalar->value.kind;
    const auto* integer = std::get_if<std::int64_t>(&*value);
    const isa::Scalar given = integer != nullptr
                                  ? isa::Scalar::i64(*integer)
                                  : isa::Scalar::f32(static_cast<float>(as_double(*value)));
    const std::uint64_t bits = isa::convert(given, kind).bits;
    const auto slot = names().slot_of(set.what.tensor);
    why_branches_.clear();
    timeline_->edit([resident = *resident, slot, bits](Machine& machine) {
      machine.edit(resident).scalars[slot] = bits;
    });
    return reply::Scalars{{{set.what.tensor, {kind, bits}}}};
  }
  const Tensor& tensor = *std::get_if<Tensor>(&*named);
  const Result<Part> part = resolve(set.what, tensor);
  if (!part) return part.error();
  const std::int64_t elements = isa::element_count(part->extents);
  if (elements > max_shown) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` has {} elements; {} at most can be set at once", set.what.text,
                             elements, max_shown)};
  }
  const std::uint64_t code = code_of_value(tensor.dtype, *value);
  const bool in_block = !std::holds_alternative<GlobalPlace>(tensor.place);
  why_branches_.clear();
  timeline_->edit([=, where = *part](Machine& machine) {
    BlockState* block = in_block ? &machine.edit(*resident) : nullptr;
    for (std::int64_t k = 0; k < elements; ++k) {
      tensor.write(block, machine.writes(), index_in(where, k), code);
    }
  });
  return run(command::Print{set.what});
}

void Session::write_bytes(const Tensor& tensor, std::size_t begin,
                          std::vector<std::uint8_t> bytes) {
  const auto resident = resident_of_focus();
  why_branches_.clear();
  timeline_->edit([=, bytes = std::move(bytes)](Machine& machine) {
    if (const auto* global = std::get_if<GlobalPlace>(&tensor.place)) {
      const MemoryBuffer& buffer = global->buffer;
      save_pages(buffer.data, buffer.bytes, begin, begin + bytes.size(), machine.writes().pages);
      std::copy(bytes.begin(), bytes.end(), buffer.data + begin);
      return;
    }
    const auto* shared = std::get_if<SharedPlace>(&tensor.place);
    if (shared == nullptr || !resident) return;
    std::vector<std::uint8_t>& memory = machine.edit(*resident).shared.bytes;
    std::copy(bytes.begin(), bytes.end(),
              memory.begin() + static_cast<std::ptrdiff_t>(shared->first_bit / 8 + begin));
  });
}

}  // namespace tilevm::sim::debug
