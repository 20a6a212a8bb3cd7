#include "sim/debug/outside_view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "isa/program/tile_move.h"
#include "sim/debug/provenance.h"

namespace tilevm::sim::debug {
namespace {

/// What one question may cost: stores to global memory that are made again, and elements of stores
/// to shared memory that are compared.
constexpr std::size_t most_writers = 64, most_compared = std::size_t{1} << 24;

bool is_same_place(const Trail& a, const Trail& b) {
  return a.space == b.space && a.launch == b.launch && a.rank == b.rank && a.var == b.var &&
         a.buffer == b.buffer;
}

}  // namespace

std::vector<OutsideElement> OutsideSearch::find(std::vector<Trail> trails) {
  const Moment origin = timeline_.now();
  found_.clear();
  found_.resize(trails.size());
  for (std::size_t k = 0; k < trails.size(); ++k) add(origin, k, std::move(trails[k]));
  while (!groups_.empty() && timeline_.tick()) {
    Group group = std::move(groups_.back());
    groups_.pop_back();
    timeline_.go_back_to(group.moment);
    switch (group.trails.front().second.space) {
      case Trail::Space::registers:
        follow_registers(group);
        break;
      case Trail::Space::shared:
        follow_shared(group);
        break;
      case Trail::Space::global:
        follow_global(group);
        break;
      case Trail::Space::scalar:
        break;
    }
  }
  groups_.clear();
  timeline_.go_back_to(origin);
  std::vector<OutsideElement> result;
  for (std::size_t k = 0; k < found_.size(); ++k) {
    if (found_[k]) result.push_back({k, std::move(*found_[k])});
  }
  return result;
}

/// Trails of one place at one moment are followed together.
void OutsideSearch::add(Moment moment, std::size_t number, Trail trail) {
  if (trail.bits.empty()) return;
  const auto known = std::ranges::find_if(groups_, [&](const Group& group) {
    return group.moment == moment && is_same_place(group.trails.front().second, trail);
  });
  if (known != groups_.end()) {
    known->trails.emplace_back(number, std::move(trail));
  } else {
    groups_.push_back({moment, {{number, std::move(trail)}}});
  }
}

void OutsideSearch::follow_registers(Group& group) {
  Trail& first = group.trails.front().second;
  if (!first.var.valid()) {  // a store to memory: its operand has the elements
    const isa::InstStmt* stmt = provenance_.next_instruction();
    const auto move = stmt != nullptr ? isa::tile_move(*stmt) : std::nullopt;
    const auto* store = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
    if (store == nullptr) return;
    first.var = store->tile;
  }
  // A View may share the registers of its source: `first` then becomes the tile that was written.
  const Moment last = provenance_.last_write(first);
  if (last == 0) return;
  timeline_.go_back_to(last - 1);
  const isa::VarId var = first.var;
  const DataFlow& flow = machine().launch().plan().records[machine().next_record()].flow;
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(var).type);
  if (flow.kind == DataFlow::Kind::loaded) {
    const AccessCapture load = provenance_.capture_step().capture;
    for (auto& [number, trail] : group.trails) follow_load(number, trail, load, type.dtype.bits);
    return;
  }
  for (auto& [number, trail] : group.trails) {
    if (flow.kind == DataFlow::Kind::viewed) {
      trail.var = flow.viewed;
      add(last - 1, number, std::move(trail));
    } else if (flow.kind == DataFlow::Kind::moved) {
      const std::size_t place = trail.bits.front().begin / type.dtype.bits;
      const std::vector<ElementSource> sources = flow.sources(trail.thread, place);
      if (!sources.empty()) add(last - 1, number, provenance_.of_element(sources.front(), trail));
    }
  }
}

/// The machine is before the load.
void OutsideSearch::follow_load(std::size_t number, const Trail& trail, const AccessCapture& load,
                                unsigned element_bits) {
  Trail next = trail;
  next.bits.clear();
  for_each_element(
      trail.bits, element_bits, [&](std::size_t place, std::uint64_t first, std::uint64_t count) {
        const MovedElement element{trail.thread, place};
        if (load.in_shared) {
          append(next.bits, bit_of(*load.in_shared, element) + first, count);
        } else if (const auto outside = outside_view(load, element)) {
          if (!found_[number]) found_[number] = outside;
        } else if (const auto bit =
                       load.in_global ? bit_of(*load.in_global, element) : std::nullopt) {
          append(next.bits, *bit + first, count);
        }
      });
  if (found_[number]) return;
  next.var = {};
  next.space = load.in_shared ? Trail::Space::shared : Trail::Space::global;
  next.buffer = load.in_shared ? nullptr : load.buffer;
  add(timeline_.now(), number, std::move(next));
}

/// The first bits of trails in memory, with their numbers in the group.
OutsideSearch::Wanted OutsideSearch::wanted(const Group& group) {
  Wanted bits;
  for (std::size_t k = 0; k < group.trails.size(); ++k) {
    bits.emplace_back(group.trails[k].second.bits.front().begin, k);
  }
  std::ranges::sort(bits);
  return bits;
}

