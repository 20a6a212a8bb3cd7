// Elements in memory with what is known of each: who wrote it, whether a copy fills it, who may see
// it.
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/access/copy_plan.h"
#include "sim/debug/access_capture.h"
#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

constexpr std::int64_t max_elements = 4096;

/// What is known of an element of shared memory, by its first bit.
struct Known {
  std::optional<std::size_t> writer;  ///< since the last barrier
  std::uint32_t statement = 0;
  const PendingCopy* copy = nullptr;
};
using KnownByBit = std::unordered_map<std::uint64_t, Known>;

/// Calls f(first bit, thread) for the elements of an access.
template <class F>
void for_each_bit(const SharedAccess& access, const TileOrigin& origin, F&& f) {
  const AccessCapture::Shared where{&access, origin, true};
  for (const std::int32_t thread : access.parts->first_threads) {
    for (std::size_t place = 0; place < access.tile.locals; ++place) {
      f(bit_of(where, {static_cast<std::size_t>(thread), place}), static_cast<std::size_t>(thread));
    }
  }
}

KnownByBit what_is_known(const SharedMemory& shared) {
  KnownByBit known;
  for (const RecentAccess& recent : shared.since_barrier.recent) {
    if (recent.kind == AccessKind::read) continue;
    for_each_bit(*recent.access, recent.origin, [&](std::uint64_t bit, std::size_t thread) {
      known[bit].writer = thread;
      known[bit].statement = recent.access->statement;
    });
  }
  for (const PendingCopy& copy : shared.copies) {
    for_each_bit(copy.plan->destination, copy.shared_origin,
                 [&](std::uint64_t bit, std::size_t) { known[bit].copy = &copy; });
  }
  return known;
}

/// The marks of a granule, where accesses came so near that there are marks.
void look_at_marks(const SharedMemory& shared, std::uint64_t bit, unsigned shift, Known& known) {
  const SharedHistory& history = shared.since_barrier;
  const std::uint64_t granule = bit / 8 >> shift;
  if (granule >= history.records.size()) return;
  const AccessRecord& record = history.records[granule];
  if (record.epoch != history.epoch) return;
  const bool combined = record.writers[0] == AccessRecord::nobody;
  const std::uint16_t writer = combined ? record.combiners[0] : record.writers[0];
  if (writer == AccessRecord::nobody || writer == AccessRecord::any_thread) return;
  known.writer = writer;
  known.statement = combined ? record.combining : record.writing;
}

}  // namespace

Reply Session::run(const command::Memory& request) {
  const Result<Tensor> tensor = names().tensor(request.what.tensor);
  if (!tensor) return tensor.error();
  if (std::holds_alternative<RegisterPlace>(tensor->place)) {
    return Error{ErrorKind::usage, fmt::format("`{}` is in registers; `print {}` shows it",
                                               tensor->name, request.what.text)};
  }
  const Result<Part> part = resolve(request.what, *tensor);
  if (!part) return part.error();
  const std::int64_t count = isa::element_count(part->extents);
  if (count > max_elements) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` has {} elements; name at most {}, as {}[0, 0:8]",
                             request.what.text, count, max_elements, tensor->name)};
  }
  reply::MemoryShown shown{
      request.what.text,
      fmt::format("{}[{}]", isa::to_string(tensor->dtype), fmt::join(tensor->shape, ", ")),
      tensor->dtype,
      std::holds_alternative<SharedPlace>(tensor->place),
      {}};
  const BlockState* block = focus_block();
  KnownByBit known;
  if (shown.shared) known = what_is_known(block->shared);
  for (std::int64_t k = 0; k < count; ++k) {
    reply::MemoryElement element;
    element.index = index_in(*part, k);
    element.bit = tensor->bit_of(element.index).value_or(0);
    element.element = tensor->read(block, element.index);
    if (shown.shared) {
      Known state = known.contains(element.bit) ? known[element.bit] : Known{};
      if (!state.writer) {
        look_at_marks(block->shared, element.bit, machine().launch().plan().granule_shift, state);
      }
      element.visible = !state.writer;
      if (state.writer) {
        element.writer = static_cast<std::int64_t>(*state.writer);
        const auto& statement = machine().launch().plan().memory_statements[state.statement];
        element.line = source_line(spec_.program.source(), statement.span.begin);
      }
      if (state.copy != nullptr) {
        element.in_flight = true;
        element.group = state.copy->group;
        element.visible = false;
        element.line =
            source_line(spec_.program.source(), state.copy->plan->destination.span.begin);
      }
    }
    shown.elements.push_back(std::move(element));
  }
  return shown;
}

}  // namespace tilevm::sim::debug
