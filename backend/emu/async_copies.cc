#include "backend/emu/async_copies.h"

#include <cstring>

#include "isa/base/check.h"

namespace tilevm::backend {
namespace {

using Landing = EmuOptions::Landing;

/// One in four copies whose moment is seeded lands whenever it might.
bool lands_now(SeededNumbers& numbers) { return numbers.below(4) == 0; }

}  // namespace

void CopyUnderWay::land() const {
  if (box) return box->move();
  std::memcpy(to, from, valid);
  std::memset(to + valid, 0, bytes - valid);
}

void ThreadCopies::clear() {
  for (OfThread& thread : all_) thread = {};
  count_ = 0;
}

void ThreadCopies::begin(unsigned thread, const CopyUnderWay& copy, SeededNumbers& numbers) {
  if (landing_ == Landing::at_once || (landing_ == Landing::seeded && lands_now(numbers))) {
    copy.land();
    return;
  }
  OfThread& own = all_[thread];
  own.under_way.push_back({own.made, copy});
  ++count_;
}

void ThreadCopies::commit(unsigned thread, SeededNumbers& numbers) {
  ++all_[thread].made;
  let_some_land(numbers);
}

void ThreadCopies::finish(unsigned thread) {
  OfThread& own = all_[thread];
  for (const Grouped& each : own.under_way) each.copy.land();
  count_ -= own.under_way.size();
  own.under_way.clear();
}

void ThreadCopies::wait(unsigned thread, unsigned pending) {
  OfThread& own = all_[thread];
  while (!own.under_way.empty() && own.under_way.front().group + pending < own.made) {
    own.under_way.front().copy.land();
    own.under_way.pop_front();
    --count_;
  }
}

void ThreadCopies::let_some_land(SeededNumbers& numbers) {
  if (landing_ != Landing::seeded || count_ == 0) return;
  for (OfThread& thread : all_) {
    count_ -= std::erase_if(thread.under_way, [&](const Grouped& each) {
      const bool lands = lands_now(numbers);
      if (lands) each.copy.land();
      return lands;
    });
  }
}

void Phases::make(unsigned barrier, unsigned arrivals) {
  all_.insert_or_assign(barrier, Barrier{Mbarrier(arrivals), {}});
}

Mbarrier::Trap Phases::expect(unsigned barrier, unsigned bytes) {
  return all_.at(barrier).state.arrive_expecting(bytes);
}

void Phases::begin(unsigned barrier, const CopyUnderWay& copy, SeededNumbers& numbers) {
  Barrier& at = all_.at(barrier);
  at.under_way.push_back(copy);
  const bool now = landing_ == Landing::seeded && lands_now(numbers);
  if (landing_ == Landing::at_once || now) land(at, at.under_way.size() - 1);
}

bool Phases::is_over(unsigned barrier, unsigned parity) {
  Barrier& at = all_.at(barrier);
  while (!at.state.is_over(parity) && !at.under_way.empty()) land(at, 0);
  return at.state.is_over(parity);
}

void Phases::let_some_land(SeededNumbers& numbers) {
  if (landing_ != Landing::seeded) return;
  for (auto& [address, barrier] : all_) {
    for (std::size_t i = barrier.under_way.size(); i-- > 0;) {
      if (lands_now(numbers)) land(barrier, i);
    }
  }
}

void Phases::land(Barrier& barrier, std::size_t index) {
  const auto at = barrier.under_way.begin() + static_cast<std::ptrdiff_t>(index);
  at->land();
  const auto trap = barrier.state.complete(static_cast<std::uint32_t>(at->bytes));
  TILEVM_CHECK(trap == Mbarrier::Trap::none, "more bytes than shared memory has");
  barrier.under_way.erase(at);
}

}  // namespace tilevm::backend
