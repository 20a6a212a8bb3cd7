// The rooms of the tree against the map in docs/inside/architecture.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/architecture/rooms.h"
#include "tests/architecture/source_tree.h"

namespace {

using tilevm::architecture::faults_of_rooms;
using tilevm::architecture::find_includes;
using tilevm::architecture::include_cycles;
using tilevm::architecture::read_file;
using tilevm::architecture::read_map;
using tilevm::architecture::repository_root;
using tilevm::architecture::Room;
using tilevm::architecture::room_of;
using tilevm::architecture::source_files;
using tilevm::architecture::SourceFile;
using tilevm::architecture::top_of;
using tilevm::architecture::unit_of;

/// Units (a source with its header) that a room holds at most, so that a reader can look over it.
constexpr std::size_t max_units = 27;
/// Lines of a file at most, unless its opening comment says why it is longer.
constexpr auto max_lines = 400;

std::vector<Room> map_of_the_tree() {
  return read_map(read_file(repository_root() / "docs/inside/architecture.md"));
}

SourceFile source(std::string path, std::string text) {
  SourceFile file{std::move(path), std::move(text), {}};
  file.includes = find_includes(file.text);
  return file;
}

/// The comment with which a file opens.
std::string opening_comment(const std::string& text) {
  std::string comment;
  for (std::size_t begin = 0; text.compare(begin, 2, "//") == 0;) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    comment += text.substr(begin, end - begin) + '\n';
    begin = std::min(end + 1, text.size());
  }
  return comment;
}

constexpr const char* small_map =
    "| room | holds | may use |\n"
    "|---|---|---|\n"
    "| `sim/low` | tables | |\n"
    "| `sim/high` | instructions | low |\n";

}  // namespace

TEST_CASE("the rooms of the tree are those of the map, and so are the arrows between them") {
  const std::vector<Room> map = map_of_the_tree();
  CHECK(map.size() > 20);
  for (const std::string& fault : faults_of_rooms(map, source_files())) FAIL_CHECK(fault);
}

TEST_CASE("no two units include one another, directly or over others") {
  for (const std::string& cycle : include_cycles(source_files())) FAIL_CHECK(cycle);
}

TEST_CASE("every source file outside of tests is in a room") {
  for (const SourceFile& file : source_files()) {
    if (top_of(file.path) == "tests") continue;
    CHECK_MESSAGE(std::count(file.path.begin(), file.path.end(), '/') >= 2, file.path);
  }
}

TEST_CASE("a room can be looked over") {
  std::map<std::string, std::set<std::string>> units;
  for (const SourceFile& file : source_files()) {
    if (top_of(file.path) != "tests") units[room_of(file.path)].insert(unit_of(file.path));
  }
  for (const auto& [room, held] : units) {
    CHECK_MESSAGE(held.size() <= max_units, room << " holds " << held.size() << " units");
  }
}

TEST_CASE("a file of more than 400 lines says why in its opening comment") {
  for (const SourceFile& file : source_files()) {
    const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
    if (lines <= max_lines) continue;
    const bool says_why = opening_comment(file.text).find("400 lines") != std::string::npos;
    CHECK_MESSAGE(says_why, file.path << " has " << lines << " lines");
  }
}

TEST_CASE("a map is read line by line") {
  const std::vector<Room> map = read_map(small_map);
  REQUIRE(map.size() == 2);
  CHECK(map[0].name == "sim/low");
  CHECK(map[0].uses.empty());
  CHECK(map[1].holds == "instructions");
  CHECK(map[1].uses == std::set<std::string>{"sim/low"});
}

TEST_CASE("what a map and a tree have against each other is found") {
  const std::vector<Room> map = read_map(small_map);
  const SourceFile low = source("sim/low/table.h", "#include \"isa/base/hash.h\"\n");
  const SourceFile high = source("sim/high/run.cc", "#include \"sim/low/table.h\"\n");
  CHECK(faults_of_rooms(map, {low, high}).empty());

  SUBCASE("an include against the arrows") {
    const SourceFile wrong = source("sim/low/table.cc", "\n#include \"sim/high/run.h\"\n");
    const auto faults = faults_of_rooms(map, {low, high, wrong});
    REQUIRE(faults.size() == 1);
    CHECK(faults[0] ==
          "sim/low/table.cc:2: sim/high/run.h: the map has no arrow from sim/low to sim/high");
  }
  SUBCASE("a room that is missing in the map") {
    const SourceFile other = source("vm/cli/main.cc", "");
    CHECK(faults_of_rooms(map, {low, high, other}).size() == 1);
  }
  SUBCASE("a room without files, and an arrow that no include takes") {
    CHECK(faults_of_rooms(map, {low}).size() == 2);
  }
  SUBCASE("an arrow that no include takes") {
    CHECK(faults_of_rooms(map, {low, source("sim/high/run.cc", "")}).size() == 1);
  }
}

TEST_CASE("a circle of includes is found") {
  const SourceFile a = source("sim/x/a.h", "#include \"sim/x/b.h\"\n");
  const SourceFile b = source("sim/x/b.cc", "#include \"sim/x/b.h\"\n#include \"sim/x/c.h\"\n");
  const SourceFile c = source("sim/x/c.h", "#include \"sim/x/a.h\"\n");
  CHECK(include_cycles({a, b}).empty());
  const auto cycles = include_cycles({a, b, c});
  REQUIRE(cycles.size() == 1);
  CHECK(cycles[0] == "sim/x/a -> sim/x/b -> sim/x/c -> sim/x/a");
}
