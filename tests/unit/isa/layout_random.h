// Random layouts, in the unified form before it is canonical.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/unit/isa/layout_testing.h"

namespace tilevm::isa::testing {

/// Arguments of RegisterLayout::make.
struct RawLayout {
  Shape shape;
  std::vector<std::int64_t> modes;
  std::vector<int> spatial, local;
};

inline RegisterLayout make_layout(const RawLayout& raw) {
  return must(RegisterLayout::make(raw.shape, raw.modes, raw.spatial, raw.local));
}

/// The function of a raw layout by section 5's definition: split, distribute, merge.
inline Table table_of(const RawLayout& raw) {
  const auto sizes_of = [&](const std::vector<int>& entries) {
    Shape sizes;
    for (const int e : entries) sizes.push_back(e < 0 ? -e : raw.modes[std::size_t(e)]);
    return sizes;
  };
  const Shape spatial_shape = sizes_of(raw.spatial), local_shape = sizes_of(raw.local);
  Table table{raw.shape, element_count(spatial_shape), element_count(local_shape), {}};
  for (std::int64_t t = 0; t < table.threads; ++t) {
    for (std::int64_t i = 0; i < table.locals; ++i) {
      Index mode_digits(raw.modes.size(), 0);
      const auto place = [&](const std::vector<int>& entries, const Index& digits) {
        for (std::size_t e = 0; e < entries.size(); ++e) {
          if (entries[e] >= 0) mode_digits[std::size_t(entries[e])] = digits[e];
        }
      };
      place(raw.spatial, unravel(t, spatial_shape));
      place(raw.local, unravel(i, local_shape));
      Index index;
      std::size_t mode = 0;
      for (const std::int64_t extent : raw.shape) {
        std::int64_t x = 0;
        for (std::int64_t rest = extent; rest > 1; ++mode) {
          x = x * raw.modes[mode] + mode_digits[mode];
          rest /= raw.modes[mode];
        }
        index.push_back(x);
      }
      table.at.push_back(index);
    }
  }
  return table;
}

/// A random raw layout: at most `max_modes` modes of 2 to 4, up to two replica factors, threads and
/// locals in any order.
inline RawLayout random_raw(int rank, int max_modes = 5) {
  const auto pick = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  std::vector<std::vector<std::int64_t>> groups(static_cast<std::size_t>(rank));
  const int modes = rank > 0 ? pick(0, max_modes) : 0;
  for (int m = 0; m < modes; ++m) {
    groups[static_cast<std::size_t>(pick(0, rank - 1))].push_back(pick(2, pick(0, 2) + 2));
  }
  RawLayout raw;
  std::vector<int> order;
  for (const auto& group : groups) {
    raw.shape.push_back(element_count(group));
    for (const std::int64_t size : group) {
      order.push_back(static_cast<int>(raw.modes.size()));
      raw.modes.push_back(size);
    }
  }
  for (int r = pick(0, 4) - 2; r > 0; --r) order.push_back(-pick(2, 4));
  for (std::size_t n = order.size(); n > 1; --n) {
    std::swap(order[n - 1], order[static_cast<std::size_t>(pick(0, int(n) - 1))]);
  }
  for (const int entry : order) {
    (entry < 0 || pick(0, 1) == 0 ? raw.spatial : raw.local).push_back(entry);
  }
  return raw;
}

inline RegisterLayout random_layout(int rank, int max_modes = 4) {
  return make_layout(random_raw(rank, max_modes));
}

inline RegisterLayout random_layout() { return random_layout(*rc::gen::inRange(0, 4)); }

namespace detail {

/// All ordered factorisations of n into factors above 1.
inline std::vector<std::vector<std::int64_t>> factorisations(std::int64_t n) {
  if (n == 1) return {{}};
  std::vector<std::vector<std::int64_t>> all;
  for (std::int64_t first = 2; first <= n; ++first) {
    if (n % first != 0) continue;
    for (auto rest : factorisations(n / first)) {
      rest.insert(rest.begin(), first);
      all.push_back(rest);
    }
  }
  return all;
}

/// All raw layouts with these modes and replica factors.
inline void add_orders(const Shape& shape, const std::vector<std::int64_t>& modes,
                       const std::vector<std::int64_t>& replicas, std::vector<RawLayout>& all) {
  std::vector<int> order(modes.size());
  std::iota(order.begin(), order.end(), 0);
  for (const std::int64_t r : replicas) order.push_back(static_cast<int>(-r));
  std::sort(order.begin(), order.end());
  do {
    for (unsigned choice = 0; choice < 1U << modes.size(); ++choice) {
      RawLayout raw{shape, modes, {}, {}};
      for (const int entry : order) {
        const bool is_local = entry >= 0 && (choice >> entry & 1U) != 0;
        (is_local ? raw.local : raw.spatial).push_back(entry);
      }
      all.push_back(raw);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace detail

/// All raw forms, with many that mean the same.
inline std::vector<RawLayout> all_raw_layouts(const Shape& shape, std::int64_t replicas) {
  std::vector<std::vector<std::int64_t>> mode_lists{{}};
  for (const std::int64_t extent : shape) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& begin : mode_lists) {
      for (const auto& group : detail::factorisations(extent)) {
        longer.push_back(begin);
        longer.back().insert(longer.back().end(), group.begin(), group.end());
      }
    }
    mode_lists = longer;
  }
  std::vector<RawLayout> all;
  for (const auto& modes : mode_lists) {
    for (const auto& factors : detail::factorisations(replicas)) {
      detail::add_orders(shape, modes, factors, all);
    }
  }
  return all;
}

/// Every layout of a shape with that many replicas, once.
inline std::vector<RegisterLayout> all_layouts(const Shape& shape, std::int64_t replicas) {
  std::map<std::string, RegisterLayout> unique;
  for (const RawLayout& raw : all_raw_layouts(shape, replicas)) {
    const RegisterLayout layout = make_layout(raw);
    unique.emplace(attributes(layout), layout);
  }
  std::vector<RegisterLayout> all;
  for (const auto& [key, layout] : unique) all.push_back(layout);
  return all;
}

}  // namespace tilevm::isa::testing
