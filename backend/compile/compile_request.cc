#include "backend/compile/compile_request.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilevm::backend {

Result<CudaTarget> parse_cuda_target(const std::string& text) {
  CudaTarget target;
  std::string rest;
  if (text.starts_with("sm_")) {
    rest = text.substr(3);
  } else if (text.starts_with("compute_")) {
    rest = text.substr(8);
    target.is_virtual = true;
  }
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    target.suffix = rest.substr(rest.size() - 1);
    rest.pop_back();
  }
  const bool digits =
      std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || rest.size() < 2 || rest.size() > 4 || rest.front() == '0') {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is not a target; write one such as sm_80, sm_86, sm_89, sm_90a, "
                             "sm_100a or sm_120",
                             text)};
  }
  for (const char c : rest) target.number = target.number * 10 + (c - '0');
  return target;
}

std::vector<std::string> compile_options(const CompileRequest& request) {
  // All but the first are defaults of one compiler or the other; they are written out because every
  // bit of the results depends on them.
  std::vector<std::string> options{"-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true",
                                   "-prec-sqrt=true"};
  if (request.line_info) options.emplace_back("-lineinfo");
  if (request.level) options.push_back(fmt::format("--ptxas-options=-O{}", *request.level));
  options.insert(options.end(), request.extra_options.begin(), request.extra_options.end());
  return options;
}

}  // namespace tilevm::backend
