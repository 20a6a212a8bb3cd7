#include "vm/cli/run_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace tilevm::vm {

namespace {

/// "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

/// "17 s", "4 min", "3 h".
std::string time_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string progress_text(const std::string& kernel, std::uint64_t done, std::uint64_t all,
                          double seconds) {
  std::string text = fmt::format("{}: {} of {} blocks", kernel, grouped(done), grouped(all));
  // A rate over less time than this says how often the clock is read.
  constexpr double least_seconds = 0.1;
  if (done == 0 || seconds < least_seconds) return text + ", running for " + time_text(seconds);
  const double rate = static_cast<double>(done) / seconds;
  text += rate >= 10 ? fmt::format(", {} a second", grouped(static_cast<std::uint64_t>(rate)))
                     : fmt::format(", {:.2g} a second", rate);
  return text + fmt::format(", {} left", time_text(static_cast<double>(all - done) / rate));
}

bool shows_progress() {
  const char* const term = std::getenv("TERM");
  const bool is_dumb = term == nullptr || std::string_view(term) == "dumb";
  return !is_dumb && isatty(STDERR_FILENO) == 1;
}

RunProgress::RunProgress(OutputStream& err, const isa::Program& program,
                         const sim::Progress& progress, bool shows, Times times)
    : err_(err), program_(program), progress_(progress), times_(times) {
  if (!shows) return;
  try {
    thread_ = std::thread([this] { write_lines(); });
  } catch (const std::system_error&) {  // a run without a line
  }
}

RunProgress::~RunProgress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void RunProgress::write_lines() {
  std::unique_lock lock(mutex_);
  std::uint64_t launch = 0;
  // A launch that is seen for the first time began after the look before, at the earliest.
  Clock::time_point begin = Clock::now(), last_look = begin;
  std::size_t width = 0;
  std::chrono::milliseconds wait = times_.first;
  while (!ended_.wait_for(lock, wait, [this] { return ends_; })) {
    wait = times_.next;
    const Clock::time_point look = Clock::now();
    const int kernel = progress_.kernel;
    if (const std::uint64_t now = progress_.launch; now != launch) {
      launch = now;
      begin = last_look;
    }
    last_look = look;
    if (kernel < 0) continue;
    const std::chrono::duration<double> seconds = look - begin;
    const std::uint64_t all = progress_.of_blocks;
    const std::uint64_t done = std::min<std::uint64_t>(progress_.blocks, all);
    const std::string text = progress_text(program_.kernels[static_cast<std::size_t>(kernel)].name,
                                           done, all, seconds.count());
    err_ << '\r' << text << std::string(width - std::min(width, text.size()), ' ');
    err_.flush();
    width = std::max(width, text.size());
  }
  if (width > 0) {
    err_ << '\r' << std::string(width, ' ') << '\r';
    err_.flush();
  }
}

}  // namespace tilevm::vm
