#include "isa/layout/warp_exchange.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tilevm::isa {
namespace {

constexpr int lane_bits = 5;
constexpr std::int64_t warp_lanes = 32;

Index sum_of(const Index& a, const Index& b) {
  Index sum = a;
  for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += b[d];
  return sum;
}

bool is_zero(const Index& index) {
  return std::all_of(index.begin(), index.end(), [](std::int64_t i) { return i == 0; });
}

/// What each bit of the lane and of the local place adds to an index.
struct BitParts {
  std::vector<Index> lanes, places;
};

/// Nothing if a part is not the sum of its bits'.
template <class Part>
std::optional<std::vector<Index>> bit_parts(std::int64_t count, Part part) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(count))) return std::nullopt;
  std::vector<Index> parts;
  for (std::int64_t bit = 1; bit < count; bit *= 2) parts.push_back(part(bit));
  for (std::int64_t i = 1; i < count; ++i) {
    const std::int64_t low = i & -i;
    if (part(i) != sum_of(part(i - low), part(low))) return std::nullopt;
  }
  return parts;
}

std::optional<BitParts> parts_of(const RegisterLayout& layout) {
  const auto lanes = bit_parts(warp_lanes, [&](std::int64_t i) { return layout.thread_part(i); });
  const auto places =
      bit_parts(layout.num_locals(), [&](std::int64_t i) { return layout.local_part(i); });
  if (!lanes || !places) return std::nullopt;
  return BitParts{*lanes, *places};
}

/// Whether the warps of both layouts hold the same parts of the tile, each by the same lanes.
bool warps_agree(const RegisterLayout& from, const RegisterLayout& to) {
  if (from.num_threads() != to.num_threads() || from.num_threads() % warp_lanes != 0) return false;
  for (std::int64_t t = 0; t < from.num_threads(); ++t) {
    const std::int64_t lane = t % warp_lanes, first = t - lane;
    if (from.thread_part(first) != to.thread_part(first)) return false;
    for (const RegisterLayout* layout : {&from, &to}) {
      if (layout->thread_part(t) != sum_of(layout->thread_part(first), layout->thread_part(lane))) {
        return false;
      }
    }
  }
  return true;
}

/// Where the bits of the index were, and where they come to.
struct BitMoves {
  struct Move {
    int from, to;
  };
  std::vector<Move> lane_to_lane, lane_to_place, place_to_lane, place_to_place;
  std::vector<int> copies;  ///< lane bits of the old layout whose lanes hold the same
};

std::optional<BitMoves> moves_of(const BitParts& from, const BitParts& to) {
  std::map<Index, int> lanes, places;
  BitMoves moves;
  for (int b = 0; b < lane_bits; ++b) {
    const Index& part = from.lanes[static_cast<std::size_t>(b)];
    if (is_zero(part)) {
      moves.copies.push_back(b);
    } else {
      lanes[part] = b;
    }
  }
  for (std::size_t q = 0; q < from.places.size(); ++q) {
    places[from.places[q]] = static_cast<int>(q);
  }
  const auto add = [&](const Index& part, int bit, auto& from_lane, auto& from_place) {
    if (const auto lane = lanes.find(part); lane != lanes.end()) {
      from_lane.push_back({lane->second, bit});
    } else if (const auto place = places.find(part); place != places.end()) {
      from_place.push_back({place->second, bit});
    } else {
      return false;
    }
    return true;
  };
  for (int b = 0; b < lane_bits; ++b) {
    const Index& part = to.lanes[static_cast<std::size_t>(b)];
    if (is_zero(part)) continue;
    if (!add(part, b, moves.lane_to_lane, moves.place_to_lane)) return std::nullopt;
  }
  for (std::size_t q = 0; q < to.places.size(); ++q) {
    const int bit = static_cast<int>(q);
    if (!add(to.places[q], bit, moves.lane_to_place, moves.place_to_place)) return std::nullopt;
  }
  return moves;
}

