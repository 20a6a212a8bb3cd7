#include "vm/picture/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "isa/inst/product.h"
#include "isa/inst/slot_table.h"
#include "sim/counting/access_meter.h"

namespace tilevm::vm {

namespace {

std::uint64_t key_of(Span span) { return (std::uint64_t{span.begin} << 32) | span.end; }

TickKind kind_of(const isa::Instruction& inst) {
  const isa::Description& description = isa::description(inst);
  const auto product = isa::product_operands(inst);
  if (product) return product->is_asynchronous() ? TickKind::async_dot : TickKind::dot;
  if (isa::is_asynchronous(inst)) return TickKind::copy;
  if (has(description.sync, isa::Sync::arrive)) return TickKind::commit;
  if (has(description.sync, isa::Sync::wait)) return TickKind::wait;
  const bool signals = has(description.sync, isa::Sync::signal);
  if (description.is_barrier() || signals || has(description.sync, isa::Sync::await)) {
    return TickKind::barrier;
  }
  return description.category == isa::Category::transfer ? TickKind::memory : TickKind::other;
}

/// The value of the slot `pending` of a wait; 0 where it has none.
std::int64_t pending_of(const isa::Instruction& inst) {
  std::int64_t pending = 0;
  isa::for_each_entry_of(inst, [&](const isa::SlotEntry& entry, std::size_t, const auto& slot) {
    if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, isa::ScalarOperand>) {
      if (entry.name == "pending") pending = slot.value.constant_int().value_or(0);
    }
  });
  return pending;
}

}  // namespace

TimelineRecorder::TimelineRecorder(const isa::VerifiedProgram& program, std::uint64_t most_ticks)
    : program_(program), most_(most_ticks), known_(program.program().kernels.size()) {
  for (std::size_t k = 0; k < known_.size(); ++k) {
    const int kernel = static_cast<int>(k);
    isa::for_each_statement(program.kernel(kernel).body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      if (inst != nullptr) known_[k].emplace(key_of(stmt.span), look_up(kernel, *inst));
    });
  }
}

TimelineRecorder::Known TimelineRecorder::look_up(int kernel, const isa::InstStmt& stmt) const {
  const bool computes = isa::description(stmt.inst).category == isa::Category::compute;
  Known known{kind_of(stmt.inst),
              computes ? FlightKind::products : FlightKind::copies,
              pending_of(stmt.inst),
              {}};
  if (program_.info(kernel).has_groups()) return known;
  const std::vector<bool> moves = sim::warps_that_move(program_, kernel, stmt);
  if (std::find(moves.begin(), moves.end(), false) == moves.end()) return known;
  for (std::size_t w = 0; w < moves.size(); ++w) {
    if (moves[w]) known.warps.push_back(static_cast<std::int64_t>(w));
  }
  return known;
}

void TimelineRecorder::advance(const Known& known, const sim::TraceEvent& event,
                               Recording& recording) {
  const auto in_flight = [&]() -> InFlight& {
    return recording.in_flight[{event.group, known.flight}];
  };
  switch (known.kind) {
    case TickKind::copy:
    case TickKind::async_dot: {
      Flight& flight = in_flight().uncommitted;
      if (flight.count++ == 0) {
        flight.begin = event.step - 1;
        flight.span = event.span;
        flight.kind = known.flight;
        flight.group = event.group;
      }
      break;
    }
    case TickKind::commit:
      in_flight().committed.push_back(std::exchange(in_flight().uncommitted, {}));
      break;
    case TickKind::wait: {
      std::vector<Flight>& committed = in_flight().committed;
      while (static_cast<std::int64_t>(committed.size()) > known.pending) {
        Flight flight = committed.front();
        committed.erase(committed.begin());
        flight.end = event.step;
        flight.waited = true;
        if (flight.count > 0) recording.timeline.flights.push_back(flight);
      }
      break;
    }
    case TickKind::other:
    case TickKind::memory:
    case TickKind::barrier:
    case TickKind::dot:
      break;
  }
}

bool TimelineRecorder::take(int kernel, const sim::TraceEvent& event) {
  const std::lock_guard lock(mutex_);
  std::vector<Recording>& launches = recordings_[{kernel, event.block}];
  // The steps of a block only grow, so an earlier one is the next launch's.
  if (launches.empty() || event.step <= launches.back().timeline.steps) {
    launches.emplace_back();
    BlockTimeline& begun = launches.back().timeline;
    begun.kernel = kernel;
    begun.launch = launches.size() - 1;
    begun.block = event.block;
  }
  Recording& recording = launches.back();
  recording.timeline.steps = event.step;
  if (event.mnemonic.empty()) return true;
  if (count_ >= most_) {
    cut_ = true;
    return false;
  }
  ++count_;
  const auto& statements = known_[static_cast<std::size_t>(kernel)];
  const auto found = statements.find(key_of(event.span));
  const Known known = found == statements.end() ? Known{} : found->second;
  recording.timeline.ticks.push_back({event.step - 1, event.span, std::string(event.mnemonic),
                                      known.kind, known.warps, event.group});
  advance(known, event, recording);
  return true;
}

Timeline TimelineRecorder::finish() {
  Timeline timeline;
  timeline.cut = cut_;
  for (auto& [key, launches] : recordings_) {
    for (Recording& recording : launches) {
      for (auto& [owner, in_flight] : recording.in_flight) {
        in_flight.committed.push_back(in_flight.uncommitted);
        for (Flight& flight : in_flight.committed) {
          flight.end = recording.timeline.steps;
          if (flight.count > 0) recording.timeline.flights.push_back(flight);
        }
      }
      timeline.blocks.push_back(std::move(recording.timeline));
    }
  }
  std::stable_sort(timeline.blocks.begin(), timeline.blocks.end(),
                   [](const BlockTimeline& a, const BlockTimeline& b) {
                     const auto rank = [](const BlockTimeline& t) {
                       return std::tuple(t.kernel, t.launch, t.block[2], t.block[1], t.block[0]);
                     };
                     return rank(a) < rank(b);
                   });
  return timeline;
}

}  // namespace tilevm::vm
