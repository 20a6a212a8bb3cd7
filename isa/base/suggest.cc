#include "isa/base/suggest.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace tilevm {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Edit distance with adjacent transpositions (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  const std::size_t n = a.size(), m = b.size();
  std::vector<std::vector<std::size_t>> d(n + 1, std::vector<std::size_t>(m + 1));
  for (std::size_t i = 0; i <= n; ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= m; ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t j = 1; j <= m; ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[n][m];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest_name = 64;  // a longer word is not a misspelling
  if (name.empty() || name.size() > longest_name) return {};
  const std::string wanted = lower(name);
  std::string best;
  constexpr std::size_t far = std::numeric_limits<std::size_t>::max();
  std::pair<std::size_t, std::size_t> best_distance{far, far};
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_name || candidate == name) continue;
    const std::string given = lower(candidate);
    const bool prefix = std::min(given.size(), wanted.size()) >= 3 &&
                        (given.starts_with(wanted) || wanted.starts_with(given));
    const std::size_t limit = std::max<std::size_t>(1, std::max(given.size(), wanted.size()) / 3);
    std::size_t d = distance(wanted, given);
    // Names of one letter are all one change apart: near is only the other case.
    const bool all_differs = d >= std::max(given.size(), wanted.size());
    if ((d > limit || all_differs) && !prefix) continue;
    if (prefix) d = std::min(d, limit);
    const std::pair together{d, distance(std::string(name), candidate)};
    if (together < best_distance) {
      best_distance = together;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tilevm
