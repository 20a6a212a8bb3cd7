#include "backend/emu/order_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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

OrderCheck::OrderCheck(unsigned threads, std::size_t shared_bytes)
    : warps_((threads + 31) / 32), threads_(threads), bytes_(shared_bytes) {
  reads_.resize((shared_bytes + granule_bytes - 1) / granule_bytes * warps_);
  clear();
}

void OrderCheck::clear() {
  views_.assign(warps_, {});
  for (unsigned w = 0; w < warps_; ++w) views_[w].all.raise(w, 1);
  for (OfThread& thread : threads_) thread = {};
  std::fill(bytes_.begin(), bytes_.end(), Byte{});
  std::fill(reads_.begin(), reads_.end(), LastRead{});
  mbarriers_.clear();
  named_.clear();
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

bool OrderCheck::is_after_write(unsigned warp, const Byte& byte) const {
  switch (byte.kind) {
    case Byte::Kind::untouched:
      return true;
    case Byte::Kind::store:
    case Byte::Kind::update: {
      const unsigned writer = warp_of(byte.thread);
      return writer == warp || views_[warp].all[writer] >= byte.written;
    }
    case Byte::Kind::piece:
      return false;  // under way
    case Byte::Kind::bulk: {
      const auto barrier = mbarriers_.find(byte.fences);
      return barrier != mbarriers_.end() && views_[warp].all[barrier->second.party] >= byte.written;
    }
  }
  return true;
}

bool OrderCheck::is_visible_to_copies(unsigned warp, unsigned writer, Time written,
                                      std::uint32_t fences) const {
  const unsigned of = warp_of(writer);
  if (views_[warp].visible[of] >= written) return true;
  const std::vector<Time>& own = threads_[writer].fences;
  return fences < own.size() && (of == warp || views_[warp].all[of] >= own[fences]);
}

OrderProblem OrderCheck::unordered_write(unsigned warp, const Byte& byte, std::size_t at,
                                         std::string_view what) const {
  switch (byte.kind) {
    case Byte::Kind::bulk:
      return {fmt::format("warp {} {} byte {} of shared memory, where a bulk copy may still write: "
                          "nothing tells the warp that the copy's phase is complete",
                          warp, what, at),
              code_at(byte.site)};
    case Byte::Kind::piece:
      return {fmt::format("warp {} {} byte {} of shared memory, where a copy of thread {} is under "
                          "way",
                          warp, what, at, byte.thread),
              code_at(byte.site)};
    case Byte::Kind::untouched:
    case Byte::Kind::store:
    case Byte::Kind::update:
      break;
  }
  return {
      fmt::format("warp {} {} byte {} of shared memory, which warp {} writes, and no barrier is "
                  "between them",
                  warp, what, at, warp_of(byte.thread)),
      code_at(byte.site)};
}

OrderCheck::Problem OrderCheck::touch(unsigned thread, std::size_t at, std::size_t bytes,
                                      Touch touch, const void* site) {
  const unsigned warp = warp_of(thread);
  const Time time = now(warp);
  const Site number = number_of(site);
  for (std::size_t i = at; i < at + bytes; ++i) {
    Byte& byte = bytes_[i];
    const bool stored = byte.kind == Byte::Kind::store || byte.kind == Byte::Kind::update;
    // Threads that hold one element store it alike, and updates of one byte have any order.
    const bool skips = stored && (touch != Touch::read || byte.kind == Byte::Kind::update);
    if (!skips && !is_after_write(warp, byte)) {
      return unordered_write(warp, byte, i, touch == Touch::read ? "reads" : "writes");
    }
    if (touch == Touch::read) {
      if (byte.readers > 0 && byte.reader[0] != warp) {
        byte.reader[1] = byte.reader[0];
        byte.read[1] = byte.read[0];
        byte.readers = 2;
      }
      byte.readers = std::max<std::uint8_t>(byte.readers, 1);
      byte.reader[0] = static_cast<std::uint8_t>(warp);
      byte.read[0] = time;
      byte.read_site = number;
      continue;
    }
    for (std::uint8_t r = 0; r < byte.readers && touch == Touch::write; ++r) {
      if (byte.reader[r] == warp || views_[warp].all[byte.reader[r]] >= byte.read[r]) continue;
      return OrderProblem{
          fmt::format("warp {} writes byte {} of shared memory, which warp {} reads, "
                      "and no barrier is between them",
                      warp, i, byte.reader[r]),
          code_at(byte.read_site)};
    }
  }
  if (touch == Touch::read) {
    for (std::size_t i = at / granule_bytes; i <= (at + bytes - 1) / granule_bytes; ++i) {
      reads_[i * warps_ + warp] = {time, number};
    }
  } else {
    note_write(at, bytes, touch == Touch::write ? Byte::Kind::store : Byte::Kind::update, thread,
               number);
  }
  return std::nullopt;
}

void OrderCheck::note_write(std::size_t at, std::size_t bytes, Byte::Kind kind, unsigned thread,
                            Site site) {
  const Time time = now(warp_of(thread));
  const auto fences = static_cast<std::uint32_t>(threads_[thread].fences.size());
  for (std::size_t i = at; i < at + bytes; ++i) {
    bytes_[i] = Byte{.kind = kind,
                     .thread = static_cast<std::uint16_t>(thread),
                     .written = time,
                     .fences = fences,
                     .site = site};
  }
}

OrderCheck::Problem OrderCheck::begin_piece(unsigned thread, std::size_t at, std::size_t bytes,
                                            const void* site) {
  if (auto problem = touch(thread, at, bytes, Touch::write, site)) return problem;
  note_write(at, bytes, Byte::Kind::piece, thread, number_of(site));
  threads_[thread].pieces.push_back({at, bytes, threads_[thread].groups});
  return std::nullopt;
}

void OrderCheck::commit_pieces(unsigned thread) { ++threads_[thread].groups; }

void OrderCheck::wait_for_pieces(unsigned thread, std::size_t pending) {
  OfThread& own = threads_[thread];
  std::erase_if(own.pieces, [&](const Piece& piece) {
    if (piece.group + pending >= own.groups) return false;
    note_write(piece.at, piece.bytes, Byte::Kind::store, thread, bytes_[piece.at].site);
    return true;
  });
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

OrderCheck::Problem OrderCheck::begin_bulk(unsigned thread, std::size_t at, std::size_t bytes,
                                           unsigned barrier, unsigned phase, const void* site) {
  const unsigned warp = warp_of(thread);
  const Mbarrier& counts = mbarriers_.at(barrier);
  if (auto problem = check_use(warp, counts)) return problem;
  if (!is_visible_to_copies(warp, counts.maker, counts.made, counts.fences)) {
    return OrderProblem{
        "a bulk copy is counted by a memory barrier whose initialisation no "
        "fence.proxy.async makes visible to copies",
        counts.site};
  }
  if (views_[warp].all[counts.party] < phase) {
    return OrderProblem{fmt::format(
        "warp {} issues a bulk copy for phase {} of a memory barrier, and nothing tells "
        "it that phase {} is complete: the barrier may count its bytes for that one",
        warp, phase, phase - 1)};
  }
  for (std::size_t i = at; i < at + bytes; ++i) {
    const Byte& byte = bytes_[i];
    if (!is_after_write(warp, byte)) return unordered_write(warp, byte, i, "copies in bulk to");
    const bool stored = byte.kind == Byte::Kind::store || byte.kind == Byte::Kind::update;
    if (stored && !is_visible_to_copies(warp, byte.thread, byte.written, byte.fences)) {
      return OrderProblem{
          fmt::format(
              "a bulk copy overwrites byte {} of shared memory, which thread {} stored, and "
              "no fence.proxy.async is between them: the store may come later",
              i, byte.thread),
          code_at(byte.site)};
    }
  }
  for (std::size_t g = at / granule_bytes; g <= (at + bytes - 1) / granule_bytes; ++g) {
    for (unsigned w = 0; w < warps_; ++w) {
      const LastRead& last = reads_[g * warps_ + w];
      if (w == warp || views_[warp].all[w] >= last.time) continue;
      return OrderProblem{
          fmt::format(
              "warp {} copies in bulk to byte {} of shared memory, which warp {} reads, and "
              "nothing orders the copy after the read",
              warp, g * granule_bytes, w),
          code_at(last.site)};
    }
  }
  const Site number = number_of(site);
  for (std::size_t i = at; i < at + bytes; ++i) {
    bytes_[i] = Byte{.kind = Byte::Kind::bulk,
                     .thread = static_cast<std::uint16_t>(thread),
                     .written = phase + 1,
                     .fences = barrier,
                     .site = number};
  }
  return std::nullopt;
}

OrderCheck::Problem OrderCheck::end() const {
  for (const Byte& byte : bytes_) {
    if (byte.kind != Byte::Kind::bulk) continue;
    const auto barrier = mbarriers_.find(byte.fences);
    const auto knows = [&](const View& view) {
      return barrier != mbarriers_.end() && view.all[barrier->second.party] >= byte.written;
    };
    if (std::any_of(views_.begin(), views_.end(), knows)) continue;
    return OrderProblem{"the block ends while a bulk copy into its shared memory may be under way",
                        code_at(byte.site)};
  }
  return std::nullopt;
}

}  // namespace tilevm::backend
