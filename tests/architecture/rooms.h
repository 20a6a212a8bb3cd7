// The map of rooms at the head of docs/inside/architecture.md, and what the tree has against it.
//
// A room is a folder one level below a top folder: sim/checks, vm/cli. The map has one line a room:
//
//   | `sim/checks` | races, undefined elements, redundant barriers | tiles, state, access |
//
// The last column names the rooms of the same top folder whose headers this room may include.
// Between top folders the arrows are those of the picture above the map (directions_test.cc).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace tilevm::architecture {

struct Room {
  std::string name;            ///< "sim/checks"
  std::string holds;           ///< what the map says it holds
  std::set<std::string> uses;  ///< "sim/tiles", "sim/state"
};

/// The rooms of a map, in its order. Lines that are not lines of the table are passed over.
[[nodiscard]] std::vector<Room> read_map(std::string_view markdown);

/// What is wrong between a map and sources, a line each: a room that is missing in the map or has
/// no files, an include that the map does not allow, an arrow of the map that no include takes.
[[nodiscard]] std::vector<std::string> faults_of_rooms(const std::vector<Room>& map,
                                                       const std::vector<SourceFile>& files);

/// Units (a source with its header) that include one another in a circle, as "a -> b -> a".
[[nodiscard]] std::vector<std::string> include_cycles(const std::vector<SourceFile>& files);

}  // namespace tilevm::architecture
