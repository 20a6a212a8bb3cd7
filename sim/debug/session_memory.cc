// Elements in memory with what is known of each: who wrote it, whether a copy fills it, who may see
// it.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/access/copy_plan.h"
#include "sim/debug/access_capture.h"
#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

constexpr std::int64_t max_elements = 4096;

/// A thread that read an element since the last barrier, and the statement by which it did.
struct KnownReader {
  std::size_t thread = 0;
  std::uint32_t statement = 0;
  friend bool operator==(const KnownReader&, const KnownReader&) = default;
};

/// What is known of an element of memory, by its first bit.
struct Known {
  std::optional<std::size_t> writer;  ///< thread that wrote it since the last barrier
  std::uint32_t statement = 0;
  const PendingCopy* copy = nullptr;
  std::vector<KnownReader> readers;
  std::size_t more_readers = 0;

  void add_reader(const KnownReader& reader) {
    constexpr std::size_t most = 3;
    if (std::ranges::find(readers, reader) != readers.end()) return;
    if (readers.size() < most) {
      readers.push_back(reader);
    } else {
      ++more_readers;
    }
  }
};
using KnownByBit = std::unordered_map<std::uint64_t, Known>;

/// Calls f(first bit, thread) for the elements of an access that are in memory; of replicas the
/// first.
template <class F>
void for_each_bit(const AccessCapture::Shared& where, F&& f) {
  for (const std::int32_t thread : where.access->parts->first_threads) {
    for (std::size_t place = 0; place < where.access->tile.locals; ++place) {
      f(bit_of(where, {static_cast<std::size_t>(thread), place}), static_cast<std::size_t>(thread));
    }
  }
}
template <class F>
void for_each_bit(const GlobalFootprint& where, F&& f) {
  for (const std::int32_t thread : where.access->parts->first_threads) {
    for (std::size_t place = 0; place < where.access->tile.locals; ++place) {
      const auto bit = bit_of(where, {static_cast<std::size_t>(thread), place});
      if (bit) f(*bit, static_cast<std::size_t>(thread));
    }
  }
}

/// Adds what one access since the last barrier did to elements.
template <class Access>
void add_access(const Access& where, AccessKind kind, std::uint32_t statement, KnownByBit& known) {
  for_each_bit(where, [&](std::uint64_t bit, std::size_t thread) {
    if (kind == AccessKind::read) {
      known[bit].add_reader({thread, statement});
    } else {
      known[bit].writer = thread;
      known[bit].statement = statement;
    }
  });
}

KnownByBit what_is_known(const SharedMemory& shared) {
  KnownByBit known;
  for (const RecentAccess& recent : shared.since_barrier.recent) {
    add_access(AccessCapture::Shared{recent.access, recent.origin, true}, recent.kind,
               recent.access->statement, known);
  }
  for (const PendingCopy& copy : shared.copies) {
    for_each_bit(AccessCapture::Shared{&copy.plan->destination, copy.shared_origin, true},
                 [&](std::uint64_t bit, std::size_t) { known[bit].copy = &copy; });
  }
  return known;
}

/// What the block in focus did with a buffer of global memory since its last barrier.
KnownByBit what_is_known(const BufferHistory& history) {
  KnownByBit known;
  for (const GlobalFootprint& recent : history.recent) {
    add_access(recent, kind_of(recent.use), recent.access->statement, known);
  }
  return known;
}

/// The marks of a granule, where accesses came so near that there are marks.
void look_at_marks(const AccessRecord& record, Known& known) {
  for (std::size_t i = 0; i < record.readers.size(); ++i) {
    const std::uint16_t reader = record.readers[i];
    if (reader == AccessRecord::nobody || reader == AccessRecord::any_thread) continue;
    known.add_reader({reader, record.reading[i]});
  }
  if (known.writer) return;
  const bool combined = record.writers[0] == AccessRecord::nobody;
  const std::uint16_t writer = combined ? record.combiners[0] : record.writers[0];
  if (writer == AccessRecord::nobody || writer == AccessRecord::any_thread) return;
  known.writer = writer;
  known.statement = combined ? record.combining : record.writing;
}

void look_at_marks(const SharedMemory& shared, std::uint64_t bit, unsigned shift, Known& known) {
  const SharedHistory& history = shared.since_barrier;
  const std::uint64_t granule = bit / 8 >> shift;
  if (granule >= history.records.size()) return;
  const AccessRecord& record = history.records[granule];
  if (record.epoch == history.epoch) look_at_marks(record, known);
}

