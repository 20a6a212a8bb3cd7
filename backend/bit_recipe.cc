#include "backend/bit_recipe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

namespace tilevm::backend {
namespace {

using Op = RecipeStep::Op;

/// A source word in the shape in which pieces are cut from it.
struct Shape {
  enum class Kind : std::uint8_t {
    rotated,  ///< left by amount
    funnel,   ///< (next word : word) >> amount
    inverted, ///< ^ amount
  };
  int word = 0;
  Kind kind = Kind::rotated;
  std::uint32_t amount = 0;
  friend auto operator<=>(const Shape&, const Shape&) = default;

  [[nodiscard]] bool is_free() const { return kind == Kind::rotated && amount == 0; }
};

/// Bits of a result word that are cut from one shape.
struct Piece {
  Shape shape;
  std::uint32_t mask = 0;
};

/// One way to gather a result word.
struct Candidate {
  std::vector<int> chosen{};               ///< form of each lane
  std::vector<Piece> pieces{};             ///< and-xor, one after the other; or a byte permutation
  std::uint32_t inverted = 0;              ///< of the whole word
  std::optional<std::uint32_t> selector{};  ///< of the byte permutation
  std::uint32_t fixed_bytes = 0;           ///< its second operand, if there is one piece
  int cost = 0;
  std::vector<int> shapes{};  ///< those that cost something, by their numbers
};

/// The bits that a result word needs.
struct Wanted {
  struct Bit {
    int position;
    BitPlace place;
  };
  std::vector<Bit> bits;
  std::uint32_t inverted = 0;
  std::uint32_t care = 0;  ///< bits that matter; those that no source bit gives are `inverted`
};

std::uint32_t lane_mask(int bits) { return ~std::uint32_t{0} >> (32 - bits); }

/// The bits of one word with the given form in each lane; lanes without an element do not matter.
Wanted wanted_bits(const WordForm& form, const BitPlace* places, int elements,
                   const std::vector<int>& chosen) {
  Wanted wanted;
  for (int lane = 0; lane < elements; ++lane) {
    const int first = form.lanes[static_cast<std::size_t>(lane)];
    const LaneForm& lane_form =
        form.forms[static_cast<std::size_t>(chosen[static_cast<std::size_t>(lane)])];
    for (int b = 0; b < form.element_bits; ++b) {
      wanted.bits.push_back({first + lane_form.positions[static_cast<std::size_t>(b)],
                             places[lane * form.element_bits + b]});
    }
    wanted.inverted |= lane_form.inverted << first;
    wanted.care |= lane_mask(form.lane_bits) << first;
  }
  return wanted;
}

/// Bits that share a source word and a rotation, in the order of their shapes.
std::vector<Piece> rotated_pieces(const Wanted& wanted) {
  std::map<Shape, std::uint32_t> masks;
  for (const auto& [position, place] : wanted.bits) {
    const auto rotation = static_cast<std::uint32_t>(position - place % 32 + 32) % 32;
    masks[{place / 32, Shape::Kind::rotated, rotation}] |= std::uint32_t{1} << position;
  }
  std::vector<Piece> pieces;
  for (const auto& [shape, mask] : masks) pieces.push_back({shape, mask});
  return pieces;
}

/// The piece that both are, if they are what one funnel shift gives: the upper bits of a word below
/// the lower bits of the next.
std::optional<Piece> joined(const Piece& low, const Piece& high) {
  const std::uint32_t left = low.shape.amount;
  const Shape next{low.shape.word + 1, Shape::Kind::rotated, left};
  if (low.shape.kind != next.kind || high.shape != next || left == 0) return std::nullopt;
  const std::uint32_t upper = ~std::uint32_t{0} << left;
  if ((low.mask & upper) != 0 || (high.mask & ~upper) != 0) return std::nullopt;
  return Piece{{low.shape.word, Shape::Kind::funnel, 32 - left}, low.mask | high.mask};
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
  for (const auto& [position, place] : wanted.bits) {
    const auto k = static_cast<std::size_t>(position / 8);
    if (position % 8 != place % 8) return std::nullopt;
    if (count[k]++ > 0 && bytes[k].source != place / 8) return std::nullopt;
    bytes[k].source = place / 8;
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
  std::vector<Shape> words;
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
      const Shape shape = byte.inverted == 0
                              ? Shape{byte.source / 4, Shape::Kind::rotated, 0}
                              : Shape{byte.source / 4, Shape::Kind::inverted,
                                      byte.inverted * 0x01010101U};
      const auto found = std::find(words.begin(), words.end(), shape);
      digit = static_cast<std::uint32_t>(found - words.begin()) * 4 +
              static_cast<std::uint32_t>(byte.source % 4);
      if (found == words.end()) words.push_back(shape);
    }
    *candidate.selector |= digit << (4 * k);
  }
  if (words.empty() || words.size() + (constant ? 1 : 0) > 2) return std::nullopt;
  for (const Shape& shape : words) candidate.pieces.push_back({shape, ~std::uint32_t{0}});
  return candidate;
}

/// Numbers for shapes that cost an instruction.
class ShapeNumbers {
 public:
  int number(const Shape& shape) {
    return numbers_.emplace(shape, static_cast<int>(numbers_.size())).first->second;
  }
  [[nodiscard]] std::size_t count() const { return numbers_.size(); }

