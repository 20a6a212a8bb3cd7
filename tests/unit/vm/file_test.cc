#include "vm/text/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/unit/contains.h"
#include "tests/unit/vm/scratch_folder.h"
#include "vm/text/byte_source.h"

using namespace tilevm::vm;
namespace fs = std::filesystem;

namespace {

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

TEST_CASE(
    "a file with two names keeps both, and a file that grows keeps its old content if it cannot") {
  const ScratchFolder folder;
  CHECK(write_file_atomic(folder / "one", Bytes{1, 2, 3}).ok());
  fs::create_hard_link(folder / "one", folder / "two");
  CHECK(write_file_atomic(folder / "one", Bytes{4}).ok());
  CHECK(fs::hard_link_count(folder / "one") == 2);
  CHECK(*read_file(folder / "two", 100) == Bytes{4});
  CHECK(folder.file_count() == 2);
}

TEST_CASE(
    "links in a circle, and names that are too long, are refused before anything is written") {
  const ScratchFolder folder;
  fs::create_symlink("b", folder.path() / "a");
  fs::create_symlink("a", folder.path() / "b");
  CHECK(contains(check_writable(folder / "a").error().message, "symbolic links"));
  CHECK(contains(write_file_atomic(folder / "a", Bytes{1}).error().message, "symbolic links"));
  CHECK(fs::is_symlink(folder / "a"));
  const std::string name(300, 'x');
  CHECK(contains(check_writable(folder / name).error().message, "too long"));
  const std::string longest(255, 'x');  // what a name with a suffix would not fit
  CHECK(write_file_atomic(folder / longest, Bytes{1}).ok());
}

TEST_CASE("two outputs that are one file are found, whatever their names; pipes take both") {
  const ScratchFolder folder;
  CHECK(write_file_atomic(folder / "one", Bytes{1}).ok());
  fs::create_symlink("one", folder.path() / "link");
  CHECK(check_outputs({folder / "one", folder / "new"}).ok());
  CHECK_FALSE(check_outputs({folder / "one", folder / "link"}).ok());
  CHECK_FALSE(check_outputs({folder / "new", folder / "./new"}).ok());
  CHECK(check_outputs({"/dev/null", "/dev/null"}).ok());
}

TEST_CASE(
    "a pipe with a slow reader gets everything, and what a process has open is written to where it "
    "is") {
  const ScratchFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const Bytes large(std::size_t{1} << 20, 7);  // more than a pipe holds
  std::size_t received = 0;
  std::thread reader([&] {
    std::ifstream pipe(folder / "pipe", std::ios::binary);
    std::vector<char> part(10000);
    while (pipe.read(part.data(), 10000) || pipe.gcount() > 0) {
      received += static_cast<std::size_t>(pipe.gcount());
      std::this_thread::yield();
    }
  });
  // The reader may not have opened the pipe yet.
  while (!write_file_atomic(folder / "pipe", large).ok()) std::this_thread::yield();
  reader.join();
  CHECK(received == large.size());

  CHECK(write_file_atomic(folder / "log", Bytes{1, 2}).ok());
  const int log = ::open((folder / "log").c_str(), O_WRONLY | O_APPEND);
  REQUIRE(log >= 0);
  CHECK(write_file_atomic("/dev/fd/" + std::to_string(log), Bytes{3}).ok());
  ::close(log);
  CHECK(*read_file(folder / "log", 100) == Bytes{1, 2, 3});
  CHECK_FALSE(check_writable("/dev/fd/" + std::to_string(log)).ok());  // closed
}

TEST_CASE("a line that a full disk takes in part is taken back, and a torn one is completed") {
  const ScratchFolder folder;
  const std::string path = folder / "records";
  REQUIRE(append_line(path, "{\"a\": 1}\n").ok());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 16;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto refused = append_line(path, "{\"b\": 22222222222}\n");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old);
  CHECK_FALSE(refused.ok());
  const auto text = [&] {
    const Bytes bytes = *read_file(path, 100);
    return std::string(bytes.begin(), bytes.end());
  };
  CHECK(text() == "{\"a\": 1}\n");
  std::ofstream(path, std::ios::app) << "{\"b\": {\"c\": 1}";  // as a killed process leaves it
  REQUIRE(append_line(path, "{\"d\": 1}\n").ok());
  CHECK(text() == "{\"a\": 1}\n{\"d\": 1}\n");
  std::ofstream(path, std::ios::app) << "my own last line";
  REQUIRE(append_line(path, "{\"e\": 1}\n").ok());
  CHECK(text() == "{\"a\": 1}\n{\"d\": 1}\nmy own last line\n{\"e\": 1}\n");
}

TEST_CASE("what is not a readable file is refused without waiting") {
  const ScratchFolder folder;
  CHECK(contains(fault_of_reading(folder / "none.npy"), "none.npy`: No such file"));
  CHECK(contains(fault_of_reading(folder.path()), "it is a folder"));
  CHECK(contains(fault_of_reading("/dev/zero"), "not a regular file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(fault_of_reading(folder / "pipe"), "not a regular file"));
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