/// `movmatrix`: lane 4 r + c / 2 gives the halves c % 2 of row r, and gets those of column r.
bool is_matrix_transpose(const BitMoves& moves) {
  const auto has = [](const std::vector<BitMoves::Move>& all, int from, int to) {
    return std::any_of(all.begin(), all.end(),
                       [&](const BitMoves::Move& m) { return m.from == from && m.to == to; });
  };
  return moves.copies.empty() && moves.lane_to_lane.size() == 4 && has(moves.lane_to_lane, 3, 0) &&
         has(moves.lane_to_lane, 4, 1) && has(moves.lane_to_lane, 0, 3) &&
         has(moves.lane_to_lane, 1, 4) && moves.lane_to_place.size() == 1 &&
         moves.lane_to_place[0].from == 2 && moves.place_to_lane.size() == 1 &&
         moves.place_to_lane[0].to == 2;
}

/// Bits of the place, lowest first, that number the elements of a word and then the words.
struct Numbering {
  std::vector<int> in_word, words;

  [[nodiscard]] std::vector<std::int32_t> places() const {
    std::vector<int> bits = in_word;
    bits.insert(bits.end(), words.begin(), words.end());
    std::vector<std::int32_t> result(std::size_t{1} << bits.size(), 0);
    for (std::size_t i = 0; i < result.size(); ++i) {
      for (std::size_t b = 0; b < bits.size(); ++b) {
        result[i] |= static_cast<std::int32_t>(i >> b & 1) << bits[b];
      }
    }
    return result;
  }
  [[nodiscard]] int word_count() const { return 1 << words.size(); }
};

/// Takes bits that stay among the places to be in a word, as long as the elements fit.
void fill_word(int elements, BitMoves& moves, Numbering& from, Numbering& to) {
  auto& stay = moves.place_to_place;
  std::sort(stay.begin(), stay.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  for (; elements > 1 && !stay.empty(); elements /= 2) {
    from.in_word.push_back(stay.front().from);
    to.in_word.push_back(stay.front().to);
    stay.erase(stay.begin());
  }
}

int fitting(int room, int bits) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1, room / bits))));
}

WarpExchange matrix_exchange(BitMoves moves, int bits) {
  Numbering from, to;
  fill_word(fitting(16, bits), moves, from, to);
  const int in_half = 1 << from.in_word.size();
  from.in_word.push_back(moves.place_to_lane[0].from);
  to.in_word.push_back(moves.lane_to_place[0].to);
  for (const BitMoves::Move& move : moves.place_to_place) {
    from.words.push_back(move.from);
    to.words.push_back(move.to);
  }
  WarpExchange plan;
  plan.transposes = true;
  plan.sent = plan.got = from.word_count();
  plan.in_word = 2 * in_half;
  for (int e = 0; e < plan.in_word; ++e) {
    plan.shifts.push_back(e / in_half * 16 + e % in_half * bits);
  }
  plan.from = from.places();
  plan.to = to.places();
  for (int w = 0; w < plan.sent; ++w) plan.rounds.push_back({w, w, 0});
  return plan;
}

/// Pairs lane bits that lose the index with lane bits that get it, equal ones first: where all are
/// equal, one round needs no shuffle.
void pair_lane_bits(std::vector<BitMoves::Move>& leave, std::vector<BitMoves::Move>& enter,
                    std::vector<int>& copies) {
  const auto bring_forward = [](auto& all, std::size_t at, auto wanted) {
    const auto found =
        std::find_if(all.begin() + static_cast<std::ptrdiff_t>(at), all.end(), wanted);
    if (found == all.end()) return false;
    std::iter_swap(all.begin() + static_cast<std::ptrdiff_t>(at), found);
    return true;
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < enter.size() && next < leave.size(); ++i) {
    const int lane = enter[i].to;
    if (!bring_forward(leave, next, [&](const auto& move) { return move.from == lane; })) continue;
    std::swap(enter[next++], enter[i]);
  }
  const std::size_t paired = std::min(leave.size(), enter.size());
  for (std::size_t i = paired; i < enter.size(); ++i) {
    bring_forward(copies, i - paired, [&](int lane) { return lane == enter[i].to; });
  }
}

