// The kernel cache. A shell script stands in for the compiler and counts its calls, so none of this
// needs CUDA.
#include "backend/compile/kernel_cache.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "backend/engine/doctor.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

namespace fs = std::filesystem;

/// A cache in a folder of its own, and a compiler that writes what it is given behind "image of".
class CacheTest {
 public:
  CacheTest()
      : nvrtc_("TILEVM_NVRTC", "/nowhere/libnvrtc.so"),
        nvcc_("TILEVM_NVCC", write_script(folder_, "nvcc",
                                          "[ \"$1\" = --version ] && echo ', V99.1' && exit 0\n"
                                          "echo x >> '" +
                                              folder_.path() +
                                              "/calls'\n"
                                              "for last; do :; done\necho remark\n"
                                              "{ echo image of; cat \"$last\"; } > output\n")),
        on_("TILEVM_CACHE", std::nullopt),
        size_("TILEVM_CACHE_SIZE", std::nullopt),
        where_("TILEVM_CACHE_DIR", path()) {
    on_cache_warning([this](const std::string& text) { warning = text; });
  }
  CacheTest(const CacheTest&) = delete;
  CacheTest& operator=(const CacheTest&) = delete;
  ~CacheTest() { on_cache_warning(nullptr); }

  [[nodiscard]] std::string path() const { return folder_.path() + "/cache"; }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }
  /// How often the compiler was called.
  [[nodiscard]] std::size_t calls() const {
    std::error_code none;
    const std::uintmax_t bytes = fs::file_size(folder_.path() + "/calls", none);
    return none ? 0 : static_cast<std::size_t>(bytes) / 2;
  }
  /// The only entry's path.
  [[nodiscard]] std::string entry() const {
    const std::vector<CacheEntry> all = KernelCache::open(*cache_settings())->entries();
    REQUIRE(all.size() == 1);
    return all[0].path;
  }

  std::string warning;

 private:
  TemporaryFolder folder_ = *TemporaryFolder::make();
  ScopedVariable nvrtc_, nvcc_, on_, size_, where_;
};

CompileRequest request_of(const std::string& source) {
  CompileRequest request;
  request.source = source;
  request.name = "test.cu";
  return request;
}

Compiled compile(const CompileRequest& request) {
  const Result<Compiled> compiled = compile_cached(request);
  REQUIRE_MESSAGE(compiled, compiled.error().message);
  CHECK(compiled->image == "image of\n" + request.source);
  CHECK(compiled->log == "remark");
  CHECK(compiled->compiler.starts_with("nvcc 99.1"));
  CHECK(compiled->options == compile_options(request));
  return *compiled;
}

TEST_CASE("the same text is compiled once, and comes back with all that was known") {
  const CacheTest test;
  CHECK_FALSE(compile(request_of("a")).cached);
  CHECK(compile(request_of("a")).cached);
  CHECK(test.calls() == 1);
  CHECK(test.warning.empty());
}

TEST_CASE("everything that decides the output decides the entry") {
  const CacheTest test;
  std::vector<CompileRequest> all(6, request_of("a"));
  all[1].source = "b";
  all[2].name = "other.cu";
  all[3].target = "sm_80";
  all[4].artifact = Artifact::ptx;
  all[5].extra_options = {"-x"};
  for (const CompileRequest& request : all) CHECK_FALSE(compile(request).cached);
  for (const CompileRequest& request : all) CHECK(compile(request).cached);
  CHECK(test.calls() == all.size());
  CHECK(cache_key(all[0], "NVRTC 13.0") != cache_key(all[0], "NVRTC 13.1"));
}

TEST_CASE("a compiler that was replaced by one of the same version compiles again") {
  const CacheTest test;
  compile(request_of("a"));
  const std::string nvcc = std::getenv("TILEVM_NVCC");
  fs::last_write_time(nvcc, fs::last_write_time(nvcc) + std::chrono::hours(1));
  CHECK_FALSE(compile(request_of("a")).cached);
}

