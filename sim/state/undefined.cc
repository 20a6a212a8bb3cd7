#include "sim/state/undefined.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "isa/type/bits.h"
#include "sim/state/context.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {

bool has_bits(const std::uint8_t* bytes, std::size_t count) {
  return std::any_of(bytes, bytes + count, [](std::uint8_t byte) { return byte != 0; });
}

bool UndefinedRegisters::element(const Tile& tile, std::size_t thread, std::size_t place) const {
  return isa::get_bits(at(tile.offset) + thread * tile.thread_bytes, place * tile.bits,
                       tile.bits) != 0;
}

void UndefinedRegisters::update(const Tile& tile, const Origin& origin) {
  if (!has_bits(at(tile.offset), tile.bytes())) return clear(tile);
  Mark& mark = marks_[tile.offset / RegisterSlab::alignment];
  if (!mark.set) ++marked_;
  mark = {true, tile.bytes(), origin};
}

void UndefinedRegisters::fill(const Tile& tile, const Origin& origin) {
  std::memset(at(tile.offset), 0xff, tile.bytes());
  const std::size_t used = tile.locals * tile.bits % 8;
  for (std::size_t t = 0; used != 0 && t < tile.threads; ++t) {
    *at(tile.offset + (t + 1) * tile.thread_bytes - 1) =
        static_cast<std::uint8_t>(isa::low_mask(static_cast<unsigned>(used)));
  }
  update(tile, origin);
}

void UndefinedRegisters::clear(const Tile& tile) {
  Mark& mark = marks_[tile.offset / RegisterSlab::alignment];
  if (!mark.set) return;
  std::memset(at(tile.offset), 0, tile.bytes());
  mark.set = false;
  --marked_;
}

void UndefinedRegisters::reset() {
  if (!any()) return;
  for (std::size_t line = 0; line < marks_.size(); ++line) {
    if (!marks_[line].set) continue;
    std::memset(at(line * RegisterSlab::alignment), 0, marks_[line].bytes);
    marks_[line].set = false;
  }
  marked_ = 0;
}

bool check_defined(std::string_view mnemonic, Span span, std::string_view name, const Tile& tile,
                   const LayoutParts& parts, Context& context, const ElementFilter& matters) {
  const UndefinedRegisters& undefined = context.state.undefined;
  if (!undefined.marked(tile)) return true;
  const auto used =
      find_offenders(parts.first_threads, tile.locals,
                     [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                       if (!undefined.element(tile, t, i) || (matters && !matters(t, i)))
                         return std::nullopt;
                       return Offender<>{parts.index(t, i)};
                     });
  if (used.count == 0) return true;
  context.fail(
      Code::uninitialized_read, span,
      fmt::format("`{}` uses {} of {} elements of `{}` that have no defined value, first {}",
                  mnemonic, used.count, parts.first_threads.size() * tile.locals, name,
                  element_text(name, used.first)));
  context.fault->thread = static_cast<std::int64_t>(used.thread);
  const Origin& origin = undefined.origin(tile);
  add_note(context.fault->diagnostic,
           fmt::format("they come from this `{}`, and nothing had written them: {}",
                       origin.mnemonic, origin.advice),
           origin.span);
  return false;
}

}  // namespace tilevm::sim
