// Compiled kernels kept in files, so that the same text is compiled once on a machine.
//
// An entry is named by a hash of everything that decides the output: the source, its name, the
// options, the target, the kind of output, and which compiler. It is written to a temporary file
// and renamed, and verified when it is read. So processes may share a folder. An entry holds its
// key. A truncated or damaged entry, one under another's name, and one that others may write to are
// removed, and the kernel is compiled again. When the entries together grow beyond the limit, those
// used longest ago are removed. Files that are not entries, by their name and by how they begin,
// are left alone.
//
// TILEVM_CACHE=off turns the cache off. Its folder is $TILEVM_CACHE_DIR, else tilevm in
// $XDG_CACHE_HOME, else $HOME/.cache/tilevm; an empty variable counts as unset. It must belong to
// the user, and nobody else may write to it. $TILEVM_CACHE_SIZE is the limit in bytes, also as 512M
// or 2G; 1G if unset.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/compile/cache_entry.h"
#include "backend/compile/compile_request.h"
#include "backend/host/folder_handle.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// What the environment says of the cache.
struct CacheSettings {
  bool off = false;
  std::string folder;  ///< empty if `off`
  std::uint64_t limit = std::uint64_t{1} << 30;
};
/// Error (usage): a variable cannot be understood, or no folder follows from them.
[[nodiscard]] Result<CacheSettings> cache_settings();

/// One file of the cache; the last three are empty if it cannot be relied on.
struct CacheEntry {
  std::string path;  ///< path for people
  std::string file;  ///< name of the file in the folder
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point used;  ///< when it was written or read last
  std::string name, target, compiler;
};

/// An opened folder. Errors are of kind unavailable: what failed, and what to do.
class KernelCache {
 public:
  /// Opens the folder, and makes it if there is none. Error: it cannot be made, it belongs to
  /// somebody else, or others may write to it.
  [[nodiscard]] static Result<KernelCache> open(CacheSettings settings);

  /// The entry of this key, which counts as used now. One that cannot be relied on is removed.
  [[nodiscard]] std::optional<Compiled> find(const std::string& key) const;
  /// Adds an entry and removes old ones beyond the limit. Error: the folder or the disk refuses.
  Status store(const std::string& key, const CompileRequest& request,
               const Compiled& compiled) const;

  /// All entries, the one used last first.
  [[nodiscard]] std::vector<CacheEntry> entries() const;
  /// Removes all entries; gives their number.
  [[nodiscard]] std::size_t clear() const;
  /// Error: nothing can be written.
  [[nodiscard]] Status check_writable() const;

 private:
  KernelCache(CacheSettings settings, FolderHandle folder)
      : settings_(std::move(settings)), folder_(std::move(folder)) {}
  [[nodiscard]] Status write(const std::string& name, const std::string& content) const;
  [[nodiscard]] std::optional<StoredKernel> read_entry(const std::string& file) const;
  [[nodiscard]] std::vector<CacheEntry> entry_files() const;
  void remove_abandoned() const;
  void evict() const;

  CacheSettings settings_;
  FolderHandle folder_;
};

/// The name of a request's entry; `compiler` is what `identify_compiler` says.
[[nodiscard]] std::string cache_key(const CompileRequest& request, const std::string& compiler);

/// What the cache has of this request, else what `compile` gives, which is then kept. A cache that
/// does not work is not a failure: it is left out, and the handler of `on_cache_warning` gets the
/// reason.
[[nodiscard]] Result<Compiled> compile_kept(const CompileRequest& request,
                                            const std::string& compiler,
                                            const std::function<Result<Compiled>()>& compile);
/// As `compile_cuda`, but only what the cache does not have.
[[nodiscard]] Result<Compiled> compile_cached(const CompileRequest& request);

/// Sets a handler that is called at most once in a process, with the reason why the cache is not
/// used; nobody by default.
void on_cache_warning(std::function<void(const std::string&)> handler);

}  // namespace tilevm::backend
