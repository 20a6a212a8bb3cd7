#include "vm/picture/sectors.h"

#include <algorithm>

#include <fmt/format.h>

#include "isa/access/access_plan.h"
#include "sim/counting/copy_requests.h"
#include "vm/picture/canvas.h"

namespace tilevm::vm {

namespace {

constexpr std::int64_t cell_width = 26, cell_height = 20, sector_gap = 8, left = 76;
constexpr int word_size = 13, number_size = 11;
/// Lines of a picture; what is more is only counted.
constexpr std::size_t most_lines = 64;

std::string list_lanes(const std::vector<unsigned>& lanes) {
  std::string text;
  for (const unsigned lane : lanes) text += fmt::format("{}{}", text.empty() ? "" : ", ", lane);
  return text;
}

/// Where a word of a line is drawn.
std::int64_t x_of(unsigned word) {
  return left + word * cell_width + word / words_of_sector * sector_gap;
}

void draw_line(Canvas& canvas, std::int64_t y, std::uint64_t number, const LineWords& words) {
  canvas.word(left - 8, y + 14, fmt::format("line {}", number), number_size, Canvas::Anchor::end,
              true);
  for (unsigned word = 0; word < words_of_line; ++word) {
    const unsigned first = word / words_of_sector * words_of_sector;
    const bool fetched = std::any_of(words.begin() + first, words.begin() + first + words_of_sector,
                                     [](const auto& lanes) { return !lanes.empty(); });
    const auto& lanes = words[word];
    Canvas::Cell cell{x_of(word), y, cell_width, cell_height,
                      lanes.empty() ? "none" : palette(lanes.front())};
    const std::string bytes =
        fmt::format("bytes {}..{} of line {}", word * 4, word * 4 + 3, number);
    if (!lanes.empty()) {
      cell.label = fmt::format("{}{}", lanes.front(), lanes.size() > 1 ? "+" : "");
      cell.hover = fmt::format("{}: lane {}", bytes, list_lanes(lanes));
    } else if (fetched) {
      cell.marked = true;
      cell.hover = bytes + ": fetched with their sector, and not used";
    }
    canvas.cell(cell);
    if (cell.marked) {  // a word of the page, which is legible on dark, too
      canvas.word(cell.x + cell_width / 2, y + 14, "x", number_size, Canvas::Anchor::middle);
    }
  }
}

}  // namespace

std::map<std::uint64_t, LineWords> lines_of(const sim::GlobalRequest& request) {
  std::map<std::uint64_t, LineWords> lines;
  for (const sim::LaneAccess& lane : request.lanes) {
    if (lane.bytes == 0) continue;
    for (std::uint64_t word = lane.address / 4; word * 4 < lane.address + lane.bytes; ++word) {
      auto& lanes = lines[word / words_of_line][word % words_of_line];
      if (lanes.empty() || lanes.back() != lane.lane) lanes.push_back(lane.lane);
    }
  }
  return lines;
}

std::optional<GlobalAccessPicture> global_access_of(const isa::VerifiedProgram& program, int kernel,
                                                    const isa::InstStmt& stmt) {
  GlobalAccessPicture picture;
  picture.requests = sim::global_requests(program, kernel, stmt);
  if (picture.requests.empty()) return std::nullopt;
  picture.how = isa::describe(program.info(kernel).access_plan(stmt));
  const std::vector<sim::WarpAccess> destinations = sim::copy_destinations(program, kernel, stmt);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < picture.requests.size(); ++i) {
    const sim::WarpAccess& lanes = picture.requests[i].lanes;
    const sim::AccessCount count = destinations.size() == picture.requests.size()
                                       ? sim::count_copied_sectors(lanes, destinations[i])
                                       : sim::count_sectors(lanes);
    picture.total += count;
    if (count.transfers > most) {
      most = count.transfers;
      picture.worst = i;
    }
  }
  return picture;
}

std::string describe(const GlobalAccessPicture& picture) {
  const sim::AccessCount& total = picture.total;
  const std::uint64_t more = total.transfers - std::min(total.ideal, total.transfers);
  return fmt::format("{} request{} of warps: {} sector{}, {}", total.requests,
                     total.requests == 1 ? "" : "s", total.transfers,
                     total.transfers == 1 ? "" : "s",
                     more == 0 ? std::string("as few as the bytes fill")
                               : fmt::format("{} more than the bytes fill", more));
}

std::string draw_svg(const GlobalAccessPicture& picture) {
  const sim::GlobalRequest& request = picture.requests[picture.worst];
  const auto lines = lines_of(request);
  Canvas canvas;
  std::int64_t y = Canvas::margin + 8;
  const auto heading = [&](const std::string& text, bool faint) {
    canvas.word(Canvas::margin, y, text, word_size, Canvas::Anchor::start, faint);
    y += 18;
  };
  heading(fmt::format("{} of the tile: {}", request.stores ? "store" : "load", picture.how), false);
  heading(describe(picture), false);
  heading(
      fmt::format("request {}: warp {}; a row is a cache line of 128 bytes, a group a sector of "
                  "32, a cell 4 bytes, a number the lane",
                  picture.worst, request.warp),
      true);
  y += 14;
  for (unsigned sector = 0; sector < words_of_line / words_of_sector; ++sector) {
    canvas.word(x_of(sector * words_of_sector), y - 4, fmt::format("sector {}", sector),
                number_size, Canvas::Anchor::start, true);
  }
  std::size_t drawn = 0;
  for (const auto& [number, words] : lines) {
    if (drawn++ == most_lines) break;
    draw_line(canvas, y, number - lines.begin()->first, words);
    y += cell_height;
  }
  if (lines.size() > most_lines) {
    y += 16;
    heading(fmt::format("... {} more lines", lines.size() - most_lines), true);
  }
  return canvas.finish(describe(picture));
}

}  // namespace tilevm::vm