WarpExchange shuffle_exchange(BitMoves moves, int bits) {
  Numbering from, to;
  fill_word(fitting(32, bits), moves, from, to);
  auto &leave = moves.lane_to_place, &enter = moves.place_to_lane;
  pair_lane_bits(leave, enter, moves.copies);
  const std::size_t paired = std::min(leave.size(), enter.size());
  WarpExchange plan;
  for (const BitMoves::Move& move : moves.lane_to_lane) plan.base.push_back({move.to, move.from});
  for (std::size_t x = 0; x < paired; ++x) {
    plan.base.push_back({enter[x].to, leave[x].from});
    plan.before.push_back({leave[x].from, 1 << x});
    plan.after.push_back({enter[x].to, 1 << x});
  }
  // Lanes that hold the same send different words.
  for (std::size_t x = paired; x < enter.size(); ++x) {
    const int copy = moves.copies[x - paired];
    plan.base.push_back({enter[x].to, copy});
    plan.before.push_back({copy, 1 << x});
  }
  for (std::size_t i = enter.size() - paired; i < moves.copies.size(); ++i) {
    plan.base.push_back({moves.copies[i], moves.copies[i]});
  }
  for (const BitMoves::Move& move : enter) from.words.push_back(move.from);
  for (const BitMoves::Move& move : leave) to.words.push_back(move.to);
  for (const BitMoves::Move& move : moves.place_to_place) {
    from.words.push_back(move.from);
    to.words.push_back(move.to);
  }
  plan.sent = from.word_count();
  plan.got = to.word_count();
  plan.in_word = 1 << from.in_word.size();
  for (int e = 0; e < plan.in_word; ++e) plan.shifts.push_back(e * bits);
  plan.from = from.places();
  plan.to = to.places();
  const int low = (1 << paired) - 1, leaving = 1 << leave.size();
  for (int w = 0; w < plan.got; ++w) {
    std::int32_t lanes = 0;
    for (std::size_t x = 0; x < leave.size(); ++x) lanes |= (w >> x & 1) << leave[x].from;
    plan.rounds.push_back({(w & low) | (w / leaving << enter.size()), w, lanes});
  }
  return plan;
}

/// Whether a shuffle takes the place of a shared access: both keep a multiprocessor for a cycle, a
/// selection for half of one. The barrier, and the wait for what others stored, are worth some
/// more.
bool is_cheaper(const WarpExchange& plan, std::int64_t accesses, int steps) {
  constexpr std::int64_t barrier = 16;
  return steps * (2 * plan.shuffles() + plan.selections()) <= 2 * (accesses + barrier);
}

}  // namespace

bool WarpExchange::stays(const Round& round) const {
  const bool same =
      std::all_of(base.begin(), base.end(), [](const LaneBit& bit) { return bit.from == bit.to; });
  // A lane bit that no bit of the base gives is the round's alone.
  return !transposes && same && base.size() == lane_bits && round.lanes == 0;
}

int WarpExchange::shuffles() const {
  return static_cast<int>(std::count_if(rounds.begin(), rounds.end(),
                                        [&](const Round& round) { return !stays(round); }));
}

int WarpExchange::selections() const {
  return static_cast<int>(before.size()) * sent + static_cast<int>(after.size()) * got;
}

std::optional<WarpExchange> plan_warp_exchange(const RegisterLayout& from, const RegisterLayout& to,
                                               int bits) {
  if (!warps_agree(from, to)) return std::nullopt;
  const auto old_parts = parts_of(from), new_parts = parts_of(to);
  if (!old_parts || !new_parts) return std::nullopt;
  const auto moves = moves_of(*old_parts, *new_parts);
  if (!moves) return std::nullopt;
  const std::int64_t accesses = from.num_locals() + to.num_locals();
  if (bits <= 16 && is_matrix_transpose(*moves)) return matrix_exchange(*moves, bits);
  const WarpExchange plan = shuffle_exchange(*moves, std::min(bits, 32));
  if (!is_cheaper(plan, accesses, bits > 32 ? 2 : 1)) return std::nullopt;
  return plan;
}

}  // namespace tilevm::isa
