// What a step of a value's way shows: places, values, operands.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/debug/provenance.h"

namespace tilevm::sim::debug {
namespace {

constexpr std::size_t most_operands = 4, most_terms = 3;

std::string element_name(std::string_view name, const isa::Index& index) {
  return fmt::format("{}[{}]", name, fmt::join(index, ", "));
}

/// Whether ranges are exactly one element of n bits.
bool is_element(const std::vector<BitRange>& bits, unsigned n) {
  return bits.size() == 1 && bits.front().begin % n == 0 &&
         bits.front().end - bits.front().begin == n;
}

/// The bits themselves, the highest first.
std::string digits(const std::uint8_t* stream, const std::vector<BitRange>& bits) {
  std::string text;
  for (const BitRange& range : bits) {
    for (std::uint64_t bit = range.begin; bit < range.end; ++bit) {
      text.insert(text.begin(), isa::get_bits(stream, bit, 1) != 0 ? '1' : '0');
    }
  }
  return text;
}

}  // namespace

std::string byte_ranges(const std::vector<BitRange>& bits) {
  std::vector<std::string> parts;
  for (const BitRange& range : bits) {
    const std::uint64_t first = range.begin / 8, last = (range.end - 1) / 8;
    if (range.begin % 8 == 0 && range.end % 8 == 0) {
      parts.push_back(first == last ? fmt::format("byte {}", first)
                                    : fmt::format("bytes {}..{}", first, last));
    } else if (first == last) {
      const std::uint64_t low = range.begin % 8, high = (range.end - 1) % 8;
      parts.push_back(low == high ? fmt::format("bit {} of byte {}", low, first)
                                  : fmt::format("bits {}..{} of byte {}", low, high, first));
    } else {
      parts.push_back(fmt::format("bit {} of byte {} to bit {} of byte {}", range.begin % 8, first,
                                  (range.end - 1) % 8, last));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void Provenance::describe(const Trail& trail, reply::Cause& cause) {
  switch (trail.space) {
    case Trail::Space::registers:
      return describe_registers(trail, cause);
    case Trail::Space::scalar:
      return describe_scalar(trail, cause);
    case Trail::Space::shared:
    case Trail::Space::global:
      return describe_memory(trail, cause);
  }
  TILEVM_NO_ENUMERATOR();
}

void Provenance::describe_scalar(const Trail& trail, reply::Cause& cause) {
  const auto resident = resident_of(trail);
  if (!resident) return;
  const auto* type =
      std::get_if<isa::ScalarType>(&machine().launch().kernel().variable(trail.var).type);
  const BlockState& block = machine().state().residents[*resident]->state;
  cause.place = Names(machine(), resident, shapes_, dtypes_).name_of(trail.var);
  cause.scalar = {type->kind, block.scalars[static_cast<std::size_t>(trail.var.index)]};
}

void Provenance::describe_registers(const Trail& trail, reply::Cause& cause) {
  const auto resident = resident_of(trail);
  if (!resident) return;
  const BlockState& block = machine().state().residents[*resident]->state;
  const Names names(machine(), resident, shapes_, dtypes_);
  const std::optional<Tensor> tensor = names.tensor_of(trail.var);
  const auto& place = *std::get_if<RegisterPlace>(&tensor->place);
  const unsigned n = tensor->dtype.bits;
  const std::size_t local = trail.bits.front().begin / n;
  const auto thread = static_cast<std::int64_t>(trail.thread);
  const isa::Index index = place.type->layout.element(thread, static_cast<std::int64_t>(local));
  cause.place = element_name(tensor->name, index);
  cause.dtype = tensor->dtype;
  cause.thread = thread;
  cause.local = static_cast<std::int64_t>(local);
  const std::uint64_t last = trail.bits.back().end - 1;
  const std::uint8_t* stream =
      block.registers.at(place.tile.offset) + trail.thread * place.tile.thread_bytes;
  if (is_element(trail.bits, n)) {
    cause.has_element = true;
    cause.element = tensor->read(block, trail.thread, local);
  } else {
    const std::size_t end = last / n;
    if (end != local) {
      const isa::Index until = place.type->layout.element(thread, static_cast<std::int64_t>(end));
      cause.place += " to " + element_name(tensor->name, until);
    }
  }
  if (!cause.has_element || n < 8) {
    cause.bits = fmt::format("bits {}..{} of thread {}'s registers: {}", trail.bits.front().begin,
                             last, thread, digits(stream, trail.bits));
  }
}

void Provenance::describe_memory(const Trail& trail, reply::Cause& cause) {
  const bool shared = trail.space == Trail::Space::shared;
  const std::uint64_t bit = trail.bits.front().begin;
  const PreparedLaunch& launch =
      machine().finished() ? *machine().launches().back() : machine().launch();
  if (shared) {
    const auto resident = resident_of(trail);
    if (!resident) return;
    const std::uint8_t* bytes = machine().state().residents[*resident]->state.shared.bytes.data();
    for (const auto& tile : launch.info().shared) {
      const auto begin = static_cast<std::uint64_t>(tile.offset) * 8;
      if (bit < begin || bit >= begin + static_cast<std::uint64_t>(tile.bytes) * 8) continue;
      const auto& type = *std::get_if<isa::SharedType>(&launch.kernel().variable(tile.var).type);
      cause.place = launch.kernel().variable(tile.var).name;
      cause.dtype = type.dtype;
      const std::int64_t count = isa::element_count(type.shape());
      const auto offset = static_cast<std::int64_t>((bit - begin) / type.dtype.bits);
      for (std::int64_t k = 0; k < count; ++k) {
        const isa::Index index = isa::unravel(k, type.shape());
        if (type.layout.offset(index) != offset) continue;
        cause.place = element_name(cause.place, index);
        break;
      }
      std::vector<BitRange> inside = trail.bits;
      for (BitRange& range : inside) range.begin -= begin, range.end -= begin;
      cause.has_element = is_element(inside, type.dtype.bits);
      if (cause.has_element) cause.element = {isa::get_bits(bytes, bit, type.dtype.bits), false};
    }
    if (!cause.has_element || cause.dtype.bits < 8) {
      cause.bits = fmt::format("{} of shared memory: {}", byte_ranges(trail.bits),
                               digits(bytes, trail.bits));
    }
    return;
  }
  for (std::size_t i = 0; i < launch.memory().size(); ++i) {
    const MemoryBuffer& buffer = launch.memory()[i];
    if (buffer.data != trail.buffer) continue;
    cause.place = buffer.name;
    cause.bits = fmt::format("{} of `{}`: {}", byte_ranges(trail.bits), buffer.name,
                             digits(buffer.data, trail.bits));
    if (i < launch.workspaces()) return;
    const std::size_t k = i - launch.workspaces();
    cause.dtype = dtypes_[k];
    const auto element = static_cast<std::int64_t>(bit / dtypes_[k].bits);
    cause.place = element_name(buffer.name, isa::unravel(element, shapes_[k]));
    cause.has_element = is_element(trail.bits, dtypes_[k].bits);
    if (cause.has_element)
      cause.element = {isa::get_bits(buffer.data, bit, dtypes_[k].bits), false};
    return;
  }
}

Element Provenance::read(const ElementSource& source) {
  const Names names(machine(), machine().state().position, shapes_, dtypes_);
  return names.tensor_of(source.var)->read(machine().current().state, source.thread, source.place);
}

std::string Provenance::text_of(const ElementSource& source) {
  const Names names(machine(), machine().state().position, shapes_, dtypes_);
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(source.var).type);
  return element_name(names.name_of(source.var),
                      type.layout.element(static_cast<std::int64_t>(source.thread),
                                          static_cast<std::int64_t>(source.place)));
}

const isa::DType& Provenance::dtype_of(const ElementSource& source) {
  const isa::Kernel& kernel = machine().launch().kernel();
  return std::get_if<isa::RegisterType>(&kernel.variable(source.var).type)->dtype;
}

std::string Provenance::value_text(const ElementSource& source) {
  return isa::format_value(dtype_of(source), read(source).code);
}

/// NaN is larger than every number.
double Provenance::size_of(const ElementSource& source) {
  const double value = std::abs(as_double(value_of_code(dtype_of(source), read(source).code)));
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

/// The terms of a product: the first source, then the largest products. `listed` takes the sources
/// that get numbers.
void Provenance::list_terms(const std::vector<ElementSource>& sources, reply::Cause& cause,
                            std::vector<std::size_t>& listed) {
  struct Term {
    std::size_t first;
    double size;
  };
  std::vector<Term> terms;
  for (std::size_t i = 1; i + 1 < sources.size(); i += 2) {
    const double a = size_of(sources[i]), b = size_of(sources[i + 1]);
    terms.push_back({i, std::isinf(a) || std::isinf(b) ? std::max(a, b) : a * b});
  }
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.size > b.size; });
  listed.push_back(0);
  cause.sources.push_back(
      {fmt::format("{} = {}", text_of(sources.front()), value_text(sources.front())), {1}});
  for (std::size_t i = 0; i < std::min(terms.size(), most_terms); ++i) {
    const std::size_t at = terms[i].first;
    listed.insert(listed.end(), {at, at + 1});
    cause.sources.push_back(
        {fmt::format("{} * {} = {} * {}", text_of(sources[at]), text_of(sources[at + 1]),
                     value_text(sources[at]), value_text(sources[at + 1])),
         {listed.size() - 1, listed.size()}});
  }
  cause.more = terms.size() - std::min(terms.size(), most_terms);
}

/// The largest sources, where there are many.
void Provenance::list_sources(const std::vector<ElementSource>& sources, reply::Cause& cause,
                              std::vector<std::size_t>& listed) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    order.emplace_back(sources.size() > most_operands ? size_of(sources[i]) : 0, i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), most_operands));
  for (const auto& [size, i] : order) {
    listed.push_back(i);
    cause.sources.push_back(
        {fmt::format("{} = {}", text_of(sources[i]), value_text(sources[i])), {listed.size()}});
  }
  cause.more = sources.size() - order.size();
}

