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

/// 512M is 2^29. Nothing if it is not a number or too large.
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

std::string file_of(const std::string& key) { return key + std::string(entry_suffix); }

/// Whether a file's name is that of an entry: a key (cache_key) and the suffix.
bool is_entry_name(std::string_view name) {
  constexpr std::size_t key_digits = 32;
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == key_digits + entry_suffix.size() && name.ends_with(entry_suffix) &&
         std::all_of(name.begin(), name.begin() + key_digits, is_digit);
}

std::chrono::system_clock::time_point time_of(const struct stat& info) {
  return std::chrono::system_clock::time_point{} + std::chrono::seconds(info.st_mtim.tv_sec) +
         std::chrono::nanoseconds(info.st_mtim.tv_nsec);
}

bool is_writable_by_others(const struct stat& info) {
  return info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
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
  const std::optional<FolderHandle> folder = FolderHandle::open(settings.folder);
  if (!folder && errno == ENOTDIR) return refuse("is not a folder");
  const auto info = folder ? folder->status() : std::nullopt;
  if (!info) return refuse(std::strerror(errno));
  if (info->st_uid != geteuid()) return refuse("belongs to another user");
  if (is_writable_by_others(*info)) return refuse("can be written to by others");
  return KernelCache(std::move(settings), *folder);
}

/// The entry in this file. Nothing if it is damaged, if it belongs under another name, or if
/// somebody else may have changed it since it was written.
std::optional<StoredKernel> KernelCache::read_entry(const std::string& file) const {
  const auto info = folder_.plain_file(file);
  if (!info || is_writable_by_others(*info)) return {};
  const std::optional<std::string> content = folder_.read(file);
  std::optional<StoredKernel> kernel = content ? parse_cache_entry(*content) : std::nullopt;
  if (kernel && file_of(kernel->key) != file) return {};
  return kernel;
}

std::optional<Compiled> KernelCache::find(const std::string& key) const {
  const std::string file = file_of(key);
  std::optional<StoredKernel> kernel = read_entry(file);
  if (!kernel) {
    const std::optional<std::string> begin = folder_.read(file, cache_magic_bytes);
    if (begin && is_cache_entry(*begin)) folder_.remove(file);
    return {};
  }
  folder_.touch(file);
  Compiled compiled;
  compiled.image = std::move(kernel->image);
  compiled.log = std::move(kernel->log);
  compiled.compiler = std::move(kernel->compiler);
  compiled.cached = true;
  return compiled;
}

Status KernelCache::write(const std::string& name, const std::string& content) const {
  const int code = folder_.write(name, content, std::string(temporary_mark));
  if (code == 0) return Done{};
  return Error{ErrorKind::unavailable, fmt::format("cannot write to `{}`: {}; {}", settings_.folder,
                                                   std::strerror(code), way_out)};
}

Status KernelCache::store(const std::string& key, const CompileRequest& request,
                          const Compiled& compiled) const {
  const std::string content = format_cache_entry(
      {key, request.name, request.target, compiled.compiler, compiled.log, compiled.image});
  if (content.size() > settings_.limit) return Done{};
  Status written = write(file_of(key), content);
  if (written) {
    evict();
    remove_abandoned();
  }
  return written;
}

/// The entries, without their words.
std::vector<CacheEntry> KernelCache::entry_files() const {
  std::vector<CacheEntry> entries;
  for (std::string& name : folder_.plain_files()) {
    if (!is_entry_name(name)) continue;
    const auto info = folder_.plain_file(name);
    const auto begin = folder_.read(name, cache_magic_bytes);
    if (!info || !begin || !is_cache_entry(*begin)) continue;
    CacheEntry& entry = entries.emplace_back();
    entry.path = settings_.folder + "/" + name;
    entry.file = std::move(name);
    entry.bytes = static_cast<std::uint64_t>(info->st_size);
    entry.used = time_of(*info);
  }
  return entries;
}

void KernelCache::evict() const {
  std::vector<CacheEntry> files = entry_files();
  std::sort(files.begin(), files.end(),
            [](const CacheEntry& a, const CacheEntry& b) { return a.used > b.used; });
  std::uint64_t sum = 0;
  for (const CacheEntry& file : files) {
    sum += file.bytes;
    if (sum > settings_.limit) folder_.remove(file.file);
  }
}

void KernelCache::remove_abandoned() const {
  for (const std::string& name : folder_.plain_files()) {
    if (!name.starts_with(temporary_mark)) continue;
    const auto info = folder_.plain_file(name);
    if (info && time_of(*info) + temporary_age < std::chrono::system_clock::now()) {
      folder_.remove(name);
    }
  }
}

std::vector<CacheEntry> KernelCache::entries() const {
  std::vector<CacheEntry> entries = entry_files();
  for (CacheEntry& entry : entries) {
    std::optional<StoredKernel> kernel = read_entry(entry.file);
    if (!kernel) continue;
    entry.name = std::move(kernel->name);
    entry.target = std::move(kernel->target);
    entry.compiler = std::move(kernel->compiler);
  }
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(b.used, a.name, a.path) < std::tie(a.used, b.name, b.path);
  });
  return entries;
}

std::size_t KernelCache::clear() const {
  std::size_t removed = 0;
  for (const CacheEntry& file : entry_files()) removed += folder_.remove(file.file) ? 1 : 0;
  return removed;
}

Status KernelCache::check_writable() const {
  const std::string probe(temporary_mark);
  Status written = write(probe, std::string(std::size_t{1} << 16, '\0'));
  if (written) folder_.remove(probe);
  return written;
}

std::string cache_key(const CompileRequest& request, const std::string& compiler) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", static_cast<int>(request.artifact),
                                 request.target, request.name, compiler);
  for (const std::string& option : compile_options(request)) text += option + '\n';
  text += '\n' + request.source;
  return format_hash(xxh64(text, 0)) + format_hash(xxh64(text, 1));
}

Result<Compiled> compile_kept(const CompileRequest& request, const std::string& compiler,
                              const std::function<Result<Compiled>()>& compile) {
  const auto start = std::chrono::steady_clock::now();
  const Result<CacheSettings> settings = cache_settings();
  if (settings && settings->off) return compile();
  const Result<KernelCache> cache =
      settings ? KernelCache::open(*settings) : Result<KernelCache>(settings.error());
  if (!cache) {
    warner().warn(cache.error());
    return compile();
  }
  const std::string key = cache_key(request, compiler);
  if (std::optional<Compiled> found = cache->find(key)) {
    found->options = compile_options(request);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    found->milliseconds = spent.count();
    return *std::move(found);
  }
  Result<Compiled> compiled = compile();
  if (!compiled) return compiled;
  if (const Status stored = cache->store(key, request, *compiled); !stored) {
    warner().warn(stored.error());
  }
  return compiled;
}

Result<Compiled> compile_cached(const CompileRequest& request) {
  const Result<CacheSettings> settings = cache_settings();
  if (settings && settings->off) return compile_cuda(request);
  const Result<std::string> compiler = identify_compiler(request);
  if (!compiler) return compile_cuda(request);
  return compile_kept(request, *compiler, [&] { return compile_cuda(request); });
}

void on_cache_warning(std::function<void(const std::string&)> handler) {
  warner().set(std::move(handler));
}

}  // namespace tilevm::backend
