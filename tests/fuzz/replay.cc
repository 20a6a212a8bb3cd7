// Gives the fuzz targets their corpora without a fuzzer: every file, every beginning of it, and
// every file with one bit inverted at a time.
//
//   fuzz_replay TARGET FOLDER|FILE..
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace tilevm::fuzz {
namespace {

namespace fs = std::filesystem;

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Gives a target an input and inputs near it; how many. A long input has as many neighbours as a
/// short one, spread evenly.
std::size_t replay(Target target, const std::string& input) {
  constexpr std::size_t most = 256;
  const std::size_t step = input.size() / most + 1;
  std::size_t runs = 1;
  target(input);
  for (std::size_t at = 0; at < input.size(); at += step, runs += 2) {
    target(std::string_view(input).substr(0, at));
    std::string near = input;
    near[at] = static_cast<char>(near[at] ^ 1 << at % 8);
    target(near);
  }
  return runs;
}

int run(const std::vector<std::string>& arguments) {
  const auto found = arguments.empty() ? targets().end() : targets().find(arguments[0]);
  if (found == targets().end() || arguments.size() < 2) {
    std::cerr << "usage: fuzz_replay TARGET FOLDER|FILE..; the targets are";
    for (const auto& [name, target] : targets()) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  std::size_t files = 0, runs = 0;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    for (const fs::path& file : files_of(arguments[i])) {
      std::cerr << file.string() << '\n';  // the last line names the input of a failure
      runs += replay(found->second, read_file(file));
      ++files;
    }
  }
  std::cout << arguments[0] << ": " << files << " files, " << runs << " inputs\n";
  return files > 0 ? 0 : 1;
}

}  // namespace

bool add_target(const char* name, Target target) { return targets().emplace(name, target).second; }

}  // namespace tilevm::fuzz

int main(int count, char** arguments) {
  return tilevm::fuzz::run({arguments + 1, arguments + count});
}
