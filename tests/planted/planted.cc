#include "tests/planted/planted.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace planted {

int active = -1;
unsigned char* seen = nullptr;

namespace {

constexpr std::size_t most = 1 << 16;

/// Before all other initialisers, which may ask. The file is shared, so children write to it, too.
__attribute__((constructor(101))) void begin() {
  if (const char* number = std::getenv("PLANTED")) active = std::atoi(number);
  const char* path = std::getenv("PLANTED_SEEN");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, most) != 0) return;
  void* memory = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) seen = static_cast<unsigned char*>(memory);
  close(file);
}

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

/// The file: a line with the name of a part, then the whole of its text. All numbers of the part
/// count as seen, since who reads it may read each line.
std::string text(std::string_view part, std::string_view original) {
  if (seen != nullptr) {
    static const char* const numbers = std::getenv("PLANTED_NUMBERS");
    std::ifstream file(numbers == nullptr ? "" : numbers);
    std::string name;
    for (int number = 0; file >> name >> number;) {
      if (name == part) seen[number] = 1;
    }
  }
  const char* path = std::getenv("PLANTED_TEXT");
  if (path == nullptr) return std::string(original);
  const std::string file = read_file(path);
  const std::size_t end = file.find('\n');
  if (end == std::string::npos || file.substr(0, end) != part) return std::string(original);
  return file.substr(end + 1);
}

}  // namespace planted