TEST_CASE("an entry with a changed, missing or additional byte is compiled again") {
  const CacheTest test;
  compile(request_of("a"));
  const std::string whole = *read_whole_file(test.entry());
  std::size_t calls = 1;
  const auto check_damaged = [&](const std::string& content) {
    REQUIRE(write_whole_file(test.entry(), content));
    CHECK_FALSE(compile(request_of("a")).cached);
    CHECK(test.calls() == ++calls);
    CHECK(*read_whole_file(test.entry()) == whole);
  };
  check_damaged("");
  check_damaged(whole + "x");
  check_damaged(whole.substr(0, whole.size() - 1));
  for (std::size_t at = 0; at < whole.size(); at += 9) {
    CAPTURE(at);
    std::string damaged = whole;
    damaged[at] ^= 1;
    check_damaged(damaged);
  }
}

TEST_CASE("an entry that is a link is not followed") {
  const CacheTest test;
  compile(request_of("a"));
  const std::string entry = test.entry();
  const std::string elsewhere = test.folder().path() + "/elsewhere";
  fs::rename(entry, elsewhere);
  fs::create_symlink(elsewhere, entry);
  CHECK_FALSE(compile(request_of("a")).cached);
  CHECK_FALSE(fs::is_symlink(entry));
  CHECK(compile(request_of("a")).cached);
}

TEST_CASE("an entry under another's name is compiled again") {
  const CacheTest test;
  compile(request_of("a"));
  const std::string first = test.entry(), content = *read_whole_file(first);
  compile(request_of("b"));
  for (const CacheEntry& entry : KernelCache::open(*cache_settings())->entries()) {
    if (entry.path != first) fs::copy_file(first, entry.path, fs::copy_options::overwrite_existing);
  }
  std::vector<CacheEntry> entries = KernelCache::open(*cache_settings())->entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[entries[0].path == first ? 1 : 0].name.empty());
  CHECK_FALSE(compile(request_of("b")).cached);
  CHECK(compile(request_of("b")).cached);
  CHECK(compile(request_of("a")).cached);
}

TEST_CASE("an entry that others may write to is compiled again") {
  const CacheTest test;
  compile(request_of("a"));
  for (const mode_t mode : {0620, 0602}) {
    REQUIRE(chmod(test.entry().c_str(), mode) == 0);
    CHECK_FALSE(compile(request_of("a")).cached);
    CHECK(compile(request_of("a")).cached);
  }
  REQUIRE(chmod(test.entry().c_str(), 0644) == 0);
  CHECK(compile(request_of("a")).cached);
}

TEST_CASE("entries of another format make room, and are removed") {
  const CacheTest test;
  compile(request_of("a"));
  const std::string entry = test.entry();
  std::string other = *read_whole_file(entry);
  other.replace(other.find('2'), 1, "1");
  REQUIRE(write_whole_file(entry, other));
  CHECK(KernelCache::open(*cache_settings())->entries().size() == 1);
  CHECK_FALSE(compile(request_of("a")).cached);
  CHECK(compile(request_of("a")).cached);
  REQUIRE(write_whole_file(entry, other));
  CHECK(KernelCache::open(*cache_settings())->clear() == 1);
}

TEST_CASE("a folder that others may write to is not read, and one line says so") {
  CacheTest test;
  compile(request_of("a"));
  REQUIRE(chmod(test.path().c_str(), 0777) == 0);
  CHECK_FALSE(compile(request_of("a")).cached);
  CHECK(contains(test.warning, "can be written to by others; set TILEVM_CACHE_DIR"));
  test.warning.clear();
  CHECK_FALSE(compile(request_of("a")).cached);
  CHECK(test.warning.empty());  // once is enough
}