 private:
  std::map<Shape, int> numbers_;
};

/// Every way to gather the word whose elements begin at `places`.
std::vector<Candidate> candidates(const WordForm& form, const BitPlace* places, int elements,
                                  ShapeNumbers& numbers) {
  std::vector<Candidate> all;
  std::vector<int> chosen(form.lanes.size(), 0);
  const auto keep = [&](Candidate candidate) {
    for (const Piece& piece : candidate.pieces) {
      if (!piece.shape.is_free()) candidate.shapes.push_back(numbers.number(piece.shape));
    }
    all.push_back(std::move(candidate));
  };
  for (;;) {
    const Wanted wanted = wanted_bits(form, places, elements, chosen);
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

/// Chooses a candidate for each word so that pieces and shapes together are few: each word in turn
/// takes the best for what the others have chosen, until nothing changes; from several beginnings.
class Search {
 public:
  Search(const std::vector<std::vector<Candidate>>& words, std::size_t shapes)
      : words_(words), users_(shapes, 0), chosen_(words.size(), none) {}

  std::vector<std::size_t> run() {
    std::vector<std::size_t> best;
    int best_cost = 0;
    for (int attempt = 0; attempt < attempts(); ++attempt) {
      chosen_.assign(words_.size(), none);
      std::fill(users_.begin(), users_.end(), 0);
      for (int round = 0; round < max_rounds && improve(attempt > 0); ++round) continue;
      const int found = cost();
      if (!best.empty() && found >= best_cost) continue;
      best = chosen_;
      best_cost = found;
    }
    return best;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr int max_rounds = 12;

  /// Fewer where a round takes longer.
  [[nodiscard]] int attempts() const {
    std::size_t work = 1;
    for (const auto& word : words_) work += word.size();
    return static_cast<int>(std::clamp<std::size_t>(60000 / work, 2, 40));
  }

  void count(const Candidate& candidate, int by) {
    for (const int shape : candidate.shapes) users_[static_cast<std::size_t>(shape)] += by;
  }

  [[nodiscard]] int extra_cost(const Candidate& candidate) const {
    int cost = candidate.cost;
    for (const int shape : candidate.shapes) {
      cost += users_[static_cast<std::size_t>(shape)] == 0 ? 1 : 0;
    }
    return cost;
  }

  [[nodiscard]] int cost() const {
    int sum = static_cast<int>(
        std::count_if(users_.begin(), users_.end(), [](int users) { return users > 0; }));
    for (std::size_t w = 0; w < words_.size(); ++w) sum += words_[w][chosen_[w]].cost;
    return sum;
  }

  /// The cheapest candidate of a word; the first of them, or any at random.
  std::size_t cheapest(const std::vector<Candidate>& word, bool at_random) {
    std::size_t best = 0, alike = 0;
    int best_cost = 0;
    for (std::size_t c = 0; c < word.size(); ++c) {
      const int cost = extra_cost(word[c]);
      if (c > 0 && cost > best_cost) continue;
      alike = c > 0 && cost == best_cost ? alike + 1 : 1;
      if (alike == 1 || (at_random && random_() % alike == 0)) best = c;
      best_cost = cost;
    }
    return best;
  }

  /// One round; whether it changed anything.
  bool improve(bool at_random) {
    bool changed = false;
    for (std::size_t k = 0; k < words_.size(); ++k) {
      const std::size_t w = at_random ? random_() % words_.size() : k;
      if (chosen_[w] != none) count(words_[w][chosen_[w]], -1);
      const std::size_t next = cheapest(words_[w], at_random);
      changed |= next != chosen_[w];
      chosen_[w] = next;
      count(words_[w][next], 1);
    }
    if (!at_random) return changed;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if (chosen_[w] != none) continue;
      chosen_[w] = cheapest(words_[w], true);
      count(words_[w][chosen_[w]], 1);
    }
    return true;
  }

  const std::vector<std::vector<Candidate>>& words_;
  std::vector<int> users_;  // by shape
  std::vector<std::size_t> chosen_;
  std::mt19937 random_{1};
};

/// Writes the chosen candidates as steps.
class Writer {
 public:
  explicit Writer(const std::vector<Candidate>& chosen) {
    for (const Candidate& candidate : chosen) {
      for (const Piece& piece : candidate.pieces) used_[piece.shape] |= piece.mask;
    }
  }

  int gather(const Candidate& candidate) {
    if (candidate.selector) return permute(candidate);
    if (candidate.cost == 0) return shaped(candidate.pieces[0].shape);
    int sum = -1;
    for (const Piece& piece : candidate.pieces) {
      const std::uint32_t constant = sum < 0 ? candidate.inverted : 0;
      sum = steps.add({Op::and_xor, shaped(piece.shape), sum, piece.mask, constant});
    }
    return sum;
  }

  RecipeSteps steps;

 private:
  int word(int index) { return steps.add({.op = Op::word, .x = static_cast<std::uint32_t>(index)}); }

  int permute(const Candidate& candidate) {
    const int low = shaped(candidate.pieces[0].shape);
    const bool two = candidate.pieces.size() > 1;
    const int high = two ? shaped(candidate.pieces[1].shape) : -1;
    return steps.add({Op::permute_bytes, low, high, *candidate.selector, candidate.fixed_bytes});
  }

  /// A rotation is a shift if no bit of it is used that comes around.
  int rotated(const Shape& shape) {
    if (shape.amount == 0) return word(shape.word);
    const std::uint32_t around = lane_mask(static_cast<int>(shape.amount));
    const std::uint32_t used = used_.at(shape);
    const int source = word(shape.word);
    if ((used & around) == 0) return steps.add({Op::shift_left, source, -1, shape.amount, 0});
    if ((used & ~around) == 0) {
      return steps.add({Op::shift_right, source, -1, 32 - shape.amount, 0});
    }
    return steps.add({Op::rotate_left, source, -1, shape.amount, 0});
  }

  int shaped(const Shape& shape) {
    switch (shape.kind) {
      case Shape::Kind::rotated:
        return rotated(shape);
      case Shape::Kind::funnel:
        return steps.add({Op::funnel_right, word(shape.word), word(shape.word + 1), shape.amount, 0});
      case Shape::Kind::inverted:
        return steps.add({Op::and_xor, word(shape.word), -1, ~std::uint32_t{0}, shape.amount});
    }
    return -1;
  }

  std::map<Shape, std::uint32_t> used_;  // bits of each shape that are used
};

/// How a request repeats: its result words in groups that differ only in which source words they
/// take, each group in words of its own.
struct Repetition {
  std::size_t elements;  ///< of a group
  int source_words;
  int count;
};

Repetition find_repetition(std::size_t word_elements, const std::vector<BitPlace>& places,
                           std::size_t element_bits) {
  const std::size_t total = places.size() / element_bits;
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  const Repetition whole{total, *most / 32 + 1, 1};
  for (std::size_t group = word_elements; group * 2 <= total; group += word_elements) {
    const std::size_t step = group * element_bits;
    const BitPlace distance = places[step] - places[0];
    if (total % group != 0 || distance <= 0 || distance % 32 != 0 || *least / 32 != 0) continue;
    const bool own_words = std::all_of(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(step),
                                       [&](BitPlace place) { return place < distance; });
    bool alike = own_words;
    for (std::size_t i = step; alike && i < places.size(); ++i) {
      alike = places[i] - places[i - step] == distance;
    }
    if (alike) return {group, distance / 32, static_cast<int>(total / group)};
  }
  return whole;
}

}  // namespace

int RecipeSteps::add(const RecipeStep& step) {
  const auto [known, is_new] = numbers_.emplace(step, static_cast<int>(steps_.size()));
  if (is_new) steps_.push_back(step);
  return known->second;
}

int BitRecipe::cost() const {
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const RecipeStep& step) {
    return step.op != Op::word;
  }));
}

