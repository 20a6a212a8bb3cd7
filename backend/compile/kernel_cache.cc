#include "backend/compile/kernel_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <tuple>

#include "backend/compile/cache_entry.h"
#include "backend/compile/toolchain.h"
#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"
#include "isa/base/hash.h"

namespace tilevm::backend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view entry_suffix = ".kernel";
constexpr std::string_view temporary_mark = ".kernel.tmp-";
/// A process that was killed leaves a temporary file; no process takes so long to write one.
constexpr std::chrono::hours temporary_age{1};
constexpr std::string_view way_out =
    "set TILEVM_CACHE_DIR to a folder of yours, or TILEVM_CACHE=off";

/// 512M is 2^29. Nothing if it is no number or too large.
std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  unsigned shift = 0;
  if (const std::size_t unit = std::string_view("KMGT").find(text.empty() ? '\0' : text.back());
      unit != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    text.remove_suffix(1);
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() ||
      value > (~std::uint64_t{0} >> shift))
    return {};
  return value << shift;
}

/// The folder that the variables name; empty if they name none.
std::string folder_of_cache() {
  if (auto named = environment("TILEVM_CACHE_DIR")) return *named;
  // The XDG base directory specification: a relative path counts as unset.
  const auto caches = environment("XDG_CACHE_HOME");
  if (caches && fs::path(*caches).is_absolute()) return *caches + "/tilevm";
  const auto home = environment("HOME");
  return home && fs::path(*home).is_absolute() ? *home + "/.cache/tilevm" : std::string();
}

/// The status of the plain file at a path; nothing for anything else, links included.
std::optional<struct stat> plain_file(const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return info;
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

/// Reads the words of an entry.
void read_words(CacheEntry& entry) {
  const Result<std::string> content = read_whole_file(entry.path);
  auto kernel = content ? parse_cache_entry(*content) : std::nullopt;
  if (!kernel) return;
  entry.name = std::move(kernel->name);
  entry.target = std::move(kernel->target);
  entry.compiler = std::move(kernel->compiler);
}

/// The plain files of a folder, without their words.
std::vector<CacheEntry> files_in(const std::string& folder) {
  std::vector<CacheEntry> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    CacheEntry file;
    file.path = at->path().string();
    const std::optional<struct stat> info = plain_file(file.path);
    if (!info) continue;
    file.bytes = static_cast<std::uint64_t>(info->st_size);
    file.used += std::chrono::seconds(info->st_mtim.tv_sec) +
                 std::chrono::nanoseconds(info->st_mtim.tv_nsec);
    files.push_back(std::move(file));
  }
  return files;
}

/// Tells the handler the first time.
class Warner {
 public:
  void set(std::function<void(const std::string&)> handler) {
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
  }
  void warn(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!handler_) return;
    std::exchange(handler_, nullptr)("kernels are not kept: " + error.message);
  }

 private:
  std::mutex mutex_;
  std::function<void(const std::string&)> handler_;
};

Warner& warner() {
  static Warner one;
  return one;
}

}  // namespace

Result<CacheSettings> cache_settings() {
  CacheSettings settings;
  const std::string use = environment("TILEVM_CACHE").value_or("on");
  if (use != "on" && use != "off") {
    return Error{ErrorKind::usage, fmt::format("$TILEVM_CACHE is `{}`; it must be on or off", use)};
  }
  settings.off = use == "off";
  if (settings.off) return settings;
  if (const auto size = environment("TILEVM_CACHE_SIZE")) {
    const std::optional<std::uint64_t> limit = parse_bytes(*size);
    if (!limit) {
      return Error{ErrorKind::usage,
                   fmt::format("$TILEVM_CACHE_SIZE is `{}`; it must be a number of bytes, such as "
                               "512M or 2G",
                               *size)};
    }
    settings.limit = *limit;
  }
  settings.folder = folder_of_cache();
  if (!settings.folder.empty()) return settings;
  return Error{ErrorKind::usage, fmt::format("HOME names no folder for them; {}", way_out)};
}

