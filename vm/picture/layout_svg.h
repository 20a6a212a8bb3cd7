// Pictures of layouts as SVG, and as pages whose cells answer the pointer.
#pragma once

#include <string>
#include <vector>

#include "vm/picture/banks.h"
#include "vm/picture/typed_layout.h"

namespace tilevm::vm {

/// What a picture shows, beside one another: one layout; two register layouts of the same threads
/// and bits (a View); or a memory layout with an access of a tile.
struct LayoutScene {
  std::vector<TypedLayout> layouts;  ///< one or two
  const SharedAccessPicture* access = nullptr;
};

/// A self-contained SVG. Cells are elements, coloured by thread or by bank; at most 2^14 a layout.
/// Under typed register layouts the registers of thread 0, bit by bit; under an access the
/// wavefronts of its worst request. Legible on light and dark, and without colours.
[[nodiscard]] std::string draw_svg(const LayoutScene& scene);

/// An SVG of the wavefronts of an access alone.
[[nodiscard]] std::string draw_svg(const SharedAccessPicture& access);

/// A self-contained page around the SVG. Under the pointer a cell names its element, threads,
/// registers and bits; all cells of its thread light up, in both layouts, and those that share bits
/// with it; the registers of that thread are drawn below.
[[nodiscard]] std::string draw_html(const LayoutScene& scene);

}  // namespace tilevm::vm
