#include "sim/checks/defined_elements.h"

#include <optional>

#include <fmt/format.h>

#include "sim/tiles/offenders.h"

namespace tilevm::sim {

bool check_defined(std::string_view mnemonic, Span span, std::string_view name, const Tile& tile,
                   const LayoutParts& parts, Context& context, const ElementFilter& matters) {
  const UndefinedRegisters& undefined = context.state.undefined;
  if (context.settings.checks.padding || !undefined.marked(tile)) return true;
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
