// A prepared DotAsync: where its operands are, and what multiplies them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "isa/dot/mma_shapes.h"
#include "sim/access/shared_access.h"
#include "sim/state/scalar_code.h"

namespace tilevm::sim {

/// Multiplies tiles of codes, a and b given by their first bytes, and adds c of the registers or
/// +0.
using ProductAction = std::function<void(Context& context, const std::uint8_t* a,
                                         const std::uint8_t* b, bool accumulate)>;

struct ProductPlan {
  std::string_view mnemonic;
  Span span{};
  const isa::MmaShape* shape = nullptr;
  std::optional<SharedAccess> a_shared;  ///< access to a in shared memory; else a is in registers
  SharedAccess b;
  Tile a;       ///< tile of a in registers; of shared memory a tile that one thread holds
  Tile b_tile;  ///< one thread holds it
  Tile c, result;
  std::string a_name, c_name, result_name;
  ScalarCode accumulate;
  bool always_adds = true;  ///< whether `accumulate` is left out
  ProductAction multiply;

  /// Whether the result replaces the addend, as the instruction of a GPU does.
  [[nodiscard]] bool is_in_place() const { return c.offset == result.offset; }
};

}  // namespace tilevm::sim
