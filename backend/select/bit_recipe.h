// Short straight-line programs that gather bits into 32-bit words.
//
// A word of the result consists of lanes, one an element. Each bit of an element comes from some
// bit of the source words, in any order. Bits move together: all bits of a source word that need
// the same rotation are one AND of the rotated word, and a rotated word serves every result that
// needs it. The position of an element in its lane is often free (the arithmetic that follows
// scales it back), so the search chooses the positions that share the most.
//
//   cost = pieces (one word, one rotation, one mask) + distinct rotated words + what follows
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace tilevm::backend {

/// A bit of a thread's share of a tile: bit source_bit % 32 of word source_bit / 32.
using SourceBit = std::int32_t;

/// An instruction on 32-bit words; operands are earlier steps, or -1.
struct RecipeStep {
  enum class Op : std::uint8_t {
    word,           ///< source word x; no instruction
    shift_left,     ///< a << x
    shift_right,    ///< a >> x
    rotate_left,    ///< a, left by x
    funnel_right,   ///< the low half of (b : a) >> x
    permute_bytes,  ///< bytes of (b or y : a), by the digits of x
    and_xor,        ///< (a & x) ^ (b or y)
    add,            ///< a + x
    f16_fma,        ///< a * x + y in both halves, f16, rounded once
    bf16_fma,       ///< a * x + y in both halves, bf16, rounded once
    f16_from_e4m3,  ///< the two low bytes of a
    f32_from_f16,   ///< half x of a
    bf16_from_f32,  ///< the words a (low half) and b
  };
  Op op = Op::word;
  int a = -1, b = -1;
  std::uint32_t x = 0, y = 0;
  friend auto operator<=>(const RecipeStep&, const RecipeStep&) = default;
};

/// A recipe fills results.size() words from source_words words. It is used `repetitions` times,
/// each time on the next words of both.
struct BitRecipe {
  std::vector<RecipeStep> steps{};
  std::vector<int> results{};  ///< step that gives each word of the result
  int source_words = 0;
  int repetitions = 1;

  /// Instructions of one repetition.
  [[nodiscard]] int cost() const;
};

/// The steps of a recipe while it is made; a step that is there already is used again.
class RecipeSteps {
 public:
  int add(const RecipeStep& step);
  [[nodiscard]] std::vector<RecipeStep> take() && { return std::move(steps_); }

 private:
  std::vector<RecipeStep> steps_;
  std::map<RecipeStep, int> numbers_;
};

/// One way to arrange the bits of an element in its lane.
struct LaneForm {
  std::vector<int> positions;  ///< position in the lane of each bit of the element
  std::uint32_t inverted = 0;  ///< bits of the lane that are inverted: codes of constants, signs
};

/// What is made of source bits.
struct WordForm {
  int element_bits = 1;  ///< bits of an element of the source
  int lane_bits = 32;
  std::vector<int> lanes;       ///< where the lanes of a word begin; other bits do not matter
  std::vector<LaneForm> forms;  ///< an element may have any of these
  /// Adds what follows when the lanes are gathered in a step: forms[chosen[lane]] were chosen.
  std::function<int(RecipeSteps&, int gathered, const std::vector<int>& chosen)> finish;
};

}  // namespace tilevm::backend
