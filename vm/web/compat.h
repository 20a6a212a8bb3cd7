// What is missing of C++20 in emscripten's standard library (libc++ 13), and threads for a host
// that has one processor. Every source of the module includes this first; a newer library makes it
// needless.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

/// An object that is accessed atomically. There is one thread, so plain accesses are atomic.
template <class T>
class atomic_ref {
 public:
  explicit atomic_ref(T& object) : object_(&object) {}
  T load(memory_order = memory_order_seq_cst) const { return *object_; }
  void store(T value, memory_order = memory_order_seq_cst) const { *object_ = value; }
  T fetch_and(T bits, memory_order = memory_order_seq_cst) const {
    return exchange(static_cast<T>(*object_ & bits));
  }
  T fetch_or(T bits, memory_order = memory_order_seq_cst) const {
    return exchange(static_cast<T>(*object_ | bits));
  }
  T exchange(T value, memory_order = memory_order_seq_cst) const {
    return std::exchange(*object_, value);
  }
  bool compare_exchange_weak(T& expected, T value, memory_order = memory_order_seq_cst,
                             memory_order = memory_order_seq_cst) const {
    if (*object_ == expected) {
      *object_ = value;
      return true;
    }
    expected = *object_;
    return false;
  }

 private:
  T* object_;
};

/// A thread that has run when it has begun. Whoever starts one here starts helpers that take their
/// share of the work from a queue, or a part of their own: the first of them does it all.
class jthread {
 public:
  template <class Work, class... Arguments>
  explicit jthread(Work&& work, Arguments&&... arguments) {
    std::invoke(std::forward<Work>(work), std::forward<Arguments>(arguments)...);
  }
};

/// Floats as from_chars reads them: no space, no sign `+`, no `0x` before them.
template <class Float>
from_chars_result read_float(const char* begin, const char* end, Float& value) {
  const char* const digits = begin != end && *begin == '-' ? begin + 1 : begin;
  const bool is_hexadecimal = end - digits > 1 && digits[0] == '0' && (digits[1] | 0x20) == 'x';
  const bool is_number =
      digits != end && (isalnum(static_cast<unsigned char>(*digits)) != 0 || *digits == '.');
  if (!is_number) return {begin, errc::invalid_argument};
  const string text(begin, is_hexadecimal ? digits + 1 : end);
  char* stop = nullptr;
  errno = 0;
  const Float number = is_same_v<Float, float> ? static_cast<Float>(strtof(text.c_str(), &stop))
                                               : static_cast<Float>(strtod(text.c_str(), &stop));
  if (stop == text.c_str()) return {begin, errc::invalid_argument};
  const char* const after = begin + (stop - text.c_str());
  const bool is_subnormal = number != 0 && number - number == 0;
  if (errno == ERANGE && !is_subnormal) return {after, errc::result_out_of_range};
  value = number;
  return {after, errc{}};
}
inline from_chars_result from_chars(const char* begin, const char* end, float& value) {
  return read_float(begin, end, value);
}
inline from_chars_result from_chars(const char* begin, const char* end, double& value) {
  return read_float(begin, end, value);
}

}  // namespace std

