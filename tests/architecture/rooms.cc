#include "tests/architecture/rooms.h"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

namespace tilevm::architecture {

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" `");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" `") - begin + 1));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(trimmed(part));
  return parts;
}

/// Whether a file belongs to a room: all but those of tests.
bool has_room(const std::string& path) { return top_of(path) != "tests"; }

/// Every include from one room to another of the same top folder.
template <class F>
void for_each_arrow(const std::vector<SourceFile>& files, F&& f) {
  for (const SourceFile& file : files) {
    if (!has_room(file.path)) continue;
    for (const Include& include : file.includes) {
      if (!include.quoted || top_of(include.path) != top_of(file.path)) continue;
      const std::string from = room_of(file.path), to = room_of(include.path);
      if (from != to) f(file, include, from, to);
    }
  }
}

/// Depth-first search for circles among units.
class CycleSearch {
 public:
  explicit CycleSearch(const std::vector<SourceFile>& files) {
    for (const SourceFile& file : files) {
      for (const Include& include : file.includes) {
        const std::string from = unit_of(file.path), to = unit_of(include.path);
        if (include.quoted && from != to) uses_[from].insert(to);
      }
    }
  }

  std::vector<std::string> run() {
    for (const auto& [unit, uses] : uses_) visit(unit);
    return cycles_;
  }

 private:
  enum class Mark { fresh, open, closed };

  void visit(const std::string& unit) {
    Mark& mark = marks_[unit];
    if (mark == Mark::closed) return;
    if (mark == Mark::open) {
      report(unit);
      return;
    }
    mark = Mark::open;
    path_.push_back(unit);
    const auto found = uses_.find(unit);
    if (found != uses_.end()) {
      for (const std::string& next : found->second) visit(next);
    }
    path_.pop_back();
    marks_[unit] = Mark::closed;
  }

  void report(const std::string& unit) {
    std::string text;
    const auto begin = std::find(path_.begin(), path_.end(), unit);
    for (auto it = begin; it != path_.end(); ++it) text += *it + " -> ";
    cycles_.push_back(text + unit);
  }

  std::map<std::string, std::set<std::string>> uses_;
  std::map<std::string, Mark> marks_;
  std::vector<std::string> path_, cycles_;
};

}  // namespace

std::vector<Room> read_map(std::string_view markdown) {
  std::vector<Room> rooms;
  std::istringstream stream{std::string(markdown)};
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() < 4 || cells[1].find('/') == std::string::npos) continue;
    Room room{cells[1], cells[2], {}};
    for (const std::string& used : split(cells[3], ',')) {
      if (!used.empty()) room.uses.insert(std::string(top_of(room.name)) + "/" + used);
    }
    rooms.push_back(std::move(room));
  }
  return rooms;
}

std::vector<std::string> faults_of_rooms(const std::vector<Room>& map,
                                         const std::vector<SourceFile>& files) {
  std::vector<std::string> faults;
  std::map<std::string, const Room*> by_name;
  for (const Room& room : map) {
    if (!by_name.emplace(room.name, &room).second) faults.push_back(room.name + ": listed twice");
    if (room.holds.empty()) faults.push_back(room.name + ": the map does not say what it holds");
  }
  std::set<std::string> occupied;
  for (const SourceFile& file : files) {
    if (has_room(file.path)) occupied.insert(room_of(file.path));
  }
  for (const std::string& room : occupied) {
    if (!by_name.contains(room)) faults.push_back(room + ": the map has no such room");
  }
  std::set<std::pair<std::string, std::string>> taken;
  for_each_arrow(files, [&](const SourceFile& file, const Include& include, const std::string& from,
                            const std::string& to) {
    taken.emplace(from, to);
    const auto found = by_name.find(from);
    if (found == by_name.end() || found->second->uses.contains(to)) return;
    faults.push_back(file.path + ":" + std::to_string(include.line) + ": " + include.path +
                     ": the map has no arrow from " + from + " to " + to);
  });
  for (const Room& room : map) {
    if (!occupied.contains(room.name)) faults.push_back(room.name + ": the room is empty");
    for (const std::string& used : room.uses) {
      if (!taken.contains({room.name, used})) {
        faults.push_back(room.name + ": no include takes the arrow to " + used);
      }
    }
  }
  return faults;
}

std::vector<std::string> include_cycles(const std::vector<SourceFile>& files) {
  return CycleSearch(files).run();
}

}  // namespace tilevm::architecture
