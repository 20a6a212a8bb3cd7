#include "vm/debug/render_tile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/type/number.h"

namespace tilevm::vm {

namespace {

namespace reply = sim::debug::reply;
using sim::debug::Element;

/// Rows, columns and tables that are shown of a tile.
constexpr std::int64_t most_rows = 16, most_columns = 16, most_tables = 4;

std::string index_text(const isa::Index& index) {
  return fmt::format("[{}]", fmt::join(index, ", "));
}

/// ", from -1 to 2.5, 3 NaN, 1 undefined".
std::string statistics(const reply::Tile& tile, Format format) {
  std::string text;
  if (tile.lowest) {
    text += fmt::format(", from {} to {}", element_text(tile.dtype, {*tile.lowest, false}, format),
                        element_text(tile.dtype, {*tile.highest, false}, format));
  }
  if (tile.nan > 0) text += fmt::format(", {} NaN", tile.nan);
  if (tile.inf > 0) text += fmt::format(", {} Inf", tile.inf);
  if (tile.undefined > 0) text += fmt::format(", {} undefined", tile.undefined);
  if (tile.outside_view) {
    const bool several = tile.outside.size() > 1;
    text += fmt::format(", {} {}{}", tile.outside.size(), several ? "from " : "",
                        outside_text(*tile.outside_view, several));
  }
  return text;
}

/// One table: the elements of the last two dimensions from `first` on.
std::string table_text(const reply::Tile& tile, std::int64_t first, std::int64_t rows,
                       std::int64_t columns, Format format) {
  const std::int64_t shown_rows = std::min(rows, most_rows);
  const std::int64_t shown_columns = std::min(columns, most_columns);
  std::vector<std::vector<std::string>> cells;
  std::size_t width = 1;
  for (std::int64_t y = 0; y < shown_rows; ++y) {
    cells.emplace_back();
    for (std::int64_t x = 0; x < shown_columns; ++x) {
      const auto k = static_cast<std::size_t>(first + y * columns + x);
      cells.back().push_back(
          k < tile.elements.size() ? element_text(tile.dtype, tile.elements[k], format) : "..");
      width = std::max(width, cells.back().back().size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : cells) {
    std::string line = " ";
    for (const std::string& cell : row) line += fmt::format(" {:>{}}", cell, width);
    if (columns > shown_columns) line += " ...";
    text += line + '\n';
  }
  if (rows > shown_rows) text += "  ...\n";
  return text;
}

/// ", outside of the view [100], `x[105]`" of an element that came from there.
std::string origin_text(const reply::ThreadTile& tile, std::size_t place) {
  const auto& outside = tile.outside[place];
  return outside ? ", " + outside_text(*outside) : std::string();
}

/// The bits of a number, in groups of four from the right.
std::string grouped_bits(std::uint64_t code, unsigned bits) {
  std::string text;
  for (unsigned i = bits; i-- > 0;) {
    text += (code >> i & 1) != 0 ? '1' : '0';
    if (i % 4 == 0 && i > 0 && bits > 8) text += '_';
  }
  return text;
}

}  // namespace

std::string element_text(const isa::DType& dtype, const Element& element, Format format) {
  if (element.undefined) return "?";
  switch (format) {
    case Format::value:
      return isa::format_value(dtype, element.code);
    case Format::hex:
      return fmt::format("0x{:0{}x}", element.code, (dtype.bits + 3) / 4);
    case Format::bits:
      return grouped_bits(element.code, dtype.bits);
    case Format::codes:
      return fmt::format("{}", element.code);
  }
  TILEVM_NO_ENUMERATOR();
}

std::string scalar_text(const isa::Scalar& scalar, Format format) {
  switch (format) {
    case Format::value:
      return isa::to_string(scalar);
    case Format::hex:
    case Format::codes:
      return fmt::format("{:#x}", scalar.bits);
    case Format::bits:
      return fmt::format("0b{:b}", scalar.bits);
  }
  TILEVM_NO_ENUMERATOR();
}

std::string outside_text(const reply::OutsideView& outside, bool several) {
  if (outside.index.empty()) {
    return fmt::format("outside of the view [{}] of `{}`", fmt::join(outside.extents, ", "),
                       outside.view);
  }
  return fmt::format("outside of the view [{}], {}`{}{}`", fmt::join(outside.extents, ", "),
                     several ? "first " : "", outside.view, index_text(outside.index));
}

std::string block_text(const std::vector<std::int64_t>& block) {
  return fmt::format("[{}]", fmt::join(block, ", "));
}

std::string tile_text(const reply::Tile& tile, const SourceFile& source, Format format) {
  if (tile.overwritten.line > 0) {
    reply::Tile shown = tile;
    shown.overwritten = {};
    return fmt::format("line {} has written these registers again since\n",
                       line_text(source, tile.overwritten)) +
           tile_text(shown, source, format);
  }
  if (tile.elements.empty()) return fmt::format("{}: {}, no element\n", tile.text, tile.type);
  if (tile.shape.empty()) {
    std::string text =
        fmt::format("{} = {}", tile.text, element_text(tile.dtype, tile.elements.front(), format));
    text += fmt::format("  ({}", isa::to_string(tile.dtype));
    if (format == Format::value && !tile.elements.front().undefined) {
      text += ' ' + element_text(tile.dtype, tile.elements.front(), Format::hex);
    }
    if (tile.elements.front().undefined) text += ", undefined";
    if (tile.outside_view) text += ", " + outside_text(*tile.outside_view);
    if (tile.threads.size() == 1) {
      text += fmt::format(", thread {} place {}", tile.threads.front(), tile.local);
    } else if (!tile.threads.empty()) {
      text += fmt::format(", threads {} place {}", fmt::join(tile.threads, " "), tile.local);
    }
    return text + ")\n";
  }
  const std::size_t rank = tile.shape.size();
  const std::int64_t columns = tile.shape[rank - 1];
  const std::int64_t rows = rank > 1 ? tile.shape[rank - 2] : 1;
  const std::int64_t tables = isa::element_count(tile.shape) / (rows * columns);
  std::string text = tile.text + ": ";
  if (tile.text.find('[') != std::string::npos) {
    text += fmt::format("{}[{}] of ", isa::to_string(tile.dtype), fmt::join(tile.shape, ", "));
  }
  text += tile.type;
  text += statistics(tile, format) + '\n';
  for (std::int64_t k = 0; k < std::min(tables, most_tables); ++k) {
    if (tables > 1) {
      const isa::Shape leading(tile.shape.begin(), tile.shape.end() - 2);
      text += fmt::format(" {}\n", index_text(isa::unravel(k, leading)));
    }
    text += table_text(tile, k * rows * columns, rows, columns, format);
  }
  if (tables > most_tables) text += fmt::format(" and {} more\n", tables - most_tables);
  return text;
}

std::string thread_text(const reply::ThreadTile& tile, Format format) {
  std::string text =
      fmt::format("{}: {}, thread {} holds {} element{}\n", tile.text, tile.type, tile.thread,
                  tile.elements.size(), tile.elements.size() == 1 ? "" : "s");
  constexpr std::size_t most = 64;
  for (std::size_t i = 0; i < std::min(tile.elements.size(), most); ++i) {
    text += fmt::format("  place {:<3} {:<10} {}{}\n", i, index_text(tile.indices[i]),
                        element_text(tile.dtype, tile.elements[i], format), origin_text(tile, i));
  }
  if (tile.elements.size() > most) {
    text += fmt::format("  and {} more\n", tile.elements.size() - most);
  }
  return text;
}

std::string thread_bits_text(const reply::ThreadTile& tile) {
  const unsigned n = tile.dtype.bits;
  std::string text = fmt::format("{}: {}, thread {}, {} bits\n", tile.text, tile.type, tile.thread,
                                 tile.elements.size() * n);
  constexpr std::size_t most = 64;
  for (std::size_t r = 0; r * 4 < std::min(tile.bytes.size(), most); ++r) {
    std::string bits;
    const std::size_t end = std::min(tile.bytes.size(), (r + 1) * 4);
    for (std::size_t b = end; b-- > r * 4;) {
      bits += fmt::format("{:08b}{}", tile.bytes[b], b > r * 4 ? " " : "");
    }
    text += fmt::format("  register {:<2} {:>35}\n", r, bits);
  }
  for (std::size_t i = 0; i < std::min(tile.elements.size(), most); ++i) {
    const std::size_t first = i * n, last = first + n - 1;
    const std::string where =
        first / 32 == last / 32
            ? fmt::format("register {} bits {}..{}", first / 32, first % 32, last % 32)
            : fmt::format("register {} bit {} to register {} bit {}", first / 32, first % 32,
                          last / 32, last % 32);
    text += fmt::format("  place {:<3} {:<10} {:<34} {} = {}{}\n", i, index_text(tile.indices[i]),
                        where, element_text(tile.dtype, tile.elements[i], Format::bits),
                        element_text(tile.dtype, tile.elements[i], Format::value),
                        origin_text(tile, i));
  }
  return text;
}

namespace {

/// ", read by threads 1, 4 and 2 more at line 5".
std::string readers_text(const reply::MemoryElement& element, const SourceFile& source) {
  if (element.readers.empty()) return "";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < element.readers.size(); ++i) {
    const auto& reader = element.readers[i];
    const bool last_of_line =
        i + 1 == element.readers.size() || element.readers[i + 1].line != reader.line;
    parts.push_back(fmt::format("{}{}", reader.thread,
                                last_of_line ? " at line " + line_text(source, reader.line) : ""));
  }
  const std::size_t count = element.readers.size() + element.more_readers;
  std::string text =
      fmt::format(", read by thread{} {}", count == 1 ? "" : "s", fmt::join(parts, ", "));
  if (element.more_readers > 0) text += fmt::format(" and {} more", element.more_readers);
  return text;
}

}  // namespace

std::string memory_text(const reply::MemoryShown& memory, const SourceFile& source, Format format) {
  std::string text = fmt::format("{}: {}, in {} memory\n", memory.text, memory.type,
                                 memory.shared ? "shared" : "global");
  for (const reply::MemoryElement& element : memory.elements) {
    const std::string where = element.bit % 8 == 0
                                  ? fmt::format("byte {}", element.bit / 8)
                                  : fmt::format("byte {} bit {}", element.bit / 8, element.bit % 8);
    text += fmt::format("  {:<12} {:<16} {}", index_text(element.index), where,
                        element_text(memory.dtype, element.element, format));
    if (element.in_flight) {
      text += element.group > 0 ? fmt::format(", in flight from group {}", element.group)
                                : std::string(", in flight, not committed");
      text += fmt::format(" (line {})", line_text(source, element.line));
    } else if (element.writer) {
      text += fmt::format(", written by thread {} at line {}, seen by others after a barrier",
                          *element.writer, line_text(source, element.line));
    }
    text += readers_text(element, source);
    if (!element.next_threads.empty()) {
      text += fmt::format(
          ", line {} is about to {} it in thread{} {}", line_text(source, memory.next_line),
          memory.next_writes ? "write" : "read", element.next_threads.size() == 1 ? "" : "s",
          fmt::join(element.next_threads, ", "));
    }
    text += '\n';
  }
  return text;
}

}  // namespace tilevm::vm
