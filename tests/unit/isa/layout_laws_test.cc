// The laws of the register-layout algebra, on random and on all small layouts.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "tests/unit/isa/layout_random.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

/// The layout without its leading dimensions of extent one.
RegisterLayout stripped(const RegisterLayout& l) {
  std::vector<int> leading;
  while (leading.size() < l.shape().size() && l.shape()[leading.size()] == 1) {
    leading.push_back(static_cast<int>(leading.size()));
  }
  return must(squeeze(l, leading));
}

/// The table with indices as row-major numbers: what a reshape keeps.
std::vector<std::int64_t> linear_table(const RegisterLayout& l) {
  std::vector<std::int64_t> linear{l.num_threads()};
  for (const Index& index : table_of(l).at) linear.push_back(ravel(index, l.shape()));
  return linear;
}

std::vector<int> random_permutation(int n) {
  std::vector<int> dims(static_cast<std::size_t>(n));
  std::iota(dims.begin(), dims.end(), 0);
  for (int i = n; i > 1; --i) {
    std::swap(dims[std::size_t(i) - 1], dims[std::size_t(*rc::gen::inRange(0, i))]);
  }
  return dims;
}

}  // namespace

TEST_CASE("canonical form does not change the function") {
  CHECK(rc::check("make(raw) is the raw function", [](std::uint8_t rank) {
    const RawLayout raw = random_raw(rank % 4);
    RC_ASSERT((table_of(raw) == table_of(make_layout(raw))));
  }));
}

TEST_CASE("layouts are equal, hash equal and print equal if and only if their tables are") {
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{8}, Shape{2, 2}, Shape{4, 2}, Shape{1, 6},
                             Shape{2, 1, 4}, Shape{12}}) {
    for (const std::int64_t replicas : {1, 2, 4}) {
      std::map<Table, RegisterLayout> by_table;
      std::set<std::string> texts, forms;
      for (const RawLayout& raw : all_raw_layouts(shape, replicas)) {
        const RegisterLayout layout = make_layout(raw);
        const auto [at, is_new] = by_table.emplace(table_of(raw), layout);
        REQUIRE(at->second == layout);
        REQUIRE(std::hash<RegisterLayout>()(at->second) == std::hash<RegisterLayout>()(layout));
        texts.insert(to_string(layout));
        forms.insert(attributes(layout));
      }
      CHECK(texts.size() == by_table.size());
      CHECK(forms.size() == by_table.size());
    }
  }
}

TEST_CASE("different layouts rarely share a hash") {
  std::set<std::size_t> hashes;
  std::size_t count = 0;
  for (const std::int64_t replicas : {1, 2, 3, 4}) {
    for (const RegisterLayout& l : all_layouts({4, 4}, replicas)) {
      hashes.insert(std::hash<RegisterLayout>()(l));
      ++count;
    }
  }
  CHECK(count > 500);
  CHECK(hashes.size() == count);
}

TEST_CASE("text reads back to an equal layout") {
  CHECK(rc::check("read(to_string(l)) == l", [](std::uint8_t rank) {
    const auto l = random_layout(rank % 5, 6);
    RC_ASSERT((read_layout(to_string(l)) == l));
    RC_ASSERT((to_string(read_layout(to_string(l))) == to_string(l)));
  }));
}

TEST_CASE("layouts that are products of factors print as products") {
  CHECK(rc::check("a product of factors has no `layout(`", [] {
    RegisterLayout product;
    for (int n = *rc::gen::inRange(0, 5); n > 0; --n) {
      const Shape shape{*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4)};
      const int kind = *rc::gen::inRange(0, 5);
      const auto factor = kind == 0   ? local(shape)
                          : kind == 1 ? spatial(shape)
                          : kind == 2 ? column_local(shape)
                          : kind == 3 ? column_spatial(shape)
                                      : replicated(shape[0]);
      product = must(compose(product, *factor));
    }
    RC_ASSERT((to_string(product).find("layout(") == std::string::npos));
  }));
}

TEST_CASE("a layout that is not a product prints in unified form") {
  // Thread digits want the modes of dimension 0 swapped.
  CHECK(to_string(must(RegisterLayout::make({6}, {2, 3}, {1, 0}, {}))) ==
        "layout([6], [2, 3], [1, 0], [])");
  CHECK(to_string(must(RegisterLayout::make({4, 4}, {2, 2, 2, 2}, {3, 0, -2}, {1, 2}))) ==
        "layout([4, 4], [2, 2, 2, 2], [3, 0, -2], [1, 2])");
}

