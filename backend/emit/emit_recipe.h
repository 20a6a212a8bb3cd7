// Bit recipes as text: expressions over the words of a tile.
#pragma once

#include <string>

#include "backend/emit/code_writer.h"
#include "backend/select/bit_recipe.h"

namespace tilevm::backend {

/// Fills the words of the tile `to` from the words of another tile, `from`.
void emit_recipe(const BitRecipe& recipe, const std::string& to, const std::string& from,
                 CodeWriter& out);

}  // namespace tilevm::backend
