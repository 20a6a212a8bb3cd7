#include "isa/inst/schema.h"

namespace tilevm::isa {

std::string_view to_string(Category category) {
  switch (category) {
    case Category::indexing:
      return "Indexing";
    case Category::creation:
      return "Tensor creation";
    case Category::transfer:
      return "Tensor transfer";
    case Category::compute:
      return "Register tensor computation";
    case Category::control:
      return "Control";
    case Category::debug:
      return "Debug";
  }
  return "";
}

}  // namespace tilevm::isa
