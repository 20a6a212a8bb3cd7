#include "vm/picture/layout_svg.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "isa/layout/draw_sheet.h"
#include "vm/picture/bit_rows.h"
#include "vm/picture/canvas.h"

namespace tilevm::vm {

namespace {

using isa::Index;
using isa::Sheet;

constexpr std::int64_t most_cells = std::int64_t{1} << 14;
constexpr int cell_height = 20, least_width = 30, number_size = 10, word_size = 12, title_size = 14;
constexpr int bit_width = 15, banks_width = 24;

/// Where the next thing is drawn, and how far what was drawn reaches.
struct Area {
  std::int64_t x = Canvas::margin, y = Canvas::margin;
  std::int64_t right = 0, bottom = 0;

  void reach(std::int64_t to_x, std::int64_t to_y) {
    right = std::max(right, to_x);
    bottom = std::max(bottom, to_y);
  }
};

/// What a cell of a sheet shows.
using Paint = std::function<void(const Index&, Canvas::Cell&)>;

/// The tables of a sheet from `area` down.
class SheetDrawing {
 public:
  SheetDrawing(Canvas& canvas, Area& area, const Sheet& sheet, std::size_t rank, const Paint& paint)
      : canvas_(canvas), area_(area), sheet_(sheet), rank_(rank), paint_(paint) {}

  void draw() {
    measure();
    for (const auto& panel : sheet_.panels()) draw_panel(panel);
    if (sheet_.omitted() > 0) {
      area_.y += 16;
      canvas_.word(area_.x, area_.y, sheet_.omission(), word_size);
      area_.reach(area_.x + Canvas::width_of(sheet_.omission(), word_size), area_.y);
    }
  }

 private:
  template <class F>
  void for_each_cell(const Sheet::Panel& panel, F&& f) const {
    for (std::int64_t row = 0; row < panel.rows; ++row) {
      for (std::int64_t col = 0; col < panel.cols; ++col) {
        if (const auto index = sheet_.index(panel, row, col)) f(row, col, *index);
      }
    }
  }

  /// The widest label sets the width of all cells, the largest row number that of the margin.
  void measure() {
    std::int64_t rows = 1;
    for (const auto& panel : sheet_.panels()) {
      rows = std::max(rows, rank_ == 1 ? panel.rows * panel.cols : panel.rows);
      for_each_cell(panel, [&](std::int64_t, std::int64_t, const Index& index) {
        Canvas::Cell cell;
        paint_(index, cell);
        width_ = std::max<std::int64_t>(width_, Canvas::width_of(cell.label, 11) + 6);
      });
    }
    numbers_ = Canvas::width_of(fmt::format("{}", rows - 1), number_size) + 8;
  }

  void draw_panel(const Sheet::Panel& panel) {
    if (!panel.heading.empty()) {
      area_.y += 18;
      canvas_.word(area_.x, area_.y, panel.heading, word_size);
    }
    area_.y += 16;
    const std::int64_t left = area_.x + numbers_;
    for (std::int64_t col = 0; col < panel.cols; ++col) {
      canvas_.word(left + col * width_ + width_ / 2, area_.y - 4, fmt::format("{}", col),
                   number_size, Canvas::Anchor::middle, true);
    }
    for (std::int64_t row = 0; row < panel.rows; ++row) {
      const std::int64_t first = rank_ == 1 ? row * panel.cols : row;
      canvas_.word(left - 5, area_.y + row * cell_height + 14, fmt::format("{}", first),
                   number_size, Canvas::Anchor::end, true);
    }
    for_each_cell(panel, [&](std::int64_t row, std::int64_t col, const Index& index) {
      Canvas::Cell cell{left + col * width_, area_.y + row * cell_height, width_, cell_height, {}};
      paint_(index, cell);
      canvas_.cell(cell);
    });
    area_.y += panel.rows * cell_height + 4;
    area_.reach(left + panel.cols * width_, area_.y);
  }

