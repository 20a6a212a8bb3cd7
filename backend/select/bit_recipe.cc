#include "backend/select/bit_recipe.h"

#include <algorithm>

namespace tilevm::backend {

int RecipeSteps::add(const RecipeStep& step) {
  const auto [known, is_new] = numbers_.emplace(step, static_cast<int>(steps_.size()));
  if (is_new) steps_.push_back(step);
  return known->second;
}

int BitRecipe::cost() const {
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const RecipeStep& step) {
    return step.op != RecipeStep::Op::word;
  }));
}

}  // namespace tilevm::backend
