// An SVG under construction: shapes and words at places in pixels, and the colours of all pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilevm::vm {

/// Colours of cells with black words on them: Paul Tol's "light" scheme, whose members people with
/// any colour blindness can tell apart. An index counts modulo their number.
inline constexpr int palette_size = 8;
[[nodiscard]] std::string_view palette(std::int64_t index);

/// Text that is safe inside an XML element or attribute; control characters become blanks.
[[nodiscard]] std::string escape_xml(std::string_view text);

class Canvas {
 public:
  /// Width in pixels of a word in the font of a size (monospace).
  [[nodiscard]] static int width_of(std::string_view text, int size);

  struct Cell {
    std::int64_t x = 0, y = 0, width = 0, height = 0;
    std::string_view fill;  ///< a colour
    std::string label{};
    std::string hover{};       ///< shown by browsers under the pointer
    std::string attributes{};  ///< `data-t="5"`: of the group, already safe
    bool marked = false;       ///< whether the border is thick
  };
  /// A rectangle with a word in its middle.
  void cell(const Cell& cell);
  /// A bare rectangle.
  void box(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
           std::string_view fill);
  enum class Anchor : std::uint8_t { start, middle, end };
  /// A word; the middle, the start or the end of its base line is at (x, y).
  void word(std::int64_t x, std::int64_t y, std::string_view text, int size,
            Anchor anchor = Anchor::start, bool faint = false);
  /// A white line over a box.
  void mark(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1);

  /// The whole picture; it is as large as what is in it, with a margin.
  [[nodiscard]] std::string finish(std::string_view title) const;

  static constexpr int margin = 16;

 private:
  void reach(std::int64_t x, std::int64_t y);

  std::string body_;
  std::int64_t width_ = 0, height_ = 0;
};

}  // namespace tilevm::vm
