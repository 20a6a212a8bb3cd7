#include "backend/select/bit_candidates.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilevm::backend {
namespace {

/// The bits that a result word needs.
struct Wanted {
  struct Bit {
    int position;
    SourceBit source_bit;
  };
  std::vector<Bit> bits;
  std::uint32_t inverted = 0;
  std::uint32_t care = 0;  ///< bits that matter; those that no source bit gives are `inverted`
};

/// The bits of one word with the given form in each lane; lanes without an element do not matter.
Wanted wanted_bits(const WordForm& form, const SourceBit* source_bits, int elements,
                   const std::vector<int>& chosen) {
  Wanted wanted;
  for (int lane = 0; lane < elements; ++lane) {
    const int first = form.lanes[static_cast<std::size_t>(lane)];
    const LaneForm& lane_form =
        form.forms[static_cast<std::size_t>(chosen[static_cast<std::size_t>(lane)])];
    for (int b = 0; b < form.element_bits; ++b) {
      wanted.bits.push_back({first + lane_form.positions[static_cast<std::size_t>(b)],
                             source_bits[lane * form.element_bits + b]});
    }
    wanted.inverted |= lane_form.inverted << first;
    wanted.care |= low_bits(form.lane_bits) << first;
  }
  return wanted;
}

/// Bits that share a source word and a rotation, in the order of their shapes.
std::vector<Piece> rotated_pieces(const Wanted& wanted) {
  std::map<WordShape, std::uint32_t> masks;
  for (const auto& [position, source_bit] : wanted.bits) {
    const auto rotation = static_cast<std::uint32_t>(position - source_bit % 32 + 32) % 32;
    masks[{source_bit / 32, WordShape::Kind::rotated, rotation}] |= std::uint32_t{1} << position;
  }
  std::vector<Piece> pieces;
  for (const auto& [shape, mask] : masks) pieces.push_back({shape, mask});
  return pieces;
}

/// The piece that both are, if they are what one funnel shift gives: the upper bits of a word below
/// the lower bits of the next.
std::optional<Piece> joined(const Piece& low, const Piece& high) {
  const std::uint32_t left = low.shape.amount;
  const WordShape next{low.shape.word + 1, WordShape::Kind::rotated, left};
  if (low.shape.kind != next.kind || high.shape != next || left == 0) return std::nullopt;
  const std::uint32_t upper = ~std::uint32_t{0} << left;
  if ((low.mask & upper) != 0 || (high.mask & ~upper) != 0) return std::nullopt;
  return Piece{{low.shape.word, WordShape::Kind::funnel, 32 - left}, low.mask | high.mask};
}

/// The pieces with neighbouring words joined where one shift serves two.
std::vector<Piece> join_words(std::vector<Piece> pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = 0; j < pieces.size(); ++j) {
      const auto both = i == j ? std::nullopt : joined(pieces[i], pieces[j]);
      if (!both) continue;
      pieces[i] = *both;
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(j));
      return join_words(std::move(pieces));
    }
  }
  return pieces;
}

/// Every bit that matters comes from the one piece.
bool is_whole(const std::vector<Piece>& pieces, const Wanted& wanted) {
  return pieces.size() == 1 && wanted.inverted == 0 && (wanted.care & ~pieces[0].mask) == 0;
}

Candidate by_masks(std::vector<Piece> pieces, const Wanted& wanted, std::vector<int> chosen) {
  Candidate candidate{.chosen = std::move(chosen), .pieces = std::move(pieces)};
  candidate.inverted = wanted.inverted;
  const bool whole = is_whole(candidate.pieces, wanted);
  candidate.cost = whole ? 0 : static_cast<int>(candidate.pieces.size());
  return candidate;
}

/// A byte of a result word: from a byte of the source, or constant.
struct WantedByte {
  int source = -1;  ///< word * 4 + byte; -1 if constant
  std::uint32_t inverted = 0;
  bool matters = false;
};

/// The bytes, if each is a whole byte of the source or has no bits of it.
std::optional<std::array<WantedByte, 4>> wanted_bytes(const Wanted& wanted) {
  std::array<WantedByte, 4> bytes;
  std::array<int, 4> count{};
  for (std::size_t k = 0; k < 4; ++k) {
    bytes[k].inverted = wanted.inverted >> (8 * k) & 0xff;
    bytes[k].matters = (wanted.care >> (8 * k) & 0xff) != 0;
  }
  for (const auto& [position, source_bit] : wanted.bits) {
    const auto k = static_cast<std::size_t>(position / 8);
    if (position % 8 != source_bit % 8) return std::nullopt;
    if (count[k]++ > 0 && bytes[k].source != source_bit / 8) return std::nullopt;
    bytes[k].source = source_bit / 8;
  }
  for (const int n : count) {
    if (n != 0 && n != 8) return std::nullopt;
  }
  return bytes;
}

/// One instruction that picks the bytes, of two source words, or of one and a constant.
std::optional<Candidate> by_bytes(const Wanted& wanted, const std::vector<int>& chosen) {
  const auto bytes = wanted_bytes(wanted);
  if (!bytes) return std::nullopt;
  std::vector<WordShape> words;
  bool constant = false;
  Candidate candidate{.chosen = chosen, .selector = 0, .cost = 1};
  for (std::uint32_t k = 0; k < 4; ++k) {
    const WantedByte& byte = (*bytes)[k];
    if (!byte.matters) continue;
    std::uint32_t digit = 4 + k;
    if (byte.source < 0) {
      constant = true;
      candidate.fixed_bytes |= byte.inverted << (8 * k);
    } else {
      const WordShape shape =
          byte.inverted == 0
              ? WordShape{byte.source / 4, WordShape::Kind::rotated, 0}
              : WordShape{byte.source / 4, WordShape::Kind::inverted, byte.inverted * 0x01010101U};
      const auto found = std::find(words.begin(), words.end(), shape);
      digit = static_cast<std::uint32_t>(found - words.begin()) * 4 +
              static_cast<std::uint32_t>(byte.source % 4);
      if (found == words.end()) words.push_back(shape);
    }
    *candidate.selector |= digit << (4 * k);
  }
  if (words.empty() || words.size() + (constant ? 1 : 0) > 2) return std::nullopt;
  for (const WordShape& shape : words) candidate.pieces.push_back({shape, ~std::uint32_t{0}});
  return candidate;
}

}  // namespace

std::vector<Candidate> find_candidates(const WordForm& form, const SourceBit* source_bits,
                                       int elements, ShapeNumbers& numbers) {
  std::vector<Candidate> all;
  std::vector<int> chosen(form.lanes.size(), 0);
  const auto keep = [&](Candidate candidate) {
    for (const Piece& piece : candidate.pieces) {
      if (!piece.shape.is_free()) candidate.shapes.push_back(numbers.number(piece.shape));
    }
    all.push_back(std::move(candidate));
  };
  for (;;) {
    const Wanted wanted = wanted_bits(form, source_bits, elements, chosen);
    const auto pieces = rotated_pieces(wanted);
    auto fewer = join_words(pieces);
    if (fewer.size() < pieces.size()) keep(by_masks(std::move(fewer), wanted, chosen));
    keep(by_masks(pieces, wanted, chosen));
    if (auto bytes = by_bytes(wanted, chosen)) keep(*std::move(bytes));
    int lane = 0;  // the next choice, as a number with a digit for each element
    while (lane < elements) {
      int& digit = chosen[static_cast<std::size_t>(lane)];
      if (++digit < static_cast<int>(form.forms.size())) break;
      digit = 0;
      ++lane;
    }
    if (lane == elements) return all;
  }
}

}  // namespace tilevm::backend
