// The functions against MPFR: the largest errors that docs/reference/arithmetic.md promises, and
// correct rounding where it says so, on 2^21 arguments of each function; with TILEVM_EXHAUSTIVE
// set, on every f32 (hours of one processor for each function).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "isa/inst/elementwise.h"
#include "sim/arithmetic/element_loops.h"
#include "tests/oracles/mpfr_support.h"
#include "tests/oracles/sampling.h"

namespace tilevm::oracles {
namespace {

using isa::UnaryOp;

constexpr std::uint32_t infinity = 0x7f800000, canonical_nan = 0x7fffffff;

int reciprocal(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode) {
  return mpfr_ui_div(result, 1, x, mode);
}
int reciprocal_root(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode) {
  // IEEE 754 keeps the sign of a zero; MPFR does not.
  return mpfr_zero_p(x) != 0 ? reciprocal(result, x, mode) : mpfr_rec_sqrt(result, x, mode);
}
int sigmoid(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode) {
  mpfr_neg(result, x, mode);
  mpfr_exp(result, result, mode);
  mpfr_add_ui(result, result, 1, mode);
  return reciprocal(result, result, mode);
}

struct Function {
  UnaryOp op;
  int (*exact)(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode);
  int last_exponent;  ///< |x| < 2^this has results worth a look; half of the arguments lie there
};

constexpr std::array functions{
    Function{UnaryOp::exp2, mpfr_exp2, 8},   Function{UnaryOp::exp, mpfr_exp, 7},
    Function{UnaryOp::log2, mpfr_log2, 4},   Function{UnaryOp::log, mpfr_log, 4},
    Function{UnaryOp::sin, mpfr_sin, 17},    Function{UnaryOp::cos, mpfr_cos, 17},
    Function{UnaryOp::tanh, mpfr_tanh, 4},   Function{UnaryOp::sigmoid, sigmoid, 7},
    Function{UnaryOp::sqrt, mpfr_sqrt, 4},   Function{UnaryOp::rsqrt, reciprocal_root, 4},
    Function{UnaryOp::rcp, reciprocal, 128}, Function{UnaryOp::erf, mpfr_erf, 2},
};

struct Promise {
  double most_ulp;
  bool rounded_correctly;
};

/// The table of docs/reference/arithmetic.md, by mnemonic: `| `Sin` `Cos` | 1.50 | 92 % | ..`.
std::map<std::string, Promise> read_promises() {
  std::map<std::string, Promise> promises;
  std::ifstream file(TILEVM_SOURCE_DIR "/docs/reference/arithmetic.md");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| function | largest error (ulp) | rounded correctly |")) inside = true;
    if (line.empty()) inside = false;
    if (!inside || !line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    std::string names, largest, correct;
    std::getline(cells, names, '|');
    std::getline(cells, largest, '|');
    std::getline(cells, correct, '|');
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      promises[name.substr(1, name.size() - 2)] = {std::stod(largest), correct == " all "};
    }
  }
  return promises;
}

/// What was found on some arguments of one function.
struct Findings {
  std::uint64_t count = 0, wrong = 0;
  std::uint32_t first_wrong = 0, worst_at = 0;
  double worst = 0;

  void add(std::uint32_t x, double error, double most) {
    ++count;
    if (!(error <= most) && wrong++ == 0) first_wrong = x;
    if (error > worst) worst = error, worst_at = x;
  }
  void add(const Findings& other) {
    if (wrong == 0) first_wrong = other.first_wrong;
    if (other.worst > worst) worst = other.worst, worst_at = other.worst_at;
    count += other.count, wrong += other.wrong;
  }
};

/// Compares arguments and the simulator's results with MPFR.
class Judge {
 public:
  Judge(const Function& function, const Promise& promise)
      : function_(function), promise_(promise) {}

