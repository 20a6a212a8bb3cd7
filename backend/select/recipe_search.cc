#include "backend/select/recipe_search.h"

#include <algorithm>
#include <random>
#include <utility>

#include "backend/select/bit_candidates.h"

namespace tilevm::backend {
namespace {

using Op = RecipeStep::Op;

/// Chooses a candidate for each word so that pieces and shapes together are few: each word in turn
/// takes the best for what the others have chosen, until nothing changes. The search has several
/// starting points.
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
  int word(int index) {
    return steps.add({.op = Op::word, .x = static_cast<std::uint32_t>(index)});
  }

  int permute(const Candidate& candidate) {
    const int low = shaped(candidate.pieces[0].shape);
    const bool two = candidate.pieces.size() > 1;
    const int high = two ? shaped(candidate.pieces[1].shape) : -1;
    return steps.add({Op::permute_bytes, low, high, *candidate.selector, candidate.fixed_bytes});
  }

  /// A rotation is a shift if none of the bits that wrap around is used.
  int rotated(const WordShape& shape) {
    if (shape.amount == 0) return word(shape.word);
    const std::uint32_t around = low_bits(static_cast<int>(shape.amount));
    const std::uint32_t used = used_.at(shape);
    const int source = word(shape.word);
    if ((used & around) == 0) return steps.add({Op::shift_left, source, -1, shape.amount, 0});
    if ((used & ~around) == 0) {
      return steps.add({Op::shift_right, source, -1, 32 - shape.amount, 0});
    }
    return steps.add({Op::rotate_left, source, -1, shape.amount, 0});
  }

  int shaped(const WordShape& shape) {
    switch (shape.kind) {
      case WordShape::Kind::rotated:
        return rotated(shape);
      case WordShape::Kind::funnel:
        return steps.add(
            {Op::funnel_right, word(shape.word), word(shape.word + 1), shape.amount, 0});
      case WordShape::Kind::inverted:
        return steps.add({Op::and_xor, word(shape.word), -1, ~std::uint32_t{0}, shape.amount});
    }
    return -1;
  }

  std::map<WordShape, std::uint32_t> used_;  // bits of each shape that are used
};

/// How a request repeats: its result words in groups that differ only in which source words they
/// take, each group in words of its own.
struct Repetition {
  std::size_t elements;  ///< number of elements of a group
  int source_words;
  int count;
};

Repetition find_repetition(std::size_t word_elements, const std::vector<int>& of_word,
                           const std::vector<SourceBit>& source_bits, std::size_t element_bits) {
  const std::size_t total = source_bits.size() / element_bits;
  const auto [least, most] = std::minmax_element(source_bits.begin(), source_bits.end());
  const Repetition whole{total, *most / 32 + 1, 1};
  for (std::size_t group = word_elements; group * 2 <= total; group += word_elements) {
    const std::size_t step = group * element_bits;
    const SourceBit distance = source_bits[step] - source_bits[0];
    if (total % group != 0 || distance <= 0 || distance % 32 != 0 || *least / 32 != 0) continue;
    const bool own_words =
        std::all_of(source_bits.begin(), source_bits.begin() + static_cast<std::ptrdiff_t>(step),
                    [&](SourceBit source_bit) { return source_bit < distance; });
    bool alike = own_words;
    for (std::size_t w = group / word_elements; alike && w < of_word.size(); ++w) {
      alike = of_word[w] == of_word[w - group / word_elements];
    }
    for (std::size_t i = step; alike && i < source_bits.size(); ++i) {
      alike = source_bits[i] - source_bits[i - step] == distance;
    }
    if (alike) return {group, distance / 32, static_cast<int>(total / group)};
  }
  return whole;
}

}  // namespace

BitRecipe make_recipe(const WordForm& form, const std::vector<SourceBit>& source_bits) {
  return make_recipe(std::vector<WordForm>{form}, {}, source_bits);
}

BitRecipe make_recipe(const std::vector<WordForm>& forms, const std::vector<int>& of_word,
                      const std::vector<SourceBit>& source_bits) {
  constexpr std::size_t window = 64;  // words that are searched together
  const auto bits = static_cast<std::size_t>(forms[0].element_bits);
  const std::size_t lanes = forms[0].lanes.size();
  const auto form_of = [&](std::size_t word) -> const WordForm& {
    return forms[of_word.empty() ? 0 : static_cast<std::size_t>(of_word[word])];
  };
  const Repetition repetition = find_repetition(lanes, of_word, source_bits, bits);
  std::vector<Candidate> chosen;
  for (std::size_t i = 0; i < repetition.elements;) {
    ShapeNumbers numbers;
    std::vector<std::vector<Candidate>> words;
    for (; words.size() < window && i < repetition.elements; i += lanes) {
      const auto elements = std::min(lanes, repetition.elements - i);
      words.push_back(find_candidates(form_of(i / lanes), source_bits.data() + i * bits,
                                      static_cast<int>(elements), numbers));
    }
    const std::vector<std::size_t> found = Search(words, numbers.count()).run();
    for (std::size_t w = 0; w < words.size(); ++w) chosen.push_back(std::move(words[w][found[w]]));
  }
  BitRecipe recipe{.source_words = repetition.source_words, .repetitions = repetition.count};
  Writer writer(chosen);
  for (std::size_t w = 0; w < chosen.size(); ++w) {
    const int gathered = writer.gather(chosen[w]);
    const auto& finish = form_of(w).finish;
    recipe.results.push_back(finish ? finish(writer.steps, gathered, chosen[w].chosen) : gathered);
  }
  recipe.steps = std::move(writer.steps).take();
  return recipe;
}

}  // namespace tilevm::backend