BitRecipe make_recipe(const WordForm& form, const std::vector<BitPlace>& places) {
  constexpr std::size_t window = 64;  // words that are searched together
  const auto bits = static_cast<std::size_t>(form.element_bits);
  const Repetition repetition = find_repetition(form.lanes.size(), places, bits);
  std::vector<Candidate> chosen;
  for (std::size_t i = 0; i < repetition.elements;) {
    ShapeNumbers numbers;
    std::vector<std::vector<Candidate>> words;
    for (; words.size() < window && i < repetition.elements; i += form.lanes.size()) {
      const auto elements = std::min(form.lanes.size(), repetition.elements - i);
      words.push_back(
          candidates(form, places.data() + i * bits, static_cast<int>(elements), numbers));
    }
    const std::vector<std::size_t> found = Search(words, numbers.count()).run();
    for (std::size_t w = 0; w < words.size(); ++w) chosen.push_back(std::move(words[w][found[w]]));
  }
  BitRecipe recipe{.source_words = repetition.source_words, .repetitions = repetition.count};
  Writer writer(chosen);
  for (const Candidate& candidate : chosen) {
    const int gathered = writer.gather(candidate);
    recipe.results.push_back(form.finish ? form.finish(writer.steps, gathered, candidate.chosen)
                                         : gathered);
  }
  recipe.steps = std::move(writer.steps).take();
  return recipe;
}

}  // namespace tilevm::backend
