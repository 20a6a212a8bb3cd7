#include "sim/global_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isa/type/bits.h"
#include "sim/shared_checks.h"

namespace tilevm::sim {
namespace {

__extension__ using Int128 = __int128;

/// Offsets beyond this are outside of every view, with room for the tile's own indices.
constexpr std::int64_t far_away = std::int64_t{1} << 50;

/// Where a tile lies in a view, this time.
class Place {
 public:
  Place(const GlobalAccess& access, const Context& context, const Numbers& origin)
      : Place(access, context.state.views[access.view], context, origin) {}
  Place(const GlobalAccess& access, const GlobalView& view, const Context& context,
        const Numbers& origin)
      : access_(access),
        view_(view),
        buffer_(context.memory[static_cast<std::size_t>(view_.buffer)]),
        origin_(origin),
        index_(static_cast<std::size_t>(view_.rank)) {}

  [[nodiscard]] const GlobalView& view() const { return view_; }
  [[nodiscard]] const MemoryBuffer& buffer() const { return buffer_; }

  /// Whether all elements lie inside the view's extents.
  [[nodiscard]] bool inside_view() const {
    for (std::size_t d = 0; d < index_.size(); ++d) {
      if (origin_[d] < 0 || origin_[d] + access_.extents[d] > view_.extents[d]) return false;
    }
    return true;
  }

  /// Whether all elements of a tile inside the view lie inside the buffer; if so, the bit of its
  /// first element. Strided views only.
  [[nodiscard]] bool inside_buffer(std::uint64_t& base_bits) const {
    Int128 base = 0, lowest = 0, highest = 0;
    for (std::size_t d = 0; d < index_.size(); ++d) {
      const Int128 reach = static_cast<Int128>(access_.extents[d] - 1) * view_.strides[d];
      base += static_cast<Int128>(origin_[d]) * view_.strides[d];
      (reach < 0 ? lowest : highest) += reach;
    }
    base_bits = static_cast<std::uint64_t>(base) * access_.tile.bits;
    return base + lowest >= 0 && (base + highest + 1) * access_.tile.bits <= buffer_bits();
  }

  /// The strides of the tile's own dimensions.
  [[nodiscard]] Numbers tile_strides() const {
    Numbers strides{};
    for (std::size_t d = 0; d < index_.size(); ++d) {
      if (access_.tile_dims[d] < 0) continue;
      strides[static_cast<std::size_t>(access_.tile_dims[d])] = view_.strides[d];
    }
    return strides;
  }

  /// Finds element (t, i): false if it is outside the view, else `index` and `bit` are its own.
  [[nodiscard]] bool locate(std::size_t t, std::size_t i) {
    const std::int32_t* thread = access_.parts->thread_part(t);
    const std::int32_t* local = access_.parts->local_part(i);
    Int128 offset = 0;
    for (std::size_t d = 0; d < index_.size(); ++d) {
      index_[d] = origin_[d];
      if (access_.tile_dims[d] >= 0) {
        const auto dim = static_cast<std::size_t>(access_.tile_dims[d]);
        index_[d] += thread[dim] + local[dim];
      }
      if (index_[d] < 0 || index_[d] >= view_.extents[d]) return false;
      offset += static_cast<Int128>(index_[d]) * view_.strides[d];
    }
    if (view_.layout != nullptr) offset = view_.layout->offset(index_);
    bit_ = offset * access_.tile.bits;
    return true;
  }
  /// Of the element found last: whether it lies in the buffer, and where.
  [[nodiscard]] bool in_buffer() const {
    return bit_ >= 0 && bit_ + access_.tile.bits <= buffer_bits();
  }
  [[nodiscard]] std::uint64_t bit() const { return static_cast<std::uint64_t>(bit_); }
  [[nodiscard]] const isa::Index& index() const { return index_; }
  /// The first byte that it would touch, for messages; far beyond is cut at 2^62.
  [[nodiscard]] std::int64_t byte() const {
    constexpr Int128 limit = static_cast<Int128>(1) << 62;
    const Int128 bytes = (bit_ < 0 ? bit_ - 7 : bit_) / 8;
    return static_cast<std::int64_t>(std::clamp<Int128>(bytes, -limit, limit));
  }

 private:
  [[nodiscard]] Int128 buffer_bits() const { return static_cast<Int128>(buffer_.bytes) * 8; }

  const GlobalAccess& access_;
  const GlobalView& view_;
  const MemoryBuffer& buffer_;
  Numbers origin_;
  isa::Index index_;
  Int128 bit_ = 0;
};

/// Evaluates where the tile begins. What lies far outside stays outside when it is cut.
bool evaluate_origin(const GlobalAccess& access, Context& context, Numbers& origin) {
  for (std::size_t d = 0; d < access.offsets.size(); ++d) {
    if (!context.evaluate(access.offsets[d], origin[d])) return false;
    origin[d] = std::clamp(origin[d], -far_away, far_away);
  }
  return true;
}

/// Reports elements that lie inside the view but outside of the buffer: counts each once, names the
/// first.
bool report_out_of_bounds(const GlobalAccess& access, Place& place, Context& context) {
  std::size_t count = 0, thread = 0;
  std::int64_t byte = 0;
  isa::Index index;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!place.locate(t, i) || place.in_buffer()) continue;
      if (count++ > 0 && place.index() >= index) continue;
      thread = t;
      index = place.index();
      byte = place.byte();
    }
  }
  const std::size_t total = access.parts->first_threads.size() * access.tile.locals;
  context.fail(Code::out_of_bounds, access.span,
               fmt::format("`{}` touches memory outside of buffer `{}`: {} of {} elements of the "
                           "tile, first `{}[{}]`, at byte {} of {}",
                           access.mnemonic, place.buffer().name, count, total, access.view_name,
                           fmt::join(index, ", "), byte, place.buffer().bytes));
  context.fault->thread = static_cast<std::int64_t>(thread);
  add_note(context.fault->diagnostic,
           fmt::format("`{}` is viewed here; a view's extents must not reach beyond its buffer",
                       access.view_name),
           access.view_span);
  return false;
}