  void judge(const std::vector<std::uint32_t>& x, const std::vector<std::uint32_t>& got,
             Findings& findings) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error =
          promise_.rounded_correctly ? is_other(x[i], got[i]) : error_of(x[i], got[i]);
      findings.add(x[i], error, promise_.rounded_correctly ? 0 : promise_.most_ulp);
    }
  }

 private:
  /// 0 if the result is the correctly rounded one, bit for bit, else infinite.
  double is_other(std::uint32_t x, std::uint32_t got) {
    const FormatRange range(isa::f32);
    mpfr_set_flt(x_, std::bit_cast<float>(x), MPFR_RNDN);
    const int ternary = function_.exact(rounded_, x_, MPFR_RNDN);
    return range.code(rounded_, ternary) == got ? 0 : HUGE_VAL;
  }

  double error_of(std::uint32_t x, std::uint32_t got) {
    mpfr_set_flt(x_, std::bit_cast<float>(x), MPFR_RNDN);
    function_.exact(exact_, x_, MPFR_RNDN);
    const auto value = std::bit_cast<float>(got);
    if (mpfr_nan_p(exact_) != 0) return got == canonical_nan ? 0 : HUGE_VAL;
    if (std::isnan(value)) return HUGE_VAL;
    if (mpfr_inf_p(exact_) != 0) {
      return got == (infinity | (mpfr_signbit(exact_) != 0 ? 0x80000000 : 0)) ? 0 : HUGE_VAL;
    }
    const bool sign_matters = mpfr_zero_p(exact_) != 0 && value == 0;
    if (sign_matters && std::signbit(value) != (mpfr_signbit(exact_) != 0)) return HUGE_VAL;
    return error_in_ulp(value, exact_, scratch_);
  }

  Function function_;
  Promise promise_;
  Real x_{24}, rounded_{24}, exact_{64}, scratch_{64};
};

/// The arguments of the chunk: all that there are, or a sample.
constexpr std::uint64_t chunk_size = 1 << 14;
std::vector<std::uint32_t> arguments(const Function& function, std::uint64_t chunk, bool all) {
  std::vector<std::uint32_t> result(chunk_size);
  Random random(chunk);
  for (std::uint64_t i = 0; i < chunk_size; ++i) {
    const std::uint64_t index = chunk * chunk_size + i;
    std::uint64_t code = all ? index : stratified(random, isa::f32, index / 2);
    if (!all && index % 2 != 0) {
      const auto field = static_cast<std::uint64_t>(126 + function.last_exponent -
                                                    random.below(26 + function.last_exponent));
      code = (code & 0x807fffff) | std::min<std::uint64_t>(field, 254) << 23;
    }
    result[i] = static_cast<std::uint32_t>(code);
  }
  return result;
}

Findings judge_chunks(const Function& function, const Promise& promise, std::uint64_t first,
                      std::uint64_t step, std::uint64_t chunks, bool all) {
  const sim::LaneLoop1 loop = sim::unary_loop(function.op, isa::f32);
  Judge judge(function, promise);
  Findings findings;
  std::vector<std::uint32_t> got(chunk_size);
  for (std::uint64_t chunk = first; chunk < chunks; chunk += step) {
    const auto x = arguments(function, chunk, all);
    loop(reinterpret_cast<const std::uint8_t*>(x.data()),
         reinterpret_cast<std::uint8_t*>(got.data()), x.size());
    judge.judge(x, got, findings);
  }
  mpfr_free_cache();
  return findings;
}

Findings judge_everywhere(const Function& function, const Promise& promise) {
  const bool all = std::getenv("TILEVM_EXHAUSTIVE") != nullptr;
  const std::uint64_t arguments = all ? std::uint64_t{1} << 32 : (std::uint64_t{1} << 21) / fewer;
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<Findings> found(threads);
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      found[i] = judge_chunks(function, promise, i, threads, arguments / chunk_size, all);
    });
  }
  workers.clear();
  Findings sum;
  for (const Findings& findings : found) sum.add(findings);
  CHECK(sum.count == arguments);
  return sum;
}

}  // namespace

TEST_CASE("functions are as near to MPFR as the reference says") {
  const auto promises = read_promises();
  CHECK(promises.size() == functions.size());
  const char* const only = std::getenv("TILEVM_FUNCTION");
  for (const Function& function : functions) {
    const std::string name(isa::describe(function.op).mnemonic);
    if (only != nullptr && name != only) continue;
    CAPTURE(name);
    REQUIRE(promises.contains(name));
    const Promise promise = promises.at(name);
    CHECK(promise.rounded_correctly == (promise.most_ulp == 0.5));
    const Findings found = judge_everywhere(function, promise);
    CAPTURE(found.first_wrong);
    CHECK(found.wrong == 0);
    std::cout << fmt::format(
        "{}: {} arguments, {}\n", name, found.count,
        promise.rounded_correctly
            ? "each rounded correctly"
            : fmt::format("at most {:.4f} ulp, at {:08x}", found.worst, found.worst_at));
  }
}

}  // namespace tilevm::oracles
