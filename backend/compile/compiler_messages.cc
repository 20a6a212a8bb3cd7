#include "backend/compile/compiler_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace tilevm::backend {
namespace {

constexpr std::size_t log_head = 12'000;
constexpr std::size_t log_tail = 4'000;

/// "sm_75, sm_80, sm_90".
std::string names(const std::vector<int>& architectures) {
  std::string text;
  for (const int number : architectures) {
    text += fmt::format("{}sm_{}", text.empty() ? "" : ", ", number);
  }
  return text;
}

}  // namespace

std::string shorten_log(const std::string& log) {
  const std::size_t start = log.find_first_not_of(" \n\r\t");
  if (start == std::string::npos) return {};
  const std::string text = log.substr(start, log.find_last_not_of(" \n\r\t") + 1 - start);
  if (text.size() <= log_head + log_tail) return text;
  return fmt::format("{}\n... {} bytes left out ...\n{}", text.substr(0, log_head),
                     text.size() - log_head - log_tail, text.substr(text.size() - log_tail));
}

Error unknown_target(const std::string& compiler, const std::string& target,
                     const std::vector<int>& architectures) {
  const std::string known = architectures.empty()
                                ? std::string()
                                : fmt::format("; it makes code for {}", names(architectures));
  return {ErrorKind::unavailable,
          fmt::format("{} does not know the target `{}`{}; choose one of these (some have variants "
                      "with an `a`, such as sm_90a), or use a toolkit that knows it",
                      compiler, target, known)};
}

Error refused_source(const std::string& compiler, const CompileRequest& request,
                     const std::string& target, const std::string& log) {
  return {ErrorKind::program, fmt::format("{} could not compile `{}` for `{}`:\n{}", compiler,
                                          request.name, target, shorten_log(log))};
}

Error compile_timeout(const std::string& compiler, const CompileRequest& request) {
  return {
      ErrorKind::limit,
      fmt::format("compiling `{}` took longer than the {} s allowed ({}); make the kernel's "
                  "unrolled loops smaller or allow more time",
                  request.name, static_cast<double>(request.timeout.count()) / 1000.0, compiler)};
}

std::optional<Error> failure_of_machine(const std::string& compiler, const std::string& log) {
  const auto has_any = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return log.find(part) != std::string::npos; });
  };
  if (has_any({"out of memory", "emory exhausted", "annot allocate memory", "std::bad_alloc",
               "illed by signal", "terminated with signal", "died due to signal"})) {
    return Error{ErrorKind::limit,
                 fmt::format("{} needs more memory than there is: {}", compiler, shorten_log(log))};
  }
  if (has_any({"No space left", "Read-only file system", "Permission denied", "quota exceeded",
               "annot create temporary", "ould not open output file", "ailed to create"})) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} cannot write its files; set TMPDIR to a folder with space: {}",
                             compiler, shorten_log(log))};
  }
  return std::nullopt;
}

}  // namespace tilevm::backend
