// The machine, part 9, in plain C++ but for shuffles and barriers: the elements of a tile combined
// with one another (isa/layout/reduction.h has the order).

namespace tv {

/// The threads of this thread's warp, a bit each: the last warp of a block may have fewer than 32.
TV_FN u32 lanes_of_warp(u32 threads) {
  const u32 rest = threads % 32;
  const bool is_partial = rest != 0 && thread() / 32 == threads / 32;
  return is_partial ? (1u << rest) - 1 : 0xffffffffu;
}

// ---- What is combined ---------------------------------------------------------------------------
// A Value of a thread, how two of them make one, and how a thread gets that of another: by a
// shuffle, or through shared memory, where `count` values have the numbers 0, 1, ...

template <class T>
TV_FN Code<T::bits> code_from_lane(Code<T::bits> code, u32 distance, u32 threads) {
  if constexpr (T::bits > 32) {
    const u32 low = shfl_bfly(static_cast<u32>(code), distance, lanes_of_warp(threads));
    const u32 high = shfl_bfly(static_cast<u32>(code >> 32), distance, lanes_of_warp(threads));
    return static_cast<u64>(high) << 32 | low;
  } else {
    return shfl_bfly(code, distance, lanes_of_warp(threads));
  }
}

/// Elements of type T, by an operation on two of them. The larger and the smaller of f32 are single
/// instructions, so that a NaN becomes canonical at the end only.
template <class Op>
struct IsChoice {
  static constexpr bool any = false, largest = false;
};
template <>
struct IsChoice<Max> {
  static constexpr bool any = true, largest = true;
};
template <>
struct IsChoice<Min> {
  static constexpr bool any = true, largest = false;
};
template <class Op, class T>
struct Combining {
  typedef Code<T::bits> Value;
  static constexpr bool by_instruction =
      IsChoice<Op>::any && T::kind == floating && T::bits == 32 && T::unused == 0;
  static TV_FN Value combine(Value a, Value b) {
    if constexpr (by_instruction) {
      return IsChoice<Op>::largest ? f32_max(a, b) : f32_min(a, b);
    } else {
      return binary<Op, T>(a, b);
    }
  }
  /// What was combined, as the operation gives it.
  static TV_FN Value result(Value a) {
    if constexpr (by_instruction) {
      return f32_canonical(a);
    } else {
      return a;
    }
  }
  static TV_FN Value from(Value a, u32 distance, u32 threads) {
    return code_from_lane<T>(a, distance, threads);
  }
  template <int count>
  static TV_FN void put(u8* at, u32 number, Value a) {
    store_as<Value>(at + number * sizeof(Value), a);
  }
  template <int count>
  static TV_FN Value take(const u8* at, u32 number) {
    return load_as<Value>(at + number * sizeof(Value));
  }
};

/// The largest or the smallest element with its number; of equal ones the lower number.
template <bool largest, class T>
struct Finding {
  struct Value {
    Code<T::bits> code;
    u32 number;
  };
  /// Whether a is larger (or smaller) than b; a NaN is not, and a number is against a NaN.
  static TV_FN bool leads(Code<T::bits> a, Code<T::bits> b) {
    if (is_nan<T>(a)) return false;
    return is_nan<T>(b) || (largest ? less<T, false>(b, a) : less<T, false>(a, b));
  }
  static TV_FN Value combine(const Value& a, const Value& b) {
    const bool second = leads(b.code, a.code) || (!leads(a.code, b.code) && b.number < a.number);
    return {choose<T, largest>(a.code, b.code), second ? b.number : a.number};
  }
  static TV_FN const Value& result(const Value& a) { return a; }
  static TV_FN Value from(const Value& a, u32 distance, u32 threads) {
    return {code_from_lane<T>(a.code, distance, threads),
            shfl_bfly(a.number, distance, lanes_of_warp(threads))};
  }
  template <int count>
  static TV_FN void put(u8* at, u32 number, const Value& a) {
    Combining<Max, T>::template put<count>(at, number, a.code);
    store_as<u32>(at + count * sizeof(Code<T::bits>) + number * 4, a.number);
  }
  template <int count>
  static TV_FN Value take(const u8* at, u32 number) {
    return {Combining<Max, T>::template take<count>(at, number),
            load_as<u32>(at + count * sizeof(Code<T::bits>) + number * 4)};
  }
};

// ---- The order ----------------------------------------------------------------------------------

/// n values of a thread: a tree that splits them at the largest power of two below n.
template <class R, int n>
TV_FN typename R::Value combine_places(const typename R::Value* values) {
  if constexpr (n == 1) {
    return values[0];
  } else {
    constexpr int half = n <= 2       ? 1
                         : n <= 4     ? 2
                         : n <= 8     ? 4
                         : n <= 16    ? 8
                         : n <= 32    ? 16
                         : n <= 64    ? 32
                         : n <= 128   ? 64
                         : n <= 256   ? 128
                         : n <= 512   ? 256
                         : n <= 1024  ? 512
                         : n <= 2048  ? 1024
                         : n <= 4096  ? 2048
                         : n <= 8192  ? 4096
                         : n <= 16384 ? 8192
                                      : 16384;
    return R::combine(combine_places<R, half>(values), combine_places<R, n - half>(values + half));
  }
}

/// Each thread with the one at a distance, which is a power of two.
template <class R, int results>
TV_FN void combine_lanes(typename R::Value* values, u32 distance, u32 threads) {
  TV_UNROLL
  for (int i = 0; i < results; ++i) {
    values[i] = R::combine(values[i], R::from(values[i], distance, threads));
  }
}

/// Values that threads put into memory, `stride` apart: combined by steps of these sizes, the last
/// step first.
template <class R, int count, int stride>
TV_FN typename R::Value combine_slots(const u8* at, u32 slot) {
  return R::template take<count>(at, slot);
}
template <class R, int count, int stride, int size, int... inner>
TV_FN typename R::Value combine_slots(const u8* at, u32 slot) {
  constexpr u32 step = (stride * ... * inner);
  typename R::Value value = combine_slots<R, count, stride, inner...>(at, slot);
  if constexpr (size <= 32) {
    TV_UNROLL
    for (int i = 1; i < size; ++i) {
      value = R::combine(value, combine_slots<R, count, stride, inner...>(at, slot + i * step));
    }
  } else {
    for (int i = 1; i < size; ++i) {
      value = R::combine(value, combine_slots<R, count, stride, inner...>(at, slot + i * step));
    }
  }
  return value;
}

// ---- Elements combined with all before them (isa/layout/scan_plan.h has the order)
// ---------------- `acc` are the elements, `all` the totals that are known of them: of each
// `members` elements one.

template <class Op, class T>
struct Scanning {
  typedef Code<T::bits> Value;
  static TV_FN Value combine(Value a, Value b) { return binary<Op, T>(a, b); }
  /// The value of the thread `distance` before, or of another lane, which must exist.
  static TV_FN Value before(Value a, u32 distance, u32 threads) {
    return shuffled(a,
                    [&](u32 word) { return shfl_up(word, distance, lanes_of_warp(threads)); });
  }
  static TV_FN Value of(Value a, u32 lane, u32 threads) {
    return shuffled(a, [&](u32 word) { return shfl_idx(word, lane, lanes_of_warp(threads)); });
  }

