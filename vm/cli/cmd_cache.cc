#include <array>
#include <ctime>
#include <ostream>

#include <fmt/format.h>

#include "backend/compile/kernel_cache.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/text/choice.h"
#include "vm/text/table.h"

namespace tilevm::vm {

namespace {

using backend::CacheEntry;

/// "2026-01-31 23:59", in the user's time zone.
std::string to_text(std::time_t time) {
  std::tm parts{};
  std::array<char, 32> text{};
  localtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%F %R", &parts)};
}

void list(const std::vector<CacheEntry>& entries, const backend::CacheSettings& settings,
          Reporter& reporter) {
  std::uint64_t bytes = 0;
  Table table;
  table.add({"kernels of", "target", "bytes", "used"});
  Json items = Json::array();
  for (const CacheEntry& entry : entries) {
    bytes += entry.bytes;
    const bool damaged = entry.name.empty();
    const std::time_t used = std::chrono::system_clock::to_time_t(entry.used);
    table.add(
        {damaged ? "(damaged)" : entry.name, entry.target, grouped(entry.bytes), to_text(used)});
    items.push(Json::object()
                   .set("file", entry.path)
                   .set("name", entry.name)
                   .set("target", entry.target)
                   .set("compiler", entry.compiler)
                   .set("bytes", entry.bytes)
                   .set("used", used)
                   .set("damaged", damaged));
  }
  reporter.set("bytes", bytes);
  reporter.set("entries", std::move(items));
  if (reporter.json()) return;
  if (table.has_rows()) reporter.io().out << table.text("");
  reporter.io().out << fmt::format("{}: {} files, {} of {} bytes\n", settings.folder,
                                   entries.size(), grouped(bytes), grouped(settings.limit));
}

}  // namespace

Exit cache(const CacheOptions& options, Io& io) {
  Reporter reporter(io, "cache", options.json);
  if (Status s = check_choice("action", options.action, {"list", "path", "clear"}); !s) {
    return reporter.fail(s.error());
  }
  const Result<backend::CacheSettings> settings = backend::cache_settings();
  if (!settings) return reporter.fail(settings.error());
  reporter.set("off", settings->off);
  if (settings->off) {
    if (!options.json) io.out << "off, as $TILEVM_CACHE says\n";
    return reporter.finish(Exit::ok);
  }
  reporter.set("folder", settings->folder);
  reporter.set("limit", settings->limit);
  if (options.action == "path") {
    if (!options.json) io.out << settings->folder << '\n';
    return reporter.finish(Exit::ok);
  }
  const Result<backend::KernelCache> cache = backend::KernelCache::open(*settings);
  if (!cache) return reporter.fail(cache.error());
  if (options.action == "list") {
    list(cache->entries(), *settings, reporter);
    return reporter.finish(Exit::ok);
  }
  const std::size_t removed = cache->clear();
  reporter.set("removed", removed);
  if (!options.json) io.out << fmt::format("{} files removed\n", removed);
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
