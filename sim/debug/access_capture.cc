#include "sim/debug/access_capture.h"

namespace tilevm::sim::debug {
namespace {

/// Calls f(element, number of the bit in it) for the elements that have a bit, until f returns
/// false. The first replica of each element is looked at.
template <class Access, class BitOf, class F>
void search_elements(const Access& access, std::uint64_t bit, const BitOf& first_bit, F&& f) {
  for (const std::int32_t thread : access.parts->first_threads) {
    for (std::size_t place = 0; place < access.tile.locals; ++place) {
      const MovedElement element{static_cast<std::size_t>(thread), place};
      const std::optional<std::uint64_t> begin = first_bit(element);
      if (!begin || *begin > bit || bit >= *begin + access.tile.bits) continue;
      if (!f(element, static_cast<unsigned>(bit - *begin))) return;
    }
  }
}

template <class Access, class BitOf>
std::optional<std::pair<MovedElement, unsigned>> search_element(const Access& access,
                                                                std::uint64_t bit,
                                                                const BitOf& first_bit) {
  std::optional<std::pair<MovedElement, unsigned>> found;
  search_elements(access, bit, first_bit, [&](const MovedElement& element, unsigned number) {
    found = std::pair{element, number};
    return false;
  });
  return found;
}

}  // namespace

void AccessCapture::global(const GlobalFootprint& footprint, const Context& context) {
  in_global = footprint;
  buffer = context.memory[static_cast<std::size_t>(footprint.view.buffer)].data;
}

void AccessCapture::shared(const SharedAccess& access, const TileOrigin& origin, bool is_write,
                           const Context&) {
  in_shared = Shared{&access, origin, is_write};
}

void AccessCapture::clear() {
  in_global.reset();
  in_shared.reset();
}

bool AccessCapture::combines() const {
  return (in_global && in_global->access->combines) || (in_shared && in_shared->access->combines);
}

bool AccessCapture::orders_blocks() const {
  return in_global && sim::orders_blocks(in_global->use);
}

std::vector<MovedElement> elements_at(const AccessCapture& capture, std::uint64_t bit) {
  std::vector<MovedElement> found;
  const auto keep = [&](const MovedElement& element, unsigned) {
    found.push_back(element);
    return true;
  };
  if (const auto& shared = capture.in_shared) {
    search_elements(
        *shared->access, bit,
        [&](const MovedElement& element) { return std::optional(bit_of(*shared, element)); }, keep);
  } else if (const auto& global = capture.in_global) {
    search_elements(
        *global->access, bit, [&](const MovedElement& element) { return bit_of(*global, element); },
        keep);
  }
  return found;
}

isa::Index index_of(const GlobalFootprint& footprint, const MovedElement& element) {
  const GlobalAccess& access = *footprint.access;
  const std::int32_t* thread = access.parts->thread_part(element.thread);
  const std::int32_t* local = access.parts->local_part(element.place);
  isa::Index index(static_cast<std::size_t>(footprint.view.rank));
  for (std::size_t d = 0; d < index.size(); ++d) {
    index[d] = footprint.origin[d];
    if (access.tile_dims[d] >= 0) {
      const auto dim = static_cast<std::size_t>(access.tile_dims[d]);
      index[d] += thread[dim] + local[dim];
    }
    if (footprint.origin.places && d == access.indexed->tile.dim) {
      index[d] = footprint.origin.places->at(element.thread, element.place);
    }
  }
  return index;
}

bool is_inside(const GlobalFootprint& footprint, const isa::Index& index) {
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= footprint.view.extents[d]) return false;
  }
  return true;
}

std::optional<std::uint64_t> bit_of(const GlobalFootprint& footprint, const MovedElement& element) {
  const isa::Index index = index_of(footprint, element);
  if (!is_inside(footprint, index)) return std::nullopt;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * footprint.view.strides[d];
  if (footprint.view.layout != nullptr) offset = footprint.view.layout->offset(index);
  if (offset < 0) return std::nullopt;
  return static_cast<std::uint64_t>(offset) * footprint.access->tile.bits;
}

std::uint64_t bit_of(const AccessCapture::Shared& shared, const MovedElement& element) {
  const SharedAccess& access = *shared.access;
  const std::int64_t offset =
      element_offset(access.geometry, *access.parts, shared.origin, element.thread, element.place);
  return access.tensor_bits + static_cast<std::uint64_t>(offset) * access.tile.bits;
}

std::optional<std::pair<MovedElement, unsigned>> element_at(const GlobalFootprint& footprint,
                                                            std::uint64_t bit) {
  return search_element(*footprint.access, bit,
                        [&](const MovedElement& element) { return bit_of(footprint, element); });
}

std::optional<std::pair<MovedElement, unsigned>> element_at(const AccessCapture::Shared& shared,
                                                            std::uint64_t bit) {
  return search_element(*shared.access, bit, [&](const MovedElement& element) {
    return std::optional(bit_of(shared, element));
  });
}

}  // namespace tilevm::sim::debug