TEST_CASE("a folder that cannot be made is one warning, and kernels are compiled") {
  for (const char* folder : {"/dev/null/cache", "/proc/cache"}) {
    const CacheTest test;
    const ScopedVariable where("TILEVM_CACHE_DIR", folder);
    CHECK_FALSE(compile(request_of("a")).cached);
    CHECK_FALSE(compile(request_of("a")).cached);
    CHECK(contains(test.warning, std::string("kernels are not kept: `") + folder));
  }
}

TEST_CASE("a disk that takes nothing more is one warning, and leaves no file behind") {
  const CacheTest test;
  compile(request_of("a"));
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  // The compiler's own file must fit, the entry must not.
  const Compiled large = compile(request_of(std::string(4000, 'x')));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old);
  CHECK_FALSE(large.cached);
  CHECK(contains(test.warning, "cannot write to `" + test.path() + "`: File too large"));
  CHECK(std::distance(fs::directory_iterator(test.path()), {}) == 1);
}

TEST_CASE("the entries used last stay within the limit") {
  const CacheTest test;
  compile(request_of("a"));
  const std::uint64_t one = fs::file_size(test.entry());
  const ScopedVariable size("TILEVM_CACHE_SIZE", std::to_string(3 * one));
  const auto later = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (const char* source : {"b", "c"}) later(), compile(request_of(source));
  later();
  CHECK(compile(request_of("a")).cached);  // now b was used longest ago
  later();
  CHECK_FALSE(compile(request_of("d")).cached);
  CHECK(KernelCache::open(*cache_settings())->entries().size() == 3);
  CHECK(compile(request_of("a")).cached);
  CHECK(compile(request_of("c")).cached);
  CHECK_FALSE(compile(request_of("b")).cached);
  const ScopedVariable none("TILEVM_CACHE_SIZE", "0");
  CHECK_FALSE(compile(request_of("e")).cached);
  CHECK_FALSE(compile(request_of("e")).cached);
}

TEST_CASE("what a killed process left is removed after a while") {
  const CacheTest test;
  compile(request_of("a"));
  const std::string left = test.path() + "/.kernel.tmp-abcdef";
  REQUIRE(write_whole_file(left, "half"));
  compile(request_of("b"));
  CHECK(fs::exists(left));
  fs::last_write_time(left, fs::last_write_time(left) - std::chrono::hours(2));
  compile(request_of("c"));
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("threads that compile the same text at the same time all get it") {
  const CacheTest test;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        const CompileRequest request = request_of(std::string(1, static_cast<char>('a' + round)));
        const Result<Compiled> compiled = compile_cached(request);
        if (compiled && compiled->image == "image of\n" + request.source) ++good;
        if (i == 0) static_cast<void>(KernelCache::open(*cache_settings())->clear());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 40);
}

TEST_CASE("the variables decide whether, where and how much; what they cannot mean is an error") {
  const CacheTest test;
  CHECK(cache_settings()->folder == test.path());
  {
    const ScopedVariable off("TILEVM_CACHE", "off");
    CHECK(cache_settings()->off);
    CHECK_FALSE(compile(request_of("a")).cached);
    CHECK_FALSE(compile(request_of("a")).cached);
    CHECK_FALSE(fs::exists(test.path()));
  }
  const ScopedVariable unset("TILEVM_CACHE_DIR", "");
  const ScopedVariable home("HOME", "/home/someone");
  {
    const ScopedVariable caches("XDG_CACHE_HOME", "/caches");
    CHECK(cache_settings()->folder == "/caches/tilevm");
    const ScopedVariable relative("XDG_CACHE_HOME", "caches");
    CHECK(cache_settings()->folder == "/home/someone/.cache/tilevm");
    const ScopedVariable nowhere("HOME", std::nullopt);
    CHECK(contains(cache_settings().error().message, "set TILEVM_CACHE_DIR"));
  }
  for (const auto& [text, bytes] : {std::pair{"100", 100ull},
                                    {"3K", 3072ull},
                                    {"512M", 1ull << 29},
                                    {"2G", 1ull << 31},
                                    {"1T", 1ull << 40}}) {
    const ScopedVariable size("TILEVM_CACHE_SIZE", text);
    CHECK(cache_settings()->limit == bytes);
  }
  for (const char* text : {"x", "-1", "1.5G", "G", "1GB", "99999999999T"}) {
    const ScopedVariable size("TILEVM_CACHE_SIZE", text);
    REQUIRE_FALSE(cache_settings());
    CHECK(contains(cache_settings().error().message, "such as 512M"));
  }
  const ScopedVariable maybe("TILEVM_CACHE", "maybe");
  CHECK(cache_settings().error().message == "$TILEVM_CACHE is `maybe`; it must be on or off");
}

