#include "sim/checks/equal_indices.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/tiles/offenders.h"

namespace tilevm::sim {

bool report_equal_indices(const IndexedStore& store, std::string_view tensor, const isa::Index& at,
                          const ElementPlace& first, const ElementPlace& second, Context& context) {
  const auto element = [&](const ElementPlace& place) {
    return fmt::format("[{}]", fmt::join(store.parts.index(place.thread, place.local), ", "));
  };
  context.fail(
      Code::race, store.span,
      fmt::format(
          "`{}` stores elements {} and {} of the tile, from threads {} and {}, in one "
          "element, {}, because their indices in `{}` are equal (the index is {}): which of "
          "them stays is not defined",
          store.mnemonic, element(first), element(second), first.thread, second.thread,
          element_text(tensor, at), store.index.index_name, at[store.index.tile.dim]));
  context.fault->thread = static_cast<std::int64_t>(second.thread);
  add_note(context.fault->diagnostic,
           may_combine(store.dtype)
               ? "give each element an index of its own, or combine those with equal ones: `op=add`"
               : fmt::format("give each element an index of its own; `op=add` combines elements of "
                             "32 and 64 bits with equal ones, but these are {}",
                             to_string(store.dtype)));
  return false;
}

}  // namespace tilevm::sim
