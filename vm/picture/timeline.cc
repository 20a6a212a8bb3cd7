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
  if (isa::product_operands(inst)) return TickKind::dot;
  if (isa::is_asynchronous(inst)) return TickKind::copy;
  if (has(description.sync, isa::Sync::arrive)) return TickKind::commit;
  if (has(description.sync, isa::Sync::wait)) return TickKind::wait;
  if (description.is_barrier()) return TickKind::barrier;
  return description.category == isa::Category::transfer ? TickKind::memory : TickKind::other;
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
  Known known{kind_of(stmt.inst), 0, {}};
  if (const auto* wait = std::get_if<isa::CopyAsyncWaitGroup>(&stmt.inst)) {
    if (const auto value = wait->pending.value.constant_int()) known.pending = *value;
  }
  const std::vector<bool> moves = sim::warps_that_move(program_, kernel, stmt);
  if (std::find(moves.begin(), moves.end(), false) == moves.end()) return known;
  for (std::size_t w = 0; w < moves.size(); ++w) {
    if (moves[w]) known.warps.push_back(static_cast<std::int64_t>(w));
  }
  return known;
}

void TimelineRecorder::advance(const Known& known, std::uint64_t step, Span span,
                               Recording& recording) const {
  switch (known.kind) {
    case TickKind::copy:
      if (recording.uncommitted.copies++ == 0) {
        recording.uncommitted.begin = step - 1;
        recording.uncommitted.span = span;
      }
      break;
    case TickKind::commit:
      recording.open.push_back(std::exchange(recording.uncommitted, {}));
      break;
    case TickKind::wait:
      while (static_cast<std::int64_t>(recording.open.size()) > known.pending) {
        Flight flight = recording.open.front();
        recording.open.erase(recording.open.begin());
        flight.end = step;
        flight.waited = true;
        if (flight.copies > 0) recording.timeline.flights.push_back(flight);
      }
      break;
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
  recording.timeline.ticks.push_back(
      {event.step - 1, event.span, std::string(event.mnemonic), known.kind, known.warps});
  advance(known, event.step, event.span, recording);
  return true;
}

Timeline TimelineRecorder::finish() {
  Timeline timeline;
  timeline.cut = cut_;
  for (auto& [key, launches] : recordings_) {
    for (Recording& recording : launches) {
      if (recording.uncommitted.copies > 0) recording.open.push_back(recording.uncommitted);
      for (Flight& flight : recording.open) {
        flight.end = recording.timeline.steps;
        if (flight.copies > 0) recording.timeline.flights.push_back(flight);
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