Result<KernelCache> KernelCache::open(CacheSettings settings) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorKind::unavailable, fmt::format("`{}` {}; {}", settings.folder, why, way_out)};
  };
  std::error_code failed;
  // Only the user decides who else may read the folder; at first nobody may.
  fs::create_directories(fs::path(settings.folder).parent_path(), failed);
  if (mkdir(settings.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return refuse(fmt::format("cannot be made: {}", std::strerror(errno)));
  }
  struct stat info{};
  if (stat(settings.folder.c_str(), &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refuse("is no folder");
  if (info.st_uid != geteuid()) return refuse("belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return refuse("can be written to by others");
  return KernelCache(std::move(settings));
}

std::string KernelCache::path_of(const std::string& key) const {
  return fmt::format("{}/{}{}", settings_.folder, key, entry_suffix);
}

std::optional<Compiled> KernelCache::find(const std::string& key) const {
  const std::string path = path_of(key);
  if (!plain_file(path)) return {};
  const Result<std::string> content = read_whole_file(path);
  if (!content) return {};
  std::optional<StoredKernel> kernel = parse_cache_entry(*content);
  if (!kernel) {
    remove_file(path);
    return {};
  }
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  Compiled compiled;
  compiled.image = std::move(kernel->image);
  compiled.log = std::move(kernel->log);
  compiled.compiler = std::move(kernel->compiler);
  compiled.cached = true;
  return compiled;
}

Status KernelCache::write(const std::string& path, const std::string& content) const {
  const auto refuse = [&](int code) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write to `{}`: {}; {}", settings_.folder, std::strerror(code),
                             way_out)};
  };
  std::string temporary = fmt::format("{}/{}XXXXXX", settings_.folder, temporary_mark);
  const int file = mkstemp(temporary.data());
  if (file < 0) return refuse(errno);
  int code = 0;
  for (std::string_view rest = content; !rest.empty() && code == 0;) {
    const ssize_t put = ::write(file, rest.data(), rest.size());
    if (put < 0 && errno != EINTR) code = errno;
    if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  }
  if (close(file) != 0 && code == 0) code = errno;
  if (code == 0 && rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code == 0) return Done{};
  remove_file(temporary);
  return refuse(code);
}

Status KernelCache::store(const std::string& key, const CompileRequest& request,
                          const Compiled& compiled) const {
  const std::string content = format_cache_entry(
      {request.name, request.target, compiled.compiler, compiled.log, compiled.image});
  if (content.size() > settings_.limit) return Done{};
  Status written = write(path_of(key), content);
  if (written) evict();
  return written;
}

void KernelCache::evict() const {
  std::vector<CacheEntry> files = files_in(settings_.folder);
  std::sort(files.begin(), files.end(),
            [](const CacheEntry& a, const CacheEntry& b) { return a.used > b.used; });
  std::uint64_t sum = 0;
  for (const CacheEntry& file : files) {
    if (file.path.ends_with(entry_suffix)) {
      sum += file.bytes;
      if (sum > settings_.limit) remove_file(file.path);
    } else if (file.path.find(temporary_mark) != std::string::npos &&
               file.used + temporary_age < std::chrono::system_clock::now()) {
      remove_file(file.path);
    }
  }
}

std::vector<CacheEntry> KernelCache::entries() const {
  std::vector<CacheEntry> entries = files_in(settings_.folder);
  std::erase_if(entries,
                [](const CacheEntry& entry) { return !entry.path.ends_with(entry_suffix); });
  for (CacheEntry& entry : entries) read_words(entry);
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(b.used, a.name, a.path) < std::tie(a.used, b.name, b.path);
  });
  return entries;
}

std::size_t KernelCache::clear() const {
  std::size_t removed = 0;
  for (const CacheEntry& file : files_in(settings_.folder)) {
    std::error_code failed;
    if (file.path.ends_with(entry_suffix) && fs::remove(file.path, failed)) ++removed;
  }
  return removed;
}

Status KernelCache::check_writable() const {
  const std::string probe = settings_.folder + "/probe";
  Status written = write(probe, std::string(std::size_t{1} << 16, '\0'));
  remove_file(probe);
  return written;
}

std::string cache_key(const CompileRequest& request, const std::string& compiler) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", static_cast<int>(request.artifact),
                                 request.target, request.name, compiler);
  for (const std::string& option : compile_options(request)) text += option + '\n';
  text += '\n' + request.source;
  return format_hash(xxh64(text, 0)) + format_hash(xxh64(text, 1));
}

Result<Compiled> compile_cached(const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const Result<CacheSettings> settings = cache_settings();
  if (settings && settings->off) return compile_cuda(request);
  const Result<KernelCache> cache =
      settings ? KernelCache::open(*settings) : Result<KernelCache>(settings.error());
  const Result<std::string> compiler = identify_compiler(request);
  if (!cache) warner().warn(cache.error());
  if (!cache || !compiler) return compile_cuda(request);
  const std::string key = cache_key(request, *compiler);
  if (std::optional<Compiled> found = cache->find(key)) {
    found->options = compile_options(request);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    found->milliseconds = spent.count();
    return *std::move(found);
  }
  Result<Compiled> compiled = compile_cuda(request);
  if (!compiled) return compiled;
  if (const Status stored = cache->store(key, request, *compiled); !stored) {
    warner().warn(stored.error());
  }
  return compiled;
}

void on_cache_warning(std::function<void(const std::string&)> handler) {
  warner().set(std::move(handler));
}

}  // namespace tilevm::backend
