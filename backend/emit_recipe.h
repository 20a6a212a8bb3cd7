// Bit recipes as text: expressions over the words of a tile.
#pragma once

#include <string>

#include "backend/bit_recipe.h"
#include "backend/code_writer.h"

namespace tilevm::backend {

/// Fills the words of the tile `to` from those of the tile `from`, which is another.
void emit_recipe(const BitRecipe& recipe, const std::string& to, const std::string& from,
                 CodeWriter& out);

}  // namespace tilevm::backend
