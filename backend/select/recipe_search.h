// The search for the shortest recipe (bit_recipe.h).
#pragma once

#include <vector>

#include "backend/select/bit_recipe.h"

namespace tilevm::backend {

/// The recipe for elements whose bit b of element i comes from source_bits[i * element_bits + b].
/// Equal requests give equal recipes.
[[nodiscard]] BitRecipe make_recipe(const WordForm& form,
                                    const std::vector<SourceBit>& source_bits);
/// The recipe where word w has the form forms[of_word[w]], or the first if `of_word` is empty. All
/// forms have the same lanes and element bits.
[[nodiscard]] BitRecipe make_recipe(const std::vector<WordForm>& forms,
                                    const std::vector<int>& of_word,
                                    const std::vector<SourceBit>& source_bits);

}  // namespace tilevm::backend