/// Where the elements of a tile that lie inside the view begin, ascending.
std::vector<std::uint64_t> element_bits(const GlobalAccess& access, Place place) {
  std::vector<std::uint64_t> bits;
  for (const std::int32_t first : access.parts->first_threads) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (place.locate(static_cast<std::size_t>(first), i)) bits.push_back(place.bit());
    }
  }
  std::sort(bits.begin(), bits.end());
  return bits;
}

/// Whether [bit, bit + count) meets an element of `bits` wide that begins at one of `begins`.
bool meets(const std::vector<std::uint64_t>& begins, unsigned bits, std::uint64_t bit,
           unsigned count) {
  const auto next = std::lower_bound(begins.begin(), begins.end(), bit + count);
  return next != begins.begin() && *(next - 1) + bits > bit;
}

/// Whether a store leaves the source of a pending copy alone; false after a fault.
bool spares_source(const GlobalAccess& access, Place place, const PendingCopy& copy,
                   Context& context) {
  const GlobalAccess& source = copy.plan->source;
  const auto begins = element_bits(source, {source, copy.source, context, copy.source_origin});
  std::size_t count = 0, thread = 0;
  isa::Index index;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!place.locate(t, i) || !meets(begins, source.tile.bits, place.bit(), access.tile.bits)) {
        continue;
      }
      if (count++ > 0 && place.index() >= index) continue;
      thread = t;
      index = place.index();
    }
  }
  if (count == 0) return true;
  context.fail(Code::in_flight_access, access.span,
               fmt::format("`{}` writes {} element{} of `{}` that a copy in flight reads, first "
                           "`{}[{}]`",
                           access.mnemonic, count, count == 1 ? "" : "s", access.view_name,
                           access.view_name, fmt::join(index, ", ")));
  context.fault->thread = static_cast<std::int64_t>(thread);
  explain_copy(copy, context);
  return false;
}

bool spares_sources(const GlobalAccess& access, const Place& place, Context& context) {
  if (!context.settings.checks.in_flight) return true;
  const auto& copies = context.state.shared.copies;
  return std::all_of(copies.begin(), copies.end(), [&](const PendingCopy& copy) {
    return copy.source.buffer != place.view().buffer || spares_source(access, place, copy, context);
  });
}

}  // namespace

bool load(const GlobalAccess& access, Context& context) {
  return load_to(access, context, context.state.registers.at(access.tile.offset));
}

bool load_to(const GlobalAccess& access, Context& context, std::uint8_t* registers,
             Numbers* begin) {
  Numbers origin{};
  if (!evaluate_origin(access, context, origin)) return false;
  if (begin != nullptr) *begin = origin;
  Place place(access, context, origin);
  const Tile& tile = access.tile;
  const std::uint8_t* memory = place.buffer().data;
  std::uint64_t base_bits = 0;
  if (place.view().layout == nullptr && place.inside_view() && place.inside_buffer(base_bits)) {
    TileTable& table = context.scratch.tables[access.table];
    table.prepare(*access.parts, tile, place.tile_strides());
    copy_from_memory(table, tile, memory, base_bits, registers);
    return true;
  }
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      std::uint64_t code = 0;
      if (place.locate(t, i)) {
        if (!place.in_buffer()) return report_out_of_bounds(access, place, context);
        code = isa::get_bits(memory, place.bit(), tile.bits);
      }
      isa::put_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits, code);
    }
  }
  return true;
}

bool store(const GlobalAccess& access, Context& context) {
  Numbers origin{};
  if (!evaluate_origin(access, context, origin)) return false;
  Place place(access, context, origin);
  if (!spares_sources(access, place, context)) return false;
  const Tile& tile = access.tile;
  const std::uint8_t* registers = context.state.registers.at(tile.offset);
  std::uint8_t* memory = place.buffer().data;
  std::uint64_t base_bits = 0;
  if (place.view().layout == nullptr && place.inside_view() && place.inside_buffer(base_bits)) {
    TileTable& table = context.scratch.tables[access.table];
    table.prepare(*access.parts, tile, place.tile_strides());
    copy_to_memory(table, tile, access.parts->first_threads, registers, memory, base_bits);
    return true;
  }
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (!place.locate(t, i)) continue;
      if (!place.in_buffer()) return report_out_of_bounds(access, place, context);
      isa::put_bits_atomic(
          memory, place.bit(), tile.bits,
          isa::get_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits));
    }
  }
  return true;
}

}  // namespace tilevm::sim
