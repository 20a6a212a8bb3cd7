// The part of an OrderCheck about what orders: barriers, memory barriers and fences.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/emu/order_check.h"

namespace tilevm::backend {

void OrderCheck::Clock::raise(std::size_t party, Time time) {
  if (party >= times_.size()) times_.resize(party + 1, 0);
  times_[party] = std::max(times_[party], time);
}

void OrderCheck::Clock::join(const Clock& other) {
  if (times_.size() < other.times_.size()) times_.resize(other.times_.size(), 0);
  for (std::size_t i = 0; i < other.times_.size(); ++i) {
    times_[i] = std::max(times_[i], other.times_[i]);
  }
}

void OrderCheck::View::join(const View& other) {
  all.join(other.all);
  visible.join(other.visible);
}

OrderCheck::View OrderCheck::released_by(unsigned warp) const {
  View view;
  const Time time = now(warp);
  view = views_[warp];
  Clock others;
  for (std::size_t party = 0; party < warps_ + mbarriers_.size(); ++party) {
    others.raise(party, party == warp ? time - 1 : view.all[party]);
  }
  view.all = others;
  return view;
}

void OrderCheck::synchronize() {
  View together;
  for (const View& view : views_) together.join(view);
  for (unsigned w = 0; w < warps_; ++w) {
    views_[w] = together;
    tick(w);
  }
}

OrderCheck::Problem OrderCheck::arrive(unsigned warp, unsigned barrier) {
  Named& at = named_[barrier];
  at.arrivals.resize(warps_, 0);
  for (unsigned w = 0; w < at.last_arrivals.size(); ++w) {
    if (at.last_arrivals[w] <= views_[warp].all[w]) continue;
    return OrderProblem{fmt::format(
        "warp {} comes to named barrier {} again, and nothing tells it that warp {} has "
        "come to it for the last time: the barrier may count this arrival for that one",
        warp, barrier, w)};
  }
  at.arrivals[warp] = now(warp);
  at.arrived.join(views_[warp]);
  tick(warp);
  return std::nullopt;
}

void OrderCheck::complete(unsigned barrier, const std::vector<unsigned>& waiting_warps) {
  Named& at = named_[barrier];
  for (const unsigned warp : waiting_warps) views_[warp].join(at.arrived);
  at.last_arrivals = std::exchange(at.arrivals, {});
  at.arrived = {};
}

void OrderCheck::fence(unsigned thread) {
  const unsigned warp = warp_of(thread);
  threads_[thread].fences.push_back(now(warp));
  View& view = views_[warp];
  for (unsigned w = 0; w < warps_; ++w) {
    view.visible.raise(w, w == warp ? now(warp) - 1 : view.all[w]);
  }
}

void OrderCheck::make_mbarrier(unsigned thread, unsigned barrier, const void* site) {
  mbarriers_[barrier] =
      Mbarrier{.party = warps_ + mbarriers_.size(),
               .maker = thread,
               .made = now(warp_of(thread)),
               .fences = static_cast<std::uint32_t>(threads_[thread].fences.size()),
               .site = site,
               .released = {},
               .waited = {}};
}

OrderCheck::Problem OrderCheck::check_use(unsigned warp, const Mbarrier& barrier) const {
  const unsigned maker = warp_of(barrier.maker);
  if (maker == warp || views_[warp].all[maker] >= barrier.made) return std::nullopt;
  return OrderProblem{
      fmt::format("warp {} uses a memory barrier that warp {} initialises, and no barrier of the "
                  "block is between them",
                  warp, maker),
      barrier.site};
}

OrderCheck::Problem OrderCheck::arrive_expecting(unsigned thread, unsigned barrier) {
  const unsigned warp = warp_of(thread);
  Mbarrier& at = mbarriers_.at(barrier);
  if (auto problem = check_use(warp, at)) return problem;
  if (views_[warp].all[at.party] < at.arrivals) {
    return OrderProblem{
        fmt::format("warp {} arrives at a memory barrier for phase {}, and nothing "
                    "tells it that phase {} is complete",
                    warp, at.arrivals, at.arrivals - 1)};
  }
  for (const auto& [waiter, wait] : at.waited) {
    if (wait.first + 1 != at.arrivals || waiter == warp) continue;
    if (views_[warp].all[waiter] >= wait.second) continue;
    return OrderProblem{fmt::format(
        "warp {} arrives at a memory barrier for phase {}, and nothing tells it that "
        "warp {} has seen the end of phase {}: that warp may wait for the parity of the "
        "next one",
        warp, at.arrivals, waiter, wait.first)};
  }
  at.released.push_back(released_by(warp));
  ++at.arrivals;
  tick(warp);
  return std::nullopt;
}

OrderCheck::Problem OrderCheck::begin_wait(unsigned thread, unsigned barrier, unsigned phase) {
  const unsigned warp = warp_of(thread);
  const Mbarrier& at = mbarriers_.at(barrier);
  if (auto problem = check_use(warp, at)) return problem;
  if (views_[warp].all[at.party] < phase) {
    return OrderProblem{fmt::format(
        "warp {} waits for phase {} of a memory barrier, and nothing tells it that phase "
        "{} is complete: the wait may end with a phase before that has the same parity",
        warp, phase, phase - 1)};
  }
  if (at.arrivals > phase + 1 && views_[warp].all[at.party] <= phase) {
    return OrderProblem{fmt::format(
        "warp {} waits for phase {} of a memory barrier, whose phase {} may be complete "
        "before: the wait would then be for the parity of a phase that never ends",
        warp, phase, phase + 1)};
  }
  return std::nullopt;
}

void OrderCheck::end_wait(unsigned thread, unsigned barrier, unsigned phase) {
  const unsigned warp = warp_of(thread);
  Mbarrier& at = mbarriers_.at(barrier);
  if (phase < at.released.size()) views_[warp].join(at.released[phase]);
  views_[warp].all.raise(at.party, phase + 1);
  at.waited[warp] = {phase, now(warp)};
}

}  // namespace tilevm::backend
