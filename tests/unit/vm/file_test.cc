#include "vm/text/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/unit/vm/scratch_folder.h"

using namespace tilevm::vm;
namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::uint8_t>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string fault_of_reading(const std::string& path) {
  const auto bytes = read_file(path, 100);
  return bytes ? "it was read" : bytes.error().message;
}

}  // namespace

TEST_CASE("what was written is read, and a second write replaces it") {
  const ScratchFolder folder;
  const std::string path = folder / "a.npy";
  CHECK(write_file_atomic(path, Bytes{1, 2, 3}).ok());
  CHECK(write_file_atomic(path, Bytes{4}).ok());
  CHECK(*read_file(path, 100) == Bytes{4});
  CHECK(folder.file_count() == 1);
}

TEST_CASE("a failed write leaves nothing behind and says why") {
  const ScratchFolder folder;
  const auto missing = write_file_atomic(folder / "no/such/a.npy", Bytes{1});
  REQUIRE(!missing.ok());
  CHECK(missing.error().kind == tilevm::ErrorKind::usage);
  CHECK(contains(missing.error().message, "no/such/a.npy`: No such file"));
  fs::create_directory(folder.path() / "b.npy");
  CHECK(contains(write_file_atomic(folder / "b.npy", Bytes{1}).error().message, "directory"));
  CHECK(folder.file_count() == 1);
  CHECK(contains(write_file_atomic("/dev/full", Bytes{1}).error().message, "No space"));
}

TEST_CASE("a link stays a link, a mode stays a mode, and a device stays a device") {
  const ScratchFolder folder;
  CHECK(write_file_atomic(folder / "real.npy", Bytes{1}).ok());
  fs::permissions(folder / "real.npy", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real.npy", folder.path() / "link.npy");
  CHECK(write_file_atomic(folder / "link.npy", Bytes{2}).ok());
  CHECK(fs::is_symlink(folder / "link.npy"));
  CHECK(*read_file(folder / "real.npy", 100) == Bytes{2});
  struct stat info{};
  REQUIRE(::stat((folder / "real.npy").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(write_file_atomic("/dev/null", Bytes{1}).ok());
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("what is no readable file is refused without waiting") {
  const ScratchFolder folder;
  CHECK(contains(fault_of_reading(folder / "none.npy"), "none.npy`: No such file"));
  CHECK(contains(fault_of_reading(folder.path()), "it is a folder"));
  CHECK(contains(fault_of_reading("/dev/zero"), "no regular file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(fault_of_reading(folder / "pipe"), "no regular file"));
  CHECK(write_file_atomic(folder / "large", Bytes(101)).ok());
  CHECK(contains(fault_of_reading(folder / "large"), "larger than 100 bytes"));
}

TEST_CASE("a reader sees one content or the other, never a mixture") {
  const ScratchFolder folder;
  const std::string path = folder / "a.npy";
  REQUIRE(write_file_atomic(path, Bytes(5000, 0)).ok());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 1; i <= 50; ++i) {
      static_cast<void>(write_file_atomic(path, Bytes(5000, static_cast<std::uint8_t>(i))));
    }
    done = true;
  });
  int torn = 0;
  while (!done) {
    const auto bytes = read_file(path, 10000);
    if (!bytes || bytes->size() != 5000 || bytes->front() != bytes->back()) ++torn;
  }
  writer.join();
  CHECK(torn == 0);
}