 private:
  template <class F>
  static TV_FN Value shuffled(Value a, F shuffle) {
    if constexpr (T::bits > 32) {
      const u32 low = shuffle(static_cast<u32>(a));
      const u32 high = shuffle(static_cast<u32>(a >> 32));
      return static_cast<u64>(high) << 32 | low;
    } else {
      return shuffle(a);
    }
  }
};

/// Puts what is before them in front of the elements of total `i`.
template <class R, int members>
TV_FN void put_before(typename R::Value* acc, int i, typename R::Value before) {
  TV_UNROLL
  for (int j = 0; j < members; ++j) acc[i * members + j] = R::combine(before, acc[i * members + j]);
}

template <class R, int totals, int members, int size>
TV_FN void scan_places(typename R::Value* acc, typename R::Value* all) {
  TV_UNROLL
  for (int i = 0; i < totals / size; ++i) {
    typename R::Value running = all[i * size];
    TV_UNROLL
    for (int j = 1; j < size; ++j) {
      put_before<R, members>(acc, i * size + j, running);
      running = R::combine(running, all[i * size + j]);
    }
    all[i] = running;
  }
}

template <class R, int totals, int members, int size>
TV_FN void scan_lanes(typename R::Value* acc, typename R::Value* all, u32 distance, u32 threads) {
  const u32 digit = thread() / distance % size;
  const u32 last = thread() % 32 + (size - 1 - digit) * distance;
  TV_UNROLL
  for (int i = 0; i < totals; ++i) {
    typename R::Value running = all[i];
    TV_UNROLL
    for (u32 step = 1; step < size; step *= 2) {
      const typename R::Value before = R::before(running, step * distance, threads);
      if (digit >= step) running = R::combine(before, running);
    }
    const typename R::Value before = R::before(running, distance, threads);
    if (digit > 0) put_before<R, members>(acc, i, before);
    all[i] = R::of(running, last, threads);
  }
}

/// Totals that threads put into memory: that of thread i of the digit at slot + i * slots.
template <class R, int totals, int members, int size, int slots>
TV_FN void scan_threads(typename R::Value* acc, typename R::Value* all, const u8* at, u32 slot,
                        u32 digit) {
  typedef typename R::Value Value;
  TV_UNROLL
  for (int i = 0; i < totals; ++i) {
    const u8* const begin = at + (slot + i * slots * size) * sizeof(Value);
    Value running = load_as<Value>(begin), before = running;
    TV_UNROLL_UP_TO(size)
    for (int j = 1; j < size; ++j) {
      if (digit == static_cast<u32>(j)) before = running;
      running = R::combine(running, load_as<Value>(begin + j * slots * sizeof(Value)));
    }
    if (digit > 0) put_before<R, members>(acc, i, before);
    all[i] = running;
  }
}

// ---- Elements in other lanes --------------------------------------------------------------------

/// Words i and i ^ distance change places, if `exchanged`.
template <int count, int distance>
TV_FN void swap_words(u32* words, bool exchanged) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) {
    if ((i & distance) != 0) continue;
    const u32 first = words[i], second = words[i ^ distance];
    words[i] = exchanged ? second : first;
    words[i ^ distance] = exchanged ? first : second;
  }
}

}  // namespace tv