/// The source that is followed, as an index into `listed`.
std::size_t Provenance::choose(const std::vector<ElementSource>& sources,
                               const std::vector<std::size_t>& listed, DataFlow::Kind kind,
                               const std::string& via, const reply::Cause& cause) {
  const isa::Kernel& kernel = machine().launch().kernel();
  const auto find = [&](auto&& holds) -> std::optional<std::size_t> {
    for (std::size_t k = 0; k < listed.size(); ++k) {
      if (holds(sources[listed[k]])) return k;
    }
    return std::nullopt;
  };
  if (!via.empty()) {
    const auto named =
        find([&](const ElementSource& source) { return kernel.variable(source.var).name == via; });
    if (named) return *named;
  }
  if (kind == DataFlow::Kind::selected) return read(sources.front()).code != 0 ? 1 : 2;
  if (!cause.has_element) return 0;
  const isa::DType& dtype = cause.dtype;
  const auto not_finite = [&](const isa::DType& of, std::uint64_t code) {
    return !std::isfinite(as_double(value_of_code(of, code)));
  };
  if (not_finite(dtype, cause.element.code)) {
    const auto found = find([&](const ElementSource& source) {
      return not_finite(dtype_of(source), read(source).code);
    });
    if (found) return *found;
  }
  if (kind == DataFlow::Kind::product) return 0;
  return find([&](const ElementSource& source) {
           return dtype_of(source) == dtype && read(source).code == cause.element.code;
         })
      .value_or(0);
}

}  // namespace tilevm::sim::debug