namespace std::ranges {

template <class Range, class Value, class Projection = identity>
constexpr auto find(Range&& range, const Value& value, Projection projection = {}) {
  auto at = std::begin(range);
  while (at != std::end(range) && !(std::invoke(projection, *at) == value)) ++at;
  return at;
}

template <class Range, class Predicate>
constexpr auto find_if(Range&& range, Predicate predicate) {
  return std::find_if(std::begin(range), std::end(range), predicate);
}

template <class Range, class Function>
constexpr void for_each(Range&& range, Function function) {
  std::for_each(std::begin(range), std::end(range), function);
}

template <class Range, class Value>
constexpr void fill(Range&& range, const Value& value) {
  std::fill(std::begin(range), std::end(range), value);
}

template <class Range, class Value>
constexpr void replace(Range&& range, const Value& old_value, const Value& new_value) {
  std::replace(std::begin(range), std::end(range), old_value, new_value);
}

template <class Range, class Less = less, class Projection = identity>
constexpr void sort(Range&& range, Less is_less = {}, Projection projection = {}) {
  std::sort(std::begin(range), std::end(range), [&](const auto& left, const auto& right) {
    return is_less(std::invoke(projection, left), std::invoke(projection, right));
  });
}

template <class Range, class Value>
constexpr auto count(Range&& range, const Value& value) {
  return std::count(std::begin(range), std::end(range), value);
}

template <class Range, class Predicate>
constexpr auto count_if(Range&& range, Predicate predicate) {
  return std::count_if(std::begin(range), std::end(range), predicate);
}

template <class Range, class Output, class Predicate>
constexpr auto copy_if(Range&& range, Output output, Predicate predicate) {
  return std::copy_if(std::begin(range), std::end(range), output, predicate);
}

template <class Range, class Predicate>
constexpr bool any_of(Range&& range, Predicate predicate) {
  return std::any_of(std::begin(range), std::end(range), predicate);
}

template <class Range, class Predicate>
constexpr bool all_of(Range&& range, Predicate predicate) {
  return std::all_of(std::begin(range), std::end(range), predicate);
}

template <class Left, class Right>
constexpr bool equal(const Left& left, const Right& right) {
  return std::equal(std::begin(left), std::end(left), std::begin(right), std::end(right));
}

template <class Iterator>
struct mismatch_result {
  Iterator in1, in2;
};
template <class Left, class Right>
constexpr auto mismatch(const Left& left, const Right& right) {
  const auto [at_left, at_right] =
      std::mismatch(std::begin(left), std::end(left), std::begin(right), std::end(right));
  return mismatch_result<decltype(std::begin(left))>{at_left, at_right};
}

template <class Range, class Output>
constexpr void move(Range&& range, Output output) {
  std::move(std::begin(range), std::end(range), output);
}

template <class Range, class Value, class Less = less, class Projection = identity>
constexpr auto lower_bound(Range&& range, const Value& value, Less is_less = {},
                           Projection projection = {}) {
  return std::lower_bound(std::begin(range), std::end(range), value,
                          [&](const auto& element, const Value& wanted) {
                            return is_less(std::invoke(projection, element), wanted);
                          });
}

template <class Range, class Value, class Less = less, class Projection = identity>
constexpr auto upper_bound(Range&& range, const Value& value, Less is_less = {},
                           Projection projection = {}) {
  return std::upper_bound(std::begin(range), std::end(range), value,
                          [&](const Value& wanted, const auto& element) {
                            return is_less(wanted, std::invoke(projection, element));
                          });
}

}  // namespace std::ranges

namespace std::views {

template <class Iterator>
struct iterator_pair {
  Iterator first, last;
  constexpr Iterator begin() const { return first; }
  constexpr Iterator end() const { return last; }
};

template <class Range>
constexpr auto reverse(Range& range) {
  return iterator_pair<decltype(std::rbegin(range))>{std::rbegin(range), std::rend(range)};
}

/// The numbers from `first` to before `last`.
template <class Number>
struct counted {
  struct iterator {
    using value_type = Number;
    using difference_type = ptrdiff_t;
    using reference = Number;
    using pointer = const Number*;
    using iterator_category = input_iterator_tag;
    Number number;
    constexpr Number operator*() const { return number; }
    constexpr iterator& operator++() {
      ++number;
      return *this;
    }
    constexpr iterator operator++(int) { return {number++}; }
    constexpr bool operator==(const iterator&) const = default;
  };
  Number first, last;
  constexpr iterator begin() const { return {first}; }
  constexpr iterator end() const { return {last}; }
};

template <class Number>
constexpr counted<Number> iota(Number first, Number last) {
  return {first, last};
}

}  // namespace std::views
