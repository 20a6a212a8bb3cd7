#include "backend/emu/order_check.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilevm::backend {

OrderCheck::OrderCheck(unsigned threads, std::size_t shared_bytes)
    : warps_((threads + 31) / 32), threads_(threads) {
  const std::size_t granules = (shared_bytes + granule_bytes - 1) / granule_bytes;
  bytes_.resize(granules * granule_bytes);
  alike_.resize(granules);
  reads_.resize(granules * warps_);
  clear();
}

void OrderCheck::clear() {
  views_.assign(warps_, {});
  for (unsigned w = 0; w < warps_; ++w) views_[w].all.raise(w, 1);
  for (OfThread& thread : threads_) thread = {};
  std::fill(alike_.begin(), alike_.end(), 1);
  for (std::size_t at = 0; at < bytes_.size(); at += granule_bytes) bytes_[at] = {};
  std::fill(reads_.begin(), reads_.end(), LastRead{});
  mbarriers_.clear();
  named_.clear();
}

template <class F>
void OrderCheck::for_each_run(std::size_t at, std::size_t bytes, F&& f) {
  const std::size_t end = at + bytes;
  while (at < end) {
    std::uint8_t& alike = alike_[at / granule_bytes];
    const bool is_whole = at % granule_bytes == 0 && end - at >= granule_bytes;
    if (alike != 0 && !is_whole) {
      Byte* const first = &bytes_[at / granule_bytes * granule_bytes];
      std::fill_n(first + 1, granule_bytes - 1, *first);
      alike = 0;
    }
    if (!f(bytes_[at], at)) return;
    at += alike != 0 ? granule_bytes : 1;
  }
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

void OrderCheck::note_read(Byte& byte, unsigned warp, Site site) {
  if (byte.readers > 0 && byte.reader[0] != warp) {
    byte.reader[1] = byte.reader[0];
    byte.read[1] = byte.read[0];
    byte.readers = 2;
  }
  byte.readers = std::max<std::uint8_t>(byte.readers, 1);
  byte.reader[0] = static_cast<std::uint8_t>(warp);
  byte.read[0] = now(warp);
  byte.read_site = site;
}

OrderCheck::Problem OrderCheck::check_touch(unsigned warp, const Byte& byte, std::size_t at,
                                            Touch touch) const {
  const bool stored = byte.kind == Byte::Kind::store || byte.kind == Byte::Kind::update;
  // Threads that hold one element store it alike, and updates of one byte have any order.
  const bool skips = stored && (touch != Touch::read || byte.kind == Byte::Kind::update);
  if (!skips && !is_after_write(warp, byte)) {
    return unordered_write(warp, byte, at, touch == Touch::read ? "reads" : "writes");
  }
  for (std::uint8_t r = 0; r < byte.readers && touch == Touch::write; ++r) {
    if (byte.reader[r] == warp || views_[warp].all[byte.reader[r]] >= byte.read[r]) continue;
    return OrderProblem{fmt::format("warp {} writes byte {} of shared memory, which warp {} reads, "
                                    "and no barrier is between them",
                                    warp, at, byte.reader[r]),
                        code_at(byte.read_site)};
  }
  return std::nullopt;
}

OrderCheck::Problem OrderCheck::touch(unsigned thread, std::size_t at, std::size_t bytes,
                                      Touch touch, const void* site) {
  const unsigned warp = warp_of(thread);
  const Time time = now(warp);
  const Site number = number_of(site);
  Problem problem;
  for_each_run(at, bytes, [&](Byte& byte, std::size_t i) {
    if ((problem = check_touch(warp, byte, i, touch))) return false;
    if (touch == Touch::read) note_read(byte, warp, number);
    return true;
  });
  if (problem) return problem;
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

void OrderCheck::write(std::size_t at, std::size_t bytes, const Byte& written) {
  const std::size_t end = at + bytes;
  for (std::size_t g = at / granule_bytes; g * granule_bytes < end; ++g) {
    if (at <= g * granule_bytes && (g + 1) * granule_bytes <= end) alike_[g] = 1;
  }
  for_each_run(at, bytes, [&](Byte& byte, std::size_t) {
    byte = written;
    return true;
  });
}

void OrderCheck::note_write(std::size_t at, std::size_t bytes, Byte::Kind kind, unsigned thread,
                            Site site) {
  write(at, bytes,
        Byte{.kind = kind,
             .thread = static_cast<std::uint16_t>(thread),
             .written = now(warp_of(thread)),
             .fences = static_cast<std::uint32_t>(threads_[thread].fences.size()),
             .site = site});
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
    note_write(piece.at, piece.bytes, Byte::Kind::store, thread, byte_at(piece.at).site);
    return true;
  });
}

OrderCheck::Problem OrderCheck::check_overwritten(unsigned warp, const Byte& byte,
                                                  std::size_t at) const {
  if (!is_after_write(warp, byte)) return unordered_write(warp, byte, at, "copies in bulk to");
  const bool stored = byte.kind == Byte::Kind::store || byte.kind == Byte::Kind::update;
  if (!stored || is_visible_to_copies(warp, byte.thread, byte.written, byte.fences)) {
    return std::nullopt;
  }
  return OrderProblem{
      fmt::format("a bulk copy overwrites byte {} of shared memory, which thread {} stored, and no "
                  "fence.proxy.async is between them: the store may come later",
                  at, byte.thread),
      code_at(byte.site)};
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
  Problem problem;
  for_each_run(at, bytes, [&](const Byte& byte, std::size_t i) {
    problem = check_overwritten(warp, byte, i);
    return !problem;
  });
  if (problem) return problem;
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
  write(at, bytes,
        Byte{.kind = Byte::Kind::bulk,
             .thread = static_cast<std::uint16_t>(thread),
             .written = phase + 1,
             .fences = barrier,
             .site = number_of(site)});
  return std::nullopt;
}

OrderCheck::Problem OrderCheck::end() const {
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    const Byte& byte = byte_at(at);
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
