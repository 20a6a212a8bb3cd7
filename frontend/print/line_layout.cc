#include "frontend/print/line_layout.h"

#include <algorithm>

namespace tilevm::frontend {
namespace {

std::size_t column(const std::string& out) {
  const std::size_t last = out.rfind('\n');
  return last == std::string::npos ? out.size() : out.size() - last - 1;
}

void strip_spaces(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
}

}  // namespace

void LineLayout::open(char bracket) {
  flat_ += bracket;
  ++depth_;
}

void LineLayout::close(char bracket) {
  flat_ += bracket;
  --depth_;
}

void LineLayout::comma() {
  flat_ += ", ";
  if (depth_ > 0) breaks_.push_back({flat_.size(), depth_});
}

void LineLayout::comment(std::string_view text, bool own_line) {
  notes_.push_back({flat_.size(), std::string(text), own_line});
}

std::string LineLayout::lay_out(std::size_t indent, std::size_t hang) const {
  std::string out(indent, ' ');
  std::size_t begin = 0;
  for (const Note& note : notes_) {
    segment(out, begin, note.at, indent + hang);
    begin = note.at;
    const bool line_is_empty = column(out) == indent + hang && out.back() == ' ';
    strip_spaces(out);
    if (line_is_empty) {
      out += std::string(indent + hang, ' ') + note.text;
    } else if (note.own_line) {
      out += "\n" + std::string(indent + hang, ' ') + note.text;
    } else {
      out += "  " + note.text;
    }
    out += "\n" + std::string(indent + hang, ' ');
  }
  segment(out, begin, flat_.size(), indent + hang);
  return out;
}

/// Writes flat_[begin, end), breaking it where it is too long for the line.
void LineLayout::segment(std::string& out, std::size_t begin, std::size_t end,
                         std::size_t hang) const {
  while (true) {
    const std::size_t used = column(out);
    const std::size_t room = line_width > used ? line_width - used : 0;
    const std::size_t at = end - begin > room ? best_break(begin, end, room) : end;
    out.append(flat_, begin, at - begin);
    if (at == end) return;
    strip_spaces(out);
    out += "\n" + std::string(hang, ' ');
    begin = at;
  }
}

/// The last break that fits among those with the fewest open brackets; else the first; else `end`.
std::size_t LineLayout::best_break(std::size_t begin, std::size_t end, std::size_t room) const {
  const auto after = [](std::size_t offset, const Break& b) { return offset < b.at; };
  auto candidate = std::upper_bound(breaks_.begin(), breaks_.end(), begin, after);
  const Break* best = nullptr;
  for (; candidate != breaks_.end() && candidate->at < end; ++candidate) {
    const bool fits = candidate->at - 1 - begin <= room;  // without the space after the comma
    if (!fits) return best != nullptr ? best->at : candidate->at;
    if (best == nullptr || candidate->depth <= best->depth) best = &*candidate;
  }
  return best != nullptr ? best->at : end;
}

}  // namespace tilevm::frontend
