// Results of real GPUs, kept in tests/data/recorded*.jsonl, against the simulator of today.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/sanitizers.h"
#include "vm/fidelity/record.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

std::vector<std::filesystem::path> record_files() {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  const std::string folder = std::string(TILEVM_SOURCE_DIR) + "/tests/data";
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("recorded") && name.ends_with(".jsonl")) files.push_back(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE("the simulator gives what GPUs gave") {
  // Under sanitizers the first seed of each case must do.
  const std::uint64_t last_seed =
      tests::under_sanitizers() ? 0 : std::numeric_limits<std::uint64_t>::max();
  const auto engine = make_engine("sim", {});
  REQUIRE(engine);
  int count = 0;
  for (const std::filesystem::path& file : record_files()) {
    std::ifstream lines(file);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      CAPTURE(file.filename().string());
      CAPTURE(number);
      const Result<Record> record = parse_record(line);
      REQUIRE(record);
      if (record->seed > last_seed) continue;
      ++count;
      CHECK(replay(*record, TILEVM_SOURCE_DIR, **engine).value_or("") == "");
    }
  }
  CHECK(count > 0);
  std::cout << "recorded runs repeated: " << count << '\n';
}