TEST_CASE("the list has the words of each entry, and clear removes them") {
  const CacheTest test;
  compile(request_of("a"));
  REQUIRE(write_whole_file(test.path() + "/notes.txt", "mine"));
  const KernelCache cache = *KernelCache::open(*cache_settings());
  std::vector<CacheEntry> entries = cache.entries();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].name == "test.cu");
  CHECK(entries[0].target == "sm_90a");
  CHECK(entries[0].compiler.starts_with("nvcc 99.1"));
  std::string damaged = *read_whole_file(entries[0].path);
  damaged.back() ^= 1;
  REQUIRE(write_whole_file(entries[0].path, damaged));
  CHECK(cache.entries()[0].name.empty());
  CHECK(cache.clear() == 1);
  CHECK(cache.entries().empty());
  CHECK(fs::exists(test.path() + "/notes.txt"));
}

TEST_CASE("files that are not entries stay, whatever they are called and wherever the folder is") {
  const CacheTest test;
  const std::string inner = test.folder().path() + "/x.kernel.tmp-y";  // looks like a leftover
  const ScopedVariable where("TILEVM_CACHE_DIR", inner);
  const ScopedVariable size("TILEVM_CACHE_SIZE", "1000");
  compile(request_of("a"));
  std::vector<std::string> mine{inner + "/corn.kernel", inner + "/notes.txt",
                                inner + "/" + std::string(32, 'a') + ".kernel",
                                inner + "/mine.kernel.tmp-1"};
  for (const std::string& path : mine) {
    REQUIRE(write_whole_file(path, std::string(2000, 'x')));
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(2));
  }
  compile(request_of("b"));  // evicts
  const KernelCache cache = *KernelCache::open(*cache_settings());
  CHECK(cache.entries().size() == 2);
  CHECK(cache.clear() == 2);
  for (const std::string& path : mine) CHECK_MESSAGE(fs::exists(path), path);
}

TEST_CASE("a folder that is swapped for another one while it is open changes nothing there") {
  const CacheTest test;
  compile(request_of("a"));
  const KernelCache cache = *KernelCache::open(*cache_settings());
  const std::string name = fs::path(test.entry()).filename();
  fs::rename(test.path(), test.folder().path() + "/moved");
  fs::create_directory(test.path());
  fs::copy(test.folder().path() + "/moved/" + name, test.path() + "/" + name);
  CHECK(cache.clear() == 1);
  CHECK(fs::exists(test.path() + "/" + name));
  CHECK_FALSE(fs::exists(test.folder().path() + "/moved/" + name));
}

TEST_CASE("doctor shows the cache's state, and the way out") {
  const CacheTest test;
  const auto finding = [] {
    const std::vector<Finding> all = examine_cuda();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [](const Finding& one) { return one.what == "cache"; });
    REQUIRE(found != all.end());
    return *found;
  };
  compile(request_of("a"));
  CHECK(finding().health == Health::ok);
  CHECK(contains(finding().detail, test.path() + ", 1 kernels"));
  REQUIRE(chmod(test.path().c_str(), 0777) == 0);
  CHECK(finding().health == Health::warn);
  CHECK(contains(finding().fix, "TILEVM_CACHE_DIR"));
  const ScopedVariable off("TILEVM_CACHE", "off");
  CHECK(finding().health == Health::ok);
}

}  // namespace
}  // namespace tilevm::backend