TEST_CASE("the product is the Kronecker product of the functions") {
  CHECK(rc::check("compose == kronecker", [] {
    const auto a = random_layout(*rc::gen::inRange(0, 4), 3);
    const auto b = random_layout(*rc::gen::inRange(0, 4), 3);
    RC_ASSERT((table_of(must(compose(a, b))) == kronecker(table_of(a), table_of(b))));
  }));
}

TEST_CASE("the product is associative and has an identity") {
  CHECK(rc::check("(a.b).c == a.(b.c), 1.a == a == a.1", [] {
    const auto a = random_layout(), b = random_layout(), c = random_layout();
    const auto left = compose(must(compose(a, b)), c);
    const auto right = compose(a, must(compose(b, c)));
    RC_ASSERT((must(left) == must(right)));
    RC_ASSERT((must(compose(RegisterLayout(), a)) == a));
    RC_ASSERT((must(compose(a, RegisterLayout())) == a));
  }));
}

TEST_CASE("division undoes the product on both sides") {
  CHECK(rc::check("(f.g)/g == f, f\\(f.g) == g", [] {
    const auto f = random_layout(), g = random_layout();
    const auto h = must(compose(f, g));
    RC_ASSERT((stripped(must(divide(h, g))) == stripped(f)));
    RC_ASSERT((stripped(must(left_divide(h, f))) == stripped(g)));
    if (f.rank() >= g.rank()) RC_ASSERT((must(divide(h, g)) == f));
    if (g.rank() >= f.rank()) RC_ASSERT((must(left_divide(h, f)) == g));
  }));
}

TEST_CASE("division finds a quotient if and only if there is one") {
  std::size_t exist = 0;
  for (const Shape& low : {Shape{2, 1}, Shape{1, 2}, Shape{2, 2}, Shape{1, 1}}) {
    const Shape high{4 / low[0], 2 / low[1]};
    for (const std::int64_t low_replicas : {1, 2}) {
      const auto highs = all_layouts(high, 2 / low_replicas);
      const auto lows = all_layouts(low, low_replicas);
      std::map<std::string, std::size_t> products;  // "h|g" and "f|h", how often
      for (const auto& f : highs) {
        for (const auto& g : lows) {
          const auto h = attributes(must(compose(f, g)));
          ++products[h + " / " + attributes(g)];
          ++products[attributes(f) + " \\ " + h];
        }
      }
      exist += products.size();
      for (const auto& h : all_layouts({4, 2}, 2)) {
        for (const auto& g : lows) {
          const bool expected = products.count(attributes(h) + " / " + attributes(g)) != 0;
          const auto f = divide(h, g);
          REQUIRE(f.ok() == expected);
          if (f) REQUIRE(must(compose(*f, g)) == h);
        }
        for (const auto& f : highs) {
          const bool expected = products.count(attributes(f) + " \\ " + attributes(h)) != 0;
          const auto g = left_divide(h, f);
          REQUIRE(g.ok() == expected);
          if (g) REQUIRE(must(compose(f, *g)) == h);
        }
      }
    }
  }
  CHECK(exist > 400);
}

TEST_CASE("threads_of and local_of invert element") {
  CHECK(rc::check("t in threads_of(f(t, i)) and local_of(f(t, i)) == i", [] {
    const auto l = random_layout();
    RC_ASSERT((l.num_threads() * l.num_locals() == l.size() * l.num_replicas()));
    for (std::int64_t x = 0; x < l.size(); ++x) {
      const Index index = unravel(x, l.shape());
      const auto threads = l.threads_of(index);
      RC_ASSERT((std::ssize(threads) == l.num_replicas()));
      RC_ASSERT((std::is_sorted(threads.begin(), threads.end())));
      for (const auto t : threads) RC_ASSERT((l.element(t, l.local_of(index)) == index));
      // Exactly one holder has all replica digits zero, the first.
      for (const auto t : threads) {
        bool first = true;
        for (const auto& term : l.replica_terms()) first &= t / term.divisor % term.size == 0;
        RC_ASSERT((first == (t == threads.front())));
      }
    }
  }));
}

TEST_CASE("a permutation permutes indices") {
  CHECK(rc::check("element'(t,i)[j] == element(t,i)[dims[j]], and the inverse undoes it", [] {
    const auto l = random_layout();
    const auto dims = random_permutation(l.rank());
    const auto p = must(permute(l, dims));
    Table expected = table_of(l);
    std::vector<int> inverse(dims.size());
    for (std::size_t j = 0; j < dims.size(); ++j) {
      expected.shape[j] = l.shape()[std::size_t(dims[j])];
      inverse[std::size_t(dims[j])] = static_cast<int>(j);
    }
    for (Index& index : expected.at) {
      const Index old = index;
      for (std::size_t j = 0; j < dims.size(); ++j) index[j] = old[std::size_t(dims[j])];
    }
    RC_ASSERT((table_of(p) == expected));
    RC_ASSERT((must(permute(p, inverse)) == l));
  }));
}

