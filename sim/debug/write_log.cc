// Which pages an access to global memory is about to write.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "sim/access/global_access.h"
#include "sim/debug/machine.h"

namespace tilevm::sim::debug {
namespace {

__extension__ using Wide = __int128;

/// The part of an access inside its view.
struct InsideView {
  Coordinates begin{}, end{};
  bool empty = false;
};

InsideView inside_view(const GlobalFootprint& footprint) {
  InsideView inside;
  for (std::size_t d = 0; d < static_cast<std::size_t>(footprint.view.rank); ++d) {
    const auto& indexed = footprint.access->indexed;
    if (indexed != nullptr && d == indexed->tile.dim) {  // whatever the index says
      inside.end[d] = footprint.view.extents[d];
    } else {
      inside.begin[d] = std::max<std::int64_t>(footprint.origin[d], 0);
      inside.end[d] =
          std::min(footprint.origin[d] + footprint.access->extents[d], footprint.view.extents[d]);
    }
    inside.empty = inside.empty || inside.begin[d] >= inside.end[d];
  }
  return inside;
}

/// The dimension whose elements lie nearest together: a row.
std::size_t densest(const GlobalFootprint& footprint, const InsideView& inside) {
  std::size_t best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t d = 0; d < static_cast<std::size_t>(footprint.view.rank); ++d) {
    const std::int64_t stride = std::abs(footprint.view.strides[d]);
    if (inside.end[d] - inside.begin[d] <= 1 || stride >= least) continue;
    best = d;
    least = stride;
  }
  return best;
}

/// The next row; false after the last.
bool advance(const InsideView& inside, std::size_t rank, std::size_t row, Coordinates& at) {
  for (std::size_t d = rank; d-- > 0;) {
    if (d == row) continue;
    if (++at[d] < inside.end[d]) return true;
    at[d] = inside.begin[d];
  }
  return false;
}

/// Calls f(first element, one past the last) for every row of an access, as offsets in its buffer.
template <class F>
void for_each_row(const GlobalFootprint& footprint, F&& f) {
  const InsideView inside = inside_view(footprint);
  if (inside.empty) return;
  const auto rank = static_cast<std::size_t>(footprint.view.rank);
  const isa::MemoryLayout* const layout = footprint.view.layout;
  const std::size_t row = rank == 0 || layout != nullptr ? rank : densest(footprint, inside);
  Coordinates at = inside.begin;
  while (true) {
    Wide offset = 0;
    if (layout != nullptr) {
      offset =
          layout->offset(isa::Index(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(rank)));
    } else {
      for (std::size_t d = 0; d < rank; ++d) {
        offset += static_cast<Wide>(at[d]) * footprint.view.strides[d];
      }
    }
    Wide reach = 0;
    if (row < rank) {
      reach =
          static_cast<Wide>(inside.end[row] - inside.begin[row] - 1) * footprint.view.strides[row];
    }
    f(std::min(offset, offset + reach), std::max(offset, offset + reach) + 1);
    if (!advance(inside, rank, row, at)) return;
  }
}

/// Whether rows of bytes are equally long and equally far apart, ascending.
struct Rows {
  std::size_t count = 0, first = 0, length = 0, pitch = 0;
  bool even = true;

  void add(std::size_t begin, std::size_t end) {
    if (count == 0) {
      first = begin;
      length = end - begin;
    } else {
      if (count == 1) pitch = begin - first;
      even = even && end - begin == length && begin == first + count * pitch && pitch > 0;
    }
    ++count;
  }
  [[nodiscard]] bool regular() const { return even && count > 1 && pitch > length; }
};

}  // namespace

void WriteLog::global(const GlobalFootprint& footprint, const Context& context) {
  if (listener != nullptr) listener->global(footprint, context);
  if (!sim::writes(footprint.use)) return;
  written = moment;
  const MemoryBuffer& buffer = context.memory[static_cast<std::size_t>(footprint.view.buffer)];
  const Wide bits = footprint.access->tile.bits;
  GlobalWrite write{moment, buffer.data, buffer.bytes, 0};
  Rows rows;
  for_each_row(footprint, [&](Wide first, Wide last) {
    const Wide begin = std::max<Wide>(first * bits, 0) / 8;
    const Wide end = std::min<Wide>((last * bits + 7) / 8, static_cast<Wide>(buffer.bytes));
    if (begin >= end) return;
    const auto from = static_cast<std::size_t>(begin), to = static_cast<std::size_t>(end);
    write.begin = std::min(write.begin, from);
    write.end = std::max(write.end, to);
    rows.add(from, to);
    save_pages(buffer.data, buffer.bytes, from, to, pages);
    if (buffer.undefined != nullptr) save_pages(buffer.undefined, buffer.bytes, from, to, pages);
  });
  const bool known = !history.empty() && history.back().moment >= moment;
  if (known || write.begin >= write.end) return;
  if (rows.regular()) write.row = rows.length, write.pitch = rows.pitch;
  complete = complete && history.size() < most_writes;
  if (complete) history.push_back(write);
}

void WriteLog::shared(const SharedAccess& access, const TileOrigin& origin, bool is_write,
                      const Context& context) {
  if (listener != nullptr) listener->shared(access, origin, is_write, context);
}

}  // namespace tilevm::sim::debug