  Canvas& canvas_;
  Area& area_;
  const Sheet& sheet_;
  std::size_t rank_;
  const Paint& paint_;
  std::int64_t width_ = least_width;
  int numbers_ = 0;
};

void heading(Canvas& canvas, Area& area, const std::string& text, int size, bool faint = false) {
  area.y += size + 4;
  canvas.word(area.x, area.y, text, size, Canvas::Anchor::start, faint);
  area.reach(area.x + Canvas::width_of(text, size), area.y);
}

std::string place_of_bits(std::int64_t local, int bits) {
  if (bits == 0) return "";
  const std::int64_t first = local * bits, last = first + bits - 1;
  std::string text =
      fmt::format(", bits {}..{} of the thread: register {}", first, last, first / register_bits);
  if (last / register_bits != first / register_bits) {
    text += fmt::format(" and {}", last / register_bits);
  }
  return text + fmt::format(", from bit {}", first % register_bits);
}

void draw_registers(Canvas& canvas, Area& area, const TypedLayout& typed) {
  const isa::RegisterLayout& layout = *typed.registers();
  heading(canvas, area, typed.text, title_size);
  heading(canvas, area, "thread:local of each element; colours are threads modulo 8", word_size,
          true);
  const isa::CellLabels labels(layout);
  const Paint paint = [&](const Index& index, Canvas::Cell& cell) {
    const std::int64_t thread = labels.thread(index), local = layout.local_of(index);
    cell.fill = palette(thread);
    cell.label = labels.label(index);
    cell.hover = fmt::format("{}: thread {}, local {}{}", isa::to_string(index),
                             labels.threads(index), local, place_of_bits(local, typed.bits()));
    cell.attributes =
        fmt::format("data-t=\"{}\" data-h=\"{}\" data-l=\"{}\" data-b=\"{}\" data-e=\"{}\"", thread,
                    labels.threads(index), local, typed.bits(), isa::to_string(index));
  };
  const Sheet sheet(layout.shape(), most_cells);
  SheetDrawing(canvas, area, sheet, layout.shape().size(), paint).draw();
}

/// An element narrower than a byte has the bank of its first bit.
std::int64_t bank_of(std::int64_t offset, int bits) {
  return offset * bits / register_bits % sim::shared_banks;
}

void draw_memory(Canvas& canvas, Area& area, const TypedLayout& typed) {
  const isa::MemoryLayout& layout = *typed.memory();
  heading(canvas, area, typed.text, title_size);
  heading(canvas, area,
          typed.dtype ? "offset@bank of each element; a colour is four banks"
                      : "offset of each element; write the type before the layout to see banks",
          word_size, true);
  const int bits = typed.bits();
  const Paint paint = [&](const Index& index, Canvas::Cell& cell) {
    const std::int64_t offset = layout.offset(index);
    const std::int64_t bank = bank_of(offset, bits);
    cell.fill = bits > 0 ? palette(bank / 4) : palette(7);
    cell.label = bits > 0 ? fmt::format("{}@{}", offset, bank) : fmt::format("{}", offset);
    cell.hover = fmt::format("{}: offset {}", isa::to_string(index), offset);
    if (bits > 0) {
      cell.hover += fmt::format(", byte {}, bank {}", offset * bits / 8, bank);
      cell.attributes = fmt::format("data-k=\"{}\" data-e=\"{}\" data-o=\"{}\"", bank,
                                    isa::to_string(index), offset);
    }
  };
  const Sheet sheet(layout.shape(), most_cells);
  SheetDrawing(canvas, area, sheet, layout.shape().size(), paint).draw();
}

/// The registers of thread 0, a row for each layout.
void draw_thread(Canvas& canvas, Area& area, const std::vector<TypedLayout>& layouts) {
  constexpr std::int64_t most_registers = 8;
  std::int64_t registers = 0;
  int names = 0;
  for (const TypedLayout& one : layouts) {
    registers = std::max(registers, register_count(one.registers()->num_locals(), one.bits()));
    names = std::max(names, Canvas::width_of("r00 " + isa::to_string(*one.dtype), word_size) + 8);
  }
  area.y += 8;
  heading(canvas, area, "registers of thread 0, the lowest bit first", word_size);
  area.y += 16;
  const std::int64_t left = area.x + names;
  const std::int64_t used = layouts.front().registers()->num_locals() * layouts.front().bits();
  for (int bit = 0; bit < std::min<std::int64_t>(used, register_bits); bit += 4) {
    canvas.word(left + bit * bit_width + bit_width / 2, area.y - 4, fmt::format("{}", bit),
                number_size, Canvas::Anchor::middle, true);
  }
  for (std::int64_t r = 0; r < std::min(registers, most_registers); ++r) {
    for (const TypedLayout& one : layouts) {
      const isa::RegisterLayout& layout = *one.registers();
      canvas.word(area.x, area.y + 14, fmt::format("r{} {}", r, isa::to_string(*one.dtype)),
                  word_size, Canvas::Anchor::start, true);
      for (const BitRun& run : runs_of_register(layout.num_locals(), one.bits(), r)) {
        const std::string element = isa::to_string(layout.element(0, run.local));
        Canvas::Cell cell{left + run.begin * bit_width,
                          area.y,
                          std::int64_t{run.end - run.begin} * bit_width,
                          cell_height,
                          palette(run.local),
                          element};
        if (Canvas::width_of(cell.label, 11) > cell.width)
          cell.label = fmt::format("{}", run.local);
        if (Canvas::width_of(cell.label, 11) > cell.width) cell.label.clear();
        cell.hover = fmt::format("{}, local {}: bits {}..{} of register {}", element, run.local,
                                 run.begin, run.end - 1, r);
        canvas.cell(cell);
      }
      area.y += cell_height;
    }
    area.y += 6;
  }
  if (registers > most_registers) {
    heading(canvas, area, fmt::format("... {} more registers", registers - most_registers),
            word_size, true);
  }
  area.reach(left + register_bits * bit_width, area.y);
}

std::string list_lanes(const std::vector<unsigned>& lanes) {
  std::string text;
  for (const unsigned lane : lanes) text += fmt::format("{}{}", text.empty() ? "" : ", ", lane);
  return text;
}

void draw_wavefronts(Canvas& canvas, Area& area, const SharedAccessPicture& access) {
  const sim::SharedRequest& request = access.requests[access.worst];
  area.y += 8;
  heading(canvas, area,
          fmt::format("{} of the tile: {}", request.stores ? "store" : "load", access.how),
          word_size);
  heading(canvas, area, describe(access), word_size);
  heading(canvas, area,
          fmt::format("request {}: warp {}, {} bytes a thread; a row is a wavefront, a column a "
                      "bank, a number the lane that is served",
                      access.worst, request.warp, request.width),
          word_size, true);
  area.y += 16;
  const std::int64_t left = area.x + 60;
  for (unsigned bank = 0; bank < sim::shared_banks; ++bank) {
    canvas.word(left + bank * banks_width + banks_width / 2, area.y - 4, fmt::format("{}", bank),
                number_size, Canvas::Anchor::middle, true);
  }
  std::int64_t number = 0, part = -1;
  for (const Wavefront& wavefront : wavefronts_of(request)) {
    const bool waits = wavefront.part == part;
    part = wavefront.part;
    canvas.word(left - 6, area.y + 14, fmt::format("pass {}", number++), number_size,
                Canvas::Anchor::end, true);
    for (unsigned bank = 0; bank < sim::shared_banks; ++bank) {
      const auto& lanes = wavefront.lanes[bank];
      Canvas::Cell cell{left + bank * banks_width, area.y, banks_width, cell_height,
                        lanes.empty() ? "none" : palette(lanes.front())};
      if (!lanes.empty()) {
        cell.label = fmt::format("{}{}", lanes.front(), lanes.size() > 1 ? "+" : "");
        cell.hover = fmt::format("bank {}: lane {}{}", bank, list_lanes(lanes),
                                 waits ? ", after the wavefront above" : "");
        cell.attributes = fmt::format("data-k=\"{}\"", bank);
        cell.marked = waits;
      }
      canvas.cell(cell);
    }
    area.y += cell_height;
  }
  area.reach(left + sim::shared_banks * banks_width, area.y);
}

}  // namespace

std::string draw_svg(const SharedAccessPicture& access) {
  Canvas canvas;
  Area area;
  draw_wavefronts(canvas, area, access);
  return canvas.finish(describe(access));
}

std::string draw_svg(const LayoutScene& scene) {
  constexpr std::int64_t gap = 40;
  Canvas canvas;
  Area area;
  std::int64_t bottom = 0;
  bool typed_registers = true;
  std::string title;
  for (const TypedLayout& one : scene.layouts) {
    if (area.right > 0) area.x = area.right + gap;
    area.y = Canvas::margin;
    one.registers() != nullptr ? draw_registers(canvas, area, one) : draw_memory(canvas, area, one);
    bottom = std::max(bottom, area.y);
    typed_registers = typed_registers && one.registers() != nullptr && one.dtype;
    title += (title.empty() ? "" : " | ") + one.text;
  }
  area.x = Canvas::margin;
  area.y = bottom;
  if (typed_registers) draw_thread(canvas, area, scene.layouts);
  if (scene.access != nullptr) draw_wavefronts(canvas, area, *scene.access);
  return canvas.finish(title);
}

}  // namespace tilevm::vm