TEST_CASE("a reshape keeps row-major numbers and is undone by its inverse") {
  CHECK(rc::check("linear(reshape(l)) == linear(l)", [] {
    const auto l = random_layout();
    const auto flat = must(reshape(l, {l.size()}));  // always exists
    RC_ASSERT((linear_table(flat) == linear_table(l)));
    RC_ASSERT((must(reshape(flat, l.shape())) == l));
    const auto once = must(reshape(l, l.shape()));
    RC_ASSERT((once == l));
  }));
}

TEST_CASE("a reshape exists if and only if some layout has the same numbers") {
  std::size_t exist = 0, refused = 0;
  for (const auto& [from, to] : {std::pair{Shape{6, 2}, Shape{4, 3}},
                                 {Shape{2, 6}, Shape{3, 4}},
                                 {Shape{12}, Shape{3, 2, 2}},
                                 {Shape{3, 4}, Shape{2, 6}},
                                 {Shape{2, 4}, Shape{4, 1, 2}}}) {
    for (const std::int64_t replicas : {1, 2}) {
      std::map<std::vector<std::int64_t>, RegisterLayout> targets;
      for (const auto& l : all_layouts(to, replicas)) targets.emplace(linear_table(l), l);
      for (const auto& l : all_layouts(from, replicas)) {
        const auto expected = targets.find(linear_table(l));
        const auto reshaped = reshape(l, to);
        REQUIRE(reshaped.ok() == (expected != targets.end()));
        if (reshaped) REQUIRE(*reshaped == expected->second);
        ++(reshaped ? exist : refused);
      }
    }
  }
  CHECK(exist > 100);
  CHECK(refused > 100);
}

TEST_CASE("a reduction's result lies where its operands lie") {
  CHECK(rc::check("the reduced element of f(t, i) is held by t, and by no other thread", [] {
    const auto l = random_layout(*rc::gen::inRange(1, 4));
    std::vector<int> dims;
    for (int d = 0; d < l.rank(); ++d) {
      if (*rc::gen::inRange(0, 2) == 0) dims.push_back(d);
    }
    const auto kept = must(reduce(l, dims, true)), dropped = must(reduce(l, dims));
    RC_ASSERT((must(squeeze(kept, dims)) == dropped));
    RC_ASSERT((kept.num_threads() == l.num_threads()));
    std::map<Index, std::set<std::int64_t>> holders;
    for (std::int64_t t = 0; t < l.num_threads(); ++t) {
      for (std::int64_t i = 0; i < l.num_locals(); ++i) {
        Index index = l.element(t, i);
        for (const int d : dims) index[std::size_t(d)] = 0;
        holders[index].insert(t);
      }
    }
    RC_ASSERT((std::ssize(holders) == kept.size()));
    for (const auto& [index, threads] : holders) {
      const auto actual = kept.threads_of(index);
      RC_ASSERT((std::set<std::int64_t>(actual.begin(), actual.end()) == threads));
    }
  }));
}

TEST_CASE("reduce_to is reduction over what the broadcast repeats") {
  CHECK(rc::check("an operand's element lies with every element it is broadcast to", [] {
    const auto l = random_layout(*rc::gen::inRange(1, 4));
    const auto drop = static_cast<std::size_t>(*rc::gen::inRange(0, l.rank() + 1));
    Shape shape(l.shape().begin() + static_cast<std::ptrdiff_t>(drop), l.shape().end());
    for (auto& extent : shape) {
      if (*rc::gen::inRange(0, 2) == 0) extent = 1;
    }
    const auto operand = must(reduce_to(l, shape));
    RC_ASSERT((operand.shape() == shape));
    RC_ASSERT((operand.num_threads() == l.num_threads()));
    for (std::int64_t t = 0; t < l.num_threads(); ++t) {
      for (std::int64_t i = 0; i < l.num_locals(); ++i) {
        const Index index = l.element(t, i);
        Index own(index.begin() + static_cast<std::ptrdiff_t>(drop), index.end());
        for (std::size_t d = 0; d < own.size(); ++d) own[d] = shape[d] == 1 ? 0 : own[d];
        const auto threads = operand.threads_of(own);
        RC_ASSERT((std::binary_search(threads.begin(), threads.end(), t)));
      }
    }
  }));
}

