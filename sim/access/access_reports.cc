#include "sim/access/access_reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "isa/type/bits.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// Says what of a view reaches beyond its buffer: its extents, or strides that lay out few elements
/// over too much memory.
void explain_reach(const GlobalAccess& access, const TileInView& cursor, Context& context) {
  const GlobalView& view = cursor.view();
  const auto rank = static_cast<std::size_t>(view.rank);
  std::uint64_t elements = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(view.extents[d], 0));
    if (__builtin_mul_overflow(elements, extent, &elements)) elements = ~std::uint64_t{0};
  }
  const std::uint64_t held = std::uint64_t{cursor.buffer().bytes} * 8 / access.tile.bits;
  std::string note = fmt::format(
      "`{}` is viewed here; a view's extents must not reach beyond its buffer", access.view_name);
  if (elements <= held && view.layout == nullptr) {
    Coordinates dense{};
    std::int64_t stride = 1;
    for (std::size_t d = rank; d-- > 0; stride *= view.extents[d]) dense[d] = stride;
    note = fmt::format(
        "the {} elements of this view fit the buffer, which has {}, but its strides "
        "[{}] reach beyond it; dense ones are [{}]",
        elements, held, fmt::join(view.strides.begin(), view.strides.begin() + view.rank, ", "),
        fmt::join(dense.begin(), dense.begin() + view.rank, ", "));
  }
  add_note(context.fault->diagnostic, std::move(note), access.view_span);
}

}  // namespace

bool report_out_of_bounds(const GlobalAccess& access, TileInView& cursor, Context& context) {
  using Outside = Offender<std::int64_t>;  // the detail is the byte of the access
  const auto outside = find_offenders(access.parts->first_threads, access.tile.locals,
                                      [&](std::size_t t, std::size_t i) -> std::optional<Outside> {
                                        if (!cursor.locate(t, i) || cursor.in_buffer())
                                          return std::nullopt;
                                        return Outside{cursor.index(), cursor.byte()};
                                      });
  const std::size_t total = access.parts->first_threads.size() * access.tile.locals;
  context.fail(Code::out_of_bounds, access.span,
               fmt::format("`{}` touches memory outside of buffer `{}`: {} of {} elements of the "
                           "tile, first {}, at byte {} of {}",
                           access.mnemonic, cursor.buffer().name, outside.count, total,
                           element_text(access.view_name, outside.first), outside.detail,
                           cursor.buffer().bytes));
  context.fault->thread = static_cast<std::int64_t>(outside.thread);
  explain_reach(access, cursor, context);
  return false;
}

bool report_outside_view(const GlobalAccess& access, const GlobalView& view,
                         const Coordinates& index, Context& context) {
  const auto rank = static_cast<std::size_t>(view.rank);
  context.fail(Code::out_of_bounds, access.span,
               fmt::format("`{}` reaches `{}[{}]`, which lies outside of the view; its extents are "
                           "[{}]",
                           access.mnemonic, access.view_name,
                           fmt::join(index.begin(), index.begin() + rank, ", "),
                           fmt::join(view.extents.begin(), view.extents.begin() + rank, ", ")));
  add_note(context.fault->diagnostic, fmt::format("`{}` is made here", access.view_name),
           access.view_span);
  return false;
}

std::string_view advice_on_unwritten(const Context& context) {
  return context.settings.turns == nullptr
             ? "store them before"
             : "store them before, or, if another block does, lock a semaphore that it releases "
               "after its store";
}

bool report_unwritten(const GlobalAccess& access, TileInView& cursor, const std::uint8_t* mask,
                      Context& context) {
  const auto unwritten =
      find_offenders(access.tile.threads, access.tile.locals,
                     [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                       const unsigned bits = access.tile.bits;
                       if (isa::get_bits(mask, i * bits, bits) == 0) return std::nullopt;
                       static_cast<void>(cursor.locate(t, i));
                       return Offender<>{cursor.index()};
                     });
  context.fail(Code::uninitialized_read, access.span,
               fmt::format("`{}` copies {} of {} elements of `{}` that have no defined value, "
                           "first {}",
                           access.mnemonic, unwritten.count, access.tile.locals, access.view_name,
                           element_text(access.view_name, unwritten.first)));
  add_note(context.fault->diagnostic,
           fmt::format("nothing had written them; {}", advice_on_unwritten(context)),
           access.view_span);
  return false;
}

void fail_undefined_target(std::string_view mnemonic, const Span& span, std::string_view tensor,
                           std::size_t total, const Offenders<NoDetail>& found, Context& context) {
  context.fail(
      Code::uninitialized_read, span,
      fmt::format("`{}` combines with {} of {} elements of `{}` that have no defined "
                  "value, first {}",
                  mnemonic, found.count, total, tensor, element_text(tensor, found.first)));
  context.fault->thread = static_cast<std::int64_t>(found.thread);
}

bool check_memory_defined(const GlobalAccess& access, TileInView& cursor, const std::uint8_t* mask,
                          Context& context) {
  const auto found =
      find_offenders(access.parts->first_threads, access.tile.locals,
                     [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                       const bool there = cursor.locate(t, i) && cursor.in_buffer();
                       if (!there || isa::get_bits(mask, cursor.bit(), access.tile.bits) == 0)
                         return {};
                       return Offender<>{cursor.index()};
                     });
  if (found.count == 0) return true;
  fail_undefined_target(access.mnemonic, access.span, access.view_name,
                        access.parts->first_threads.size() * access.tile.locals, found, context);
  add_note(context.fault->diagnostic,
           fmt::format("nothing had written them; {}", advice_on_unwritten(context)),
           access.view_span);
  return false;
}

}  // namespace tilevm::sim