/// The elements that a command names: a part of a tensor, or so many from its first one on.
Result<std::vector<isa::Index>> named_elements(const command::Memory& request,
                                               const Tensor& tensor) {
  const Result<Part> part = resolve(request.what, tensor);
  if (!part) return part.error();
  const std::int64_t count =
      request.count ? std::min(*request.count, max_elements) : isa::element_count(part->extents);
  if (count > max_elements) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` has {} elements; name at most {}, as {}[0, 0:8]",
                             request.what.text, count, max_elements, tensor.name)};
  }
  std::vector<isa::Index> found;
  if (!request.count) {
    for (std::int64_t k = 0; k < count; ++k) found.push_back(index_in(*part, k));
    return found;
  }
  std::int64_t first = 0;
  for (std::size_t d = 0; d < part->origin.size(); ++d) {
    first = first * tensor.shape[d] + part->origin[d];
  }
  const std::int64_t end = std::min(first + count, isa::element_count(tensor.shape));
  for (std::int64_t k = first; k < end; ++k) found.push_back(isa::unravel(k, tensor.shape));
  return found;
}

/// What is known of an element, in words of a reply.
void describe(const Known& state, const PreparedLaunch& launch, const SourceFile& source,
              reply::MemoryElement& element) {
  const auto line_of = [&](std::uint32_t number) {
    return source_line(source, launch.plan().memory_statements[number].span.begin);
  };
  element.visible = !state.writer;
  if (state.writer) {
    element.writer = static_cast<std::int64_t>(*state.writer);
    element.line = line_of(state.statement);
  }
  for (const KnownReader& reader : state.readers) {
    element.readers.push_back(
        {static_cast<std::int64_t>(reader.thread), line_of(reader.statement)});
  }
  element.more_readers = state.more_readers;
  if (state.copy == nullptr) return;
  element.in_flight = true;
  element.group = state.copy->group;
  element.visible = false;
  element.line = source_line(source, state.copy->plan->destination.span.begin);
}

}  // namespace

namespace {

/// Keeps the accesses of one step. What is run again after its fault are earlier steps.
class StepCapture final : public AccessObserver {
 public:
  StepCapture(const WriteLog& log, Moment moment) : log_(log), moment_(moment) {}

  void global(const GlobalFootprint& footprint, const Context& context) override {
    if (log_.moment == moment_) access.global(footprint, context);
  }
  void shared(const SharedAccess& tile, const TileOrigin& origin, bool is_write,
              const Context& context) override {
    if (log_.moment == moment_) access.shared(tile, origin, is_write, context);
  }

  AccessCapture access;

 private:
  const WriteLog& log_;
  Moment moment_;
};

}  // namespace

/// At a fault: the elements that the statement is about to touch, and its line.
void Session::add_next_access(const Tensor& tensor,
                              std::map<std::uint64_t, std::vector<std::int64_t>>& threads,
                              reply::MemoryShown& shown) {
  if (fault_at_ != timeline_->now() || !machine().has_current()) return;
  const SourceLine line = position_of(machine().state().position).line;
  StepCapture step(machine().writes(), *fault_at_ + 1);
  machine().writes().listener = &step;
  static_cast<void>(timeline_->step());
  machine().writes().listener = nullptr;
  timeline_->go_back_to(*fault_at_);
  const AccessCapture& capture = step.access;
  const auto add = [&](std::uint64_t bit, std::size_t thread) {
    constexpr std::size_t most = 4;
    std::vector<std::int64_t>& found = threads[bit];
    if (found.size() < most) found.push_back(static_cast<std::int64_t>(thread));
  };
  const auto* global = std::get_if<GlobalPlace>(&tensor.place);
  if (global == nullptr && capture.in_shared) {
    for_each_bit(*capture.in_shared, add);
    shown.next_writes = capture.in_shared->writes;
  } else if (global != nullptr && capture.in_global && capture.buffer == global->buffer.data) {
    for_each_bit(*capture.in_global, add);
    shown.next_writes = sim::writes(capture.in_global->use);
  } else {
    return;
  }
  shown.next_line = line;
}

Reply Session::run(const command::Memory& request) {
  const Result<Tensor> tensor = names().tensor(request.what.tensor);
  if (!tensor) return tensor.error();
  if (std::holds_alternative<RegisterPlace>(tensor->place)) {
    return Error{ErrorKind::usage, fmt::format("`{}` is in registers; `print {}` shows it",
                                               tensor->name, request.what.text)};
  }
  const Result<std::vector<isa::Index>> indices = named_elements(request, *tensor);
  if (!indices) return indices.error();
  reply::MemoryShown shown{
      request.what.text,
      fmt::format("{}[{}]", isa::to_string(tensor->dtype), fmt::join(tensor->shape, ", ")),
      tensor->dtype,
      std::holds_alternative<SharedPlace>(tensor->place),
      {},
      {},
      false};
  std::map<std::uint64_t, std::vector<std::int64_t>> next;
  add_next_access(*tensor, next, shown);
  const BlockState* block = focus_block();
  KnownByBit known;
  const std::unordered_map<std::uint64_t, AccessRecord>* marks = nullptr;  // of a global buffer
  if (shown.shared) {
    known = what_is_known(block->shared);
  } else if (block != nullptr) {
    const auto& view = std::get_if<GlobalPlace>(&tensor->place)->view;
    const auto buffer = static_cast<std::size_t>(view.buffer);
    const std::vector<BufferHistory>& history = block->global.since_barrier;
    if (view.buffer >= 0 && buffer < history.size()) {
      known = what_is_known(history[buffer]);
      marks = &history[buffer].marks;
    }
  }
  for (const isa::Index& index : *indices) {
    reply::MemoryElement element;
    element.index = index;
    element.bit = tensor->bit_of(index).value_or(0);
    element.element = tensor->read(block, index);
    if (next.contains(element.bit)) element.next_threads = next[element.bit];
    Known state = known.contains(element.bit) ? known[element.bit] : Known{};
    if (shown.shared) {
      look_at_marks(block->shared, element.bit, machine().launch().plan().granule_shift, state);
    } else if (marks != nullptr) {
      const unsigned shift = machine().launch().plan().global_granule_shift;
      const auto found = marks->find(element.bit / 8 >> shift);
      if (found != marks->end()) look_at_marks(found->second, state);
    }
    if (block != nullptr) describe(state, machine().launch(), spec_.program.source(), element);
    shown.elements.push_back(std::move(element));
  }
  return shown;
}

}  // namespace tilevm::sim::debug