TEST_CASE("squeeze undoes unsqueeze, and both are reshapes") {
  CHECK(rc::check("squeeze(unsqueeze(l, dims), dims) == l", [] {
    const auto l = random_layout();
    std::vector<int> dims = random_permutation(l.rank() + 2);
    dims.resize(2);
    const auto wide = must(unsqueeze(l, dims));
    RC_ASSERT((must(squeeze(wide, dims)) == l));
    RC_ASSERT((must(reshape(l, wide.shape())) == wide));
  }));
}

TEST_CASE("concatenation is the side-by-side function") {
  CHECK(rc::check("concat(a, b)(t, i) == (a(t/Tb, i/Nb), b(t%Tb, i%Nb))", [] {
    const auto a = random_layout(*rc::gen::inRange(0, 3), 3);
    const auto b = random_layout(*rc::gen::inRange(0, 3), 3);
    const auto c = must(concat(a, b));
    RC_ASSERT((c.num_threads() == a.num_threads() * b.num_threads()));
    for (std::int64_t t = 0; t < c.num_threads(); ++t) {
      for (std::int64_t i = 0; i < c.num_locals(); ++i) {
        Index expected = a.element(t / b.num_threads(), i / b.num_locals());
        const Index tail = b.element(t % b.num_threads(), i % b.num_locals());
        expected.insert(expected.end(), tail.begin(), tail.end());
        RC_ASSERT((c.element(t, i) == expected));
      }
    }
  }));
}

TEST_CASE("automatic layouts are local tiles of spatial tiles") {
  CHECK(rc::check("auto_local_spatial has the threads and the shape that are asked for", [] {
    const std::int64_t threads = *rc::gen::inRange(1, 200);
    Shape shape;
    for (int d = *rc::gen::inRange(0, 4); d > 0; --d) shape.push_back(*rc::gen::inRange(1, 20));
    const auto l = must(auto_local_spatial(threads, shape));
    RC_ASSERT((l.num_threads() == threads));
    RC_ASSERT((l.shape() == shape));
    if (element_count(shape) % threads == 0) RC_ASSERT((l.num_replicas() == 1));
    if (threads % element_count(shape) == 0) RC_ASSERT((l.num_locals() == 1));
  }));
}

TEST_CASE("equivalence inside threads is equality of each thread's set of elements") {
  const auto sets_of = [](const RegisterLayout& l) {
    std::vector<std::set<Index>> sets(std::size_t(l.num_threads()));
    for (std::int64_t t = 0; t < l.num_threads(); ++t) {
      for (std::int64_t i = 0; i < l.num_locals(); ++i) {
        sets[std::size_t(t)].insert(l.element(t, i));
      }
    }
    return sets;
  };
  std::size_t equivalent = 0;
  const auto layouts = all_layouts({4, 2}, 2);
  for (const auto& a : layouts) {
    const auto sets = sets_of(a);
    for (const auto& b : layouts) {
      REQUIRE(thread_local_equivalent(a, b) == (sets == sets_of(b)));
      equivalent += thread_local_equivalent(a, b) ? 1U : 0U;
      if (a.num_threads() != b.num_threads()) continue;
      const auto crossing = find_crossing(a, b);
      REQUIRE(crossing.has_value() != thread_local_equivalent(a, b));
      if (!crossing) continue;
      const auto [element, from, to] = *crossing;
      const auto other = sets_of(b);
      REQUIRE(sets[std::size_t(from)].count(element) == 1);
      REQUIRE(other[std::size_t(to)].count(element) == 1);
      const auto back = other[std::size_t(from)].count(element);
      REQUIRE(back * sets[std::size_t(to)].count(element) == 0);
    }
  }
  CHECK(equivalent > layouts.size());
}

TEST_CASE("contiguity is the largest run that the table shows") {
  const auto holds = [](const RegisterLayout& l, std::int64_t n, std::size_t dim) {
    if (l.num_locals() % n != 0) return false;
    for (std::int64_t t = 0; t < l.num_threads(); ++t) {
      for (std::int64_t i = 0; i < l.num_locals(); ++i) {
        Index expected = l.element(t, i / n * n);
        if (expected[dim] % n != 0) return false;
        expected[dim] += i % n;
        if (l.element(t, i) != expected) return false;
      }
    }
    return true;
  };
  CHECK(rc::check("contiguity(l, dim) is the maximum", [&] {
    const auto l = random_layout(*rc::gen::inRange(1, 4));
    for (int dim = 0; dim < l.rank(); ++dim) {
      std::int64_t largest = 1;
      for (std::int64_t n = 1; n <= l.num_locals(); ++n) {
        if (holds(l, n, std::size_t(dim))) largest = n;
      }
      RC_ASSERT((contiguity(l, dim) == largest));
    }
  }));
}
