#include "backend/emit/emit_recipe.h"

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

using Op = RecipeStep::Op;

class RecipeText {
 public:
  RecipeText(const BitRecipe& recipe, const std::string& to, const std::string& from,
             CodeWriter& out)
      : recipe_(recipe), to_(to), from_(from), out_(out), uses_(recipe.steps.size(), 0) {
    for (const RecipeStep& step : recipe.steps) {
      if (step.a >= 0) ++uses_[static_cast<std::size_t>(step.a)];
      if (step.b >= 0) ++uses_[static_cast<std::size_t>(step.b)];
    }
    for (const int result : recipe.results) ++uses_[static_cast<std::size_t>(result)];
  }

  void write() {
    recipe_.repetitions == 1 ? out_.open_plain() : out_.open_unrolled("i_", recipe_.repetitions);
    std::size_t next = 0;  // step that has no name yet
    for (std::size_t k = 0; k < recipe_.results.size(); ++k) {
      const int result = recipe_.results[k];
      for (; next <= static_cast<std::size_t>(result); ++next) {
        if (!is_named(next)) continue;
        out_.line(fmt::format("const tv::u32 t{}_ = {};", next, expression(recipe_.steps[next])));
      }
      out_.line(fmt::format("{} = {};", word(to_, recipe_.results.size(), k), operand(result)));
    }
    out_.close();
  }

 private:
  /// What several steps need has a name.
  [[nodiscard]] bool is_named(std::size_t step) const {
    return uses_[step] > 1 && recipe_.steps[step].op != Op::word;
  }

  /// Word k of the tile's words of this repetition.
  [[nodiscard]] std::string word(const std::string& tile, std::size_t words, std::size_t k) const {
    if (recipe_.repetitions == 1) return fmt::format("{}[{}]", tile, k);
    const std::string first = words == 1 ? "i_" : fmt::format("{} * i_", words);
    return k == 0 ? fmt::format("{}[{}]", tile, first) : fmt::format("{}[{} + {}]", tile, first, k);
  }

  [[nodiscard]] std::string operand(int step) const {
    const auto index = static_cast<std::size_t>(step);
    return is_named(index) ? fmt::format("t{}_", step) : expression(recipe_.steps[index]);
  }

  /// The second operand, which may be a constant.
  [[nodiscard]] std::string second(const RecipeStep& step) const {
    return step.b >= 0 ? operand(step.b) : fmt::format("{:#x}u", step.y);
  }

  [[nodiscard]] std::string expression(const RecipeStep& step) const {
    const auto call = [&](const char* function, auto... constants) {
      std::string text = fmt::format("tv::{}({}", function, operand(step.a));
      ((text += fmt::format(", {:#x}u", constants)), ...);
      return text + ")";
    };
    switch (step.op) {
      case Op::word:
        return word(from_, static_cast<std::size_t>(recipe_.source_words), step.x);
      case Op::shift_left:
        return fmt::format("({} << {})", operand(step.a), step.x);
      case Op::shift_right:
        return fmt::format("({} >> {})", operand(step.a), step.x);
      case Op::rotate_left:
        return fmt::format("tv::rotate_left({}, {})", operand(step.a), step.x);
      case Op::funnel_right:
        return fmt::format("tv::funnel_right({}, {}, {})", operand(step.a), operand(step.b),
                           step.x);
      case Op::permute_bytes:
        return fmt::format("tv::permute_bytes({}, {}, {:#06x}u)", operand(step.a), second(step),
                           step.x);
      case Op::and_xor:
        return fmt::format("tv::and_xor({}, {:#x}u, {})", operand(step.a), step.x, second(step));
      case Op::add:
        return fmt::format("({} + {:#x}u)", operand(step.a), step.x);
      case Op::f16_fma:  // times one: a sum, which needs no register for the factor
        return step.x == 0x3c003c00U && step.y != 0x80008000U ? call("f16x2_add", step.y)
                                                              : call("f16x2_fma", step.x, step.y);
      case Op::bf16_fma:
        return call("bf16x2_fma", step.x, step.y);
      case Op::f16_from_e4m3:
        return call("f16x2_from_e4m3x2");
      case Op::f32_from_f16:
        return fmt::format("tv::f32_from_f16({}{})", operand(step.a), step.x == 0 ? "" : " >> 16");
      case Op::bf16_from_f32:
        return fmt::format("tv::bf16x2_from_f32({}, {})", operand(step.a), operand(step.b));
    }
    return {};
  }

  const BitRecipe& recipe_;
  const std::string &to_, &from_;
  CodeWriter& out_;
  std::vector<int> uses_;  // by step
};

}  // namespace

void emit_recipe(const BitRecipe& recipe, const std::string& to, const std::string& from,
                 CodeWriter& out) {
  RecipeText(recipe, to, from, out).write();
}

}  // namespace tilevm::backend
