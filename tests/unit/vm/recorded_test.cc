// Results of real GPUs, kept in tests/data/*.jsonl, against the simulator of today.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include <doctest/doctest.h>

#include "vm/record.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

std::vector<std::filesystem::path> record_files() {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  const std::string folder = std::string(TILEVM_SOURCE_DIR) + "/tests/data";
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE("the simulator gives what GPUs gave") {
  const auto engine = make_engine("sim", {});
  REQUIRE(engine);
  int count = 0;
  for (const std::filesystem::path& file : record_files()) {
    std::ifstream lines(file);
    int number = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      ++number;
      CAPTURE(file.filename().string());
      CAPTURE(number);
      const Result<Record> record = parse_record(line);
      REQUIRE(record);
      CHECK(replay(*record, TILEVM_SOURCE_DIR, **engine).value_or("") == "");
    }
  }
  std::cout << "recorded runs repeated: " << count << '\n';
}
