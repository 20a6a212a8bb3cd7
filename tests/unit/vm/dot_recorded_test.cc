// What an H200 gave for every case of Dot (tests/data/dot_sm_90.txt), against the simulator.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "vm/fidelity/run_case.h"

using namespace tilevm;
using namespace tilevm::vm;

namespace {

/// Hashes by the names of cases.
std::map<std::string, std::string> read_hashes() {
  std::map<std::string, std::string> hashes;
  std::ifstream file(std::string(TILEVM_SOURCE_DIR) + "/tests/data/dot_sm_90.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, hash;
    if (words >> name >> hash && name[0] != '#') hashes[name] = hash;
  }
  return hashes;
}

}  // namespace

TEST_CASE("the simulator gives what an H200 gave for every class of Dot") {
  const auto engine = make_engine("sim", {});
  REQUIRE(engine);
  auto hashes = read_hashes();
  for (const fidelity::Case& each : fidelity::dot_cases()) {
    if (each.min_sm > 90) continue;
    std::string name = each.name.substr(4);
    std::replace(name.begin(), name.end(), ' ', '_');
    CAPTURE(name);
    REQUIRE(hashes.contains(name));
    const auto outcomes = fidelity::run_kept(each, {90, true}, **engine);
    REQUIRE(outcomes);
    CHECK(outcomes->front().hash == hashes.at(name));
    hashes.erase(name);
  }
  CHECK(hashes.empty());
}