/// The machine is after a step that wrote memory. The elements that it wrote become what they were
/// copied from.
void OutsideSearch::note(const AccessCapture& capture, bool in_shared, const Wanted& wanted,
                         Moment before, std::vector<std::optional<Source>>& sources) {
  const auto look = [&](const auto& access, const MovedElement& element,
                        std::optional<std::uint64_t> begin) {
    if (!begin) return;
    const unsigned n = access.tile.bits;
    auto next = std::ranges::lower_bound(wanted, std::pair{*begin, std::size_t{0}});
    for (; next != wanted.end() && next->first < *begin + n; ++next) {
      const std::uint64_t shift = next->first - *begin;
      sources[next->second] = source_of(capture, element, n, shift, before);
    }
  };
  const auto each = [&](const auto& access, auto&& bit) {
    compared_ += access.parts->first_threads.size() * access.tile.locals;
    for (const std::int32_t thread : access.parts->first_threads) {
      for (std::size_t place = 0; place < access.tile.locals; ++place) {
        const MovedElement element{static_cast<std::size_t>(thread), place};
        look(access, element, bit(element));
      }
    }
  };
  if (in_shared) {
    each(*capture.in_shared->access, [&](const MovedElement& element) {
      return std::optional(bit_of(*capture.in_shared, element));
    });
  } else {
    each(*capture.in_global->access,
         [&](const MovedElement& element) { return bit_of(*capture.in_global, element); });
  }
}

/// Where a store or a copy took a written element from.
OutsideSearch::Source OutsideSearch::source_of(const AccessCapture& capture,
                                               const MovedElement& element, unsigned bits,
                                               std::uint64_t shift, Moment before) {
  Source source{before, {}, {}};
  Trail& trail = source.trail;
  if (capture.combines() || capture.orders_blocks()) return source;  // no copy
  trail.launch = machine().launch_index();
  if (capture.in_shared && capture.in_global) {
    source.outside = outside_view(capture, element);
    trail.space = Trail::Space::global;
    trail.buffer = capture.buffer;
    if (const auto bit = bit_of(*capture.in_global, element)) {
      append(trail.bits, *bit + shift, bits - shift);
    }
  } else {
    trail.space = Trail::Space::registers;
    trail.thread = element.thread;
    append(trail.bits, element.place * bits + shift, bits - shift);
  }
  return source;
}

void OutsideSearch::follow_shared(Group& group) {
  const Trail& first = group.trails.front().second;
  const auto resident = provenance_.resident_of(first);
  if (!resident || compared_ > most_compared) return;
  const Moment began = machine().state().residents[*resident]->began;
  std::vector<std::optional<Source>> sources(group.trails.size()), latest(group.trails.size());
  const Wanted bits = wanted(group);
  AccessCapture capture;
  std::uint64_t stepped = 0;
  bool known = false;
  machine().writes().listener = &capture;
  const auto visit = [&](bool is_first, bool is_last) -> std::optional<Moment> {
    const Moment now = timeline_.now();
    if (!is_first && known && stepped == first.rank && now > began && capture.in_shared &&
        capture.in_shared->writes) {
      note(capture, true, bits, now - 1, latest);
    }
    capture.clear();
    known = machine().has_current();
    if (known) stepped = machine().current().rank;
    if (!is_last) return std::nullopt;
    // Intervals come latest first.
    bool all = true;
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (!sources[k]) sources[k] = latest[k];
      all = all && sources[k];
      latest[k].reset();
    }
    return all || compared_ > most_compared ? std::optional(now) : std::nullopt;
  };
  static_cast<void>(timeline_.search_back(visit, began));
  machine().writes().listener = nullptr;
  add_sources(group, sources);
}

void OutsideSearch::follow_global(Group& group) {
  std::vector<std::optional<Source>> sources(group.trails.size());
  const Wanted bits = wanted(group);
  const Moment present = timeline_.now();
  const std::vector<GlobalWrite>& history = machine().writes().history;
  for (std::size_t h = history.size(); h-- > 0 && writers_ < most_writers;) {
    const GlobalWrite write = history[h];
    if (write.moment > present) continue;
    const auto is_wanted = [&](std::size_t k) {
      const Trail& trail = group.trails[k].second;
      return !sources[k] && write.may_include(trail.buffer, trail.bits.front().begin / 8);
    };
    bool any = false;
    for (std::size_t k = 0; k < sources.size() && !any; ++k) any = is_wanted(k);
    if (!any) continue;
    ++writers_;
    timeline_.go_back_to(write.moment - 1);
    const AccessCapture capture = provenance_.capture_step().capture;
    if (!capture.in_global || !sim::writes(capture.in_global->use)) continue;
    std::vector<std::optional<Source>> made(sources.size());
    note(capture, false, bits, write.moment - 1, made);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (!sources[k] && made[k]) {
        sources[k] = std::move(made[k]);
        sources[k]->trail.rank = machine().current().rank;
      }
    }
  }
  add_sources(group, sources);
}

void OutsideSearch::add_sources(const Group& group, std::vector<std::optional<Source>>& sources) {
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (!sources[k]) continue;
    const auto& [number, trail] = group.trails[k];
    if (sources[k]->outside) {
      found_[number] = std::move(sources[k]->outside);
      continue;
    }
    Trail& next = sources[k]->trail;
    if (trail.space == Trail::Space::shared) {
      next.launch = trail.launch;
      next.rank = trail.rank;
    }
    add(sources[k]->before, number, std::move(next));
  }
}

std::optional<reply::OutsideView> outside_view(const AccessCapture& capture,
                                               const MovedElement& element) {
  if (!capture.in_global) return std::nullopt;
  const GlobalFootprint& footprint = *capture.in_global;
  isa::Index index = index_of(footprint, element);
  if (is_inside(footprint, index)) return std::nullopt;
  if (footprint.origin.places) index.clear();  // which has no number of an element outside
  const auto& extents = footprint.view.extents;
  return reply::OutsideView{footprint.access->view_name,
                            isa::Shape(extents.begin(), extents.begin() + footprint.view.rank),
                            std::move(index)};
}

}  // namespace tilevm::sim::debug
