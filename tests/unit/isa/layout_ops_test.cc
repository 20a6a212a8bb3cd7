// Known results of the layout operations.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/isa/layout_testing.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

RegisterLayout L(const char* text) { return read_layout(text); }

constexpr const char* fragment_c = "local(2, 1).spatial(8, 4).local(1, 2)";

}  // namespace

TEST_CASE("division by a right factor gives the left one") {
  struct Vector {
    const char *h, *g, *f;
  };
  const Vector vectors[] = {
      {"spatial(2, 4)", "spatial(1, 2)", "spatial(2, 2)"},
      {"spatial(2, 4).local(2, 1)", "local(2, 1)", "spatial(2, 4)"},
      {"spatial(2, 4).local(2, 1)", "spatial(1, 2).local(2, 1)", "spatial(2, 2)"},
      {"spatial(32, 1).local(1, 32)", "spatial(32, 1)", "local(1, 32)"},
      {"spatial(6)", "spatial(3)", "spatial(2)"},
      {"spatial(2, 12)", "spatial(1, 3)", "spatial(2, 4)"},
      {"spatial(2, 12).local(2, 3)", "local(2, 3)", "spatial(2, 12)"},
      {"local(2, 4)", "local(1, 2)", "local(2, 2)"},
      {"column_local(2, 2).spatial(8, 4).local(1, 2)", "spatial(8, 4).local(1, 2)",
       "column_local(2, 2)"},
      {"local(2, 1).column_spatial(4, 8).local(2, 1)", "column_spatial(4, 8).local(2, 1)",
       "local(2, 1)"},
      {"replicated(8).spatial(4)", "replicated(2).spatial(4)", "replicated(4).spatial(1)"},
      {"spatial(4).replicated(6)", "replicated(2)", "spatial(4).replicated(3)"},
      {"local(2, 3).spatial(6)", "spatial(6)", "local(2, 3)"},
      {"local(2, 1).spatial(2, 3)", "local()", "local(2, 1).spatial(2, 3)"},
      {"local(2, 1).spatial(2, 3)", "local(2, 1).spatial(2, 3)", "local(1, 1)"},
  };
  for (const auto& [h, g, f] : vectors) {
    CAPTURE(h);
    CAPTURE(g);
    CHECK(to_string(must(divide(L(h), L(g)))) == to_string(L(f)));
    CHECK(must(compose(L(f), L(g))) == L(h));
  }
}

TEST_CASE("division fails where no left factor exists") {
  for (const auto& [h, g] : {std::pair{"spatial(2, 4)", "spatial(4, 2)"},
                             {"spatial(2, 4)", "local(2, 1)"},
                             {"spatial(6)", "spatial(4)"},
                             {"spatial(2, 4)", "spatial(2, 1)"},
                             {"replicated(4)", "replicated(3)"},
                             {"spatial(4).replicated(2)", "spatial(2)"},
                             {"column_spatial(2, 2)", "spatial(1, 2)"}}) {
    CAPTURE(h);
    CAPTURE(g);
    CHECK_FALSE(divide(L(h), L(g)).ok());
  }
}

TEST_CASE("left division by a left factor gives the right one") {
  struct Vector {
    const char *h, *f, *g;
  };
  const Vector vectors[] = {
      {"spatial(2, 4)", "spatial(2, 1)", "spatial(1, 4)"},
      {"local(2, 1).spatial(2, 4)", "local(2, 1)", "spatial(2, 4)"},
      {"spatial(2, 2).local(2, 1)", "spatial(2, 2)", "local(2, 1)"},
      {"spatial(2, 4)", "spatial(2, 2)", "spatial(1, 2)"},
      {"spatial(6)", "spatial(2)", "spatial(3)"},
      {"spatial(2, 12).local(2, 3)", "spatial(2, 1).local(2, 1)", "spatial(1, 12).local(1, 3)"},
      {"spatial(3, 2).local(2, 1).local(2, 2)", "spatial(3, 2).local(2, 1)", "local(2, 2)"},
      {"replicated(8).spatial(4)", "replicated(2)", "replicated(4).spatial(4)"},
      {"spatial(4).replicated(6)", "spatial(4).replicated(3)", "replicated(2).spatial(1)"},
  };
  for (const auto& [h, f, g] : vectors) {
    CAPTURE(h);
    CAPTURE(f);
    CHECK(to_string(must(left_divide(L(h), L(f)))) == to_string(L(g)));
    CHECK(must(compose(L(f), L(g))) == L(h));
  }
  CHECK_FALSE(left_divide(L("spatial(4)"), L("local(2)")).ok());
  CHECK_FALSE(left_divide(L("spatial(2, 2)"), L("spatial(1, 2)")).ok());
}

TEST_CASE("a reduced spatial mode becomes replicas in place") {
  const auto columns = must(reduce(L("spatial(3, 4)"), {0}));
  CHECK(attributes(columns) == "[4] | [4] | [-3,0] | [] | 12 x 1");
  CHECK(columns.threads_of({1}) == std::vector<std::int64_t>{1, 5, 9});
  const auto rows = must(reduce(L("spatial(4, 6)"), {1}));
  CHECK(attributes(rows) == "[4] | [4] | [0,-6] | [] | 24 x 1");
  CHECK(rows.threads_of({1}) == std::vector<std::int64_t>{6, 7, 8, 9, 10, 11});
  CHECK(must(reduce(L("spatial(4, 6)"), {1}, true)).shape() == Shape{4, 1});
  CHECK(attributes(must(reduce(L(fragment_c), {0, 1}))) == "[] | [] | [-32] | [] | 32 x 1");
  CHECK(must(reduce(L(fragment_c), {})) == L(fragment_c));
}

TEST_CASE("layouts of reduction operands sum every element once") {
  const RegisterLayout layouts[] = {
      L("spatial(4, 8)"),
      L("spatial(4, 8).local(1, 2)"),
      L("spatial(2, 2).local(1, 2).spatial(2, 1).local(2, 1).spatial(2, 2)"),
      L("spatial(4, 32)"),
      L("spatial(2, 4).spatial(2, 4)"),
      L("spatial(2, 4).column_spatial(2, 4)"),
      must(RegisterLayout::make({32, 16}, {2, 2, 8, 2, 4, 2}, {-4, 2, 4}, {0, 3, 1, 5})),
  };
  CHECK(attributes(layouts[2]) == "[16,8] | [2,2,2,2,2,2,2] | [0,4,1,3,6] | [5,2] | 32 x 4");
  CHECK(attributes(layouts[5]) == "[4,16] | [2,2,16] | [0,2,1] | [] | 64 x 1");
  CHECK(attributes(layouts[6]) == "[32,16] | [2,2,8,2,4,2] | [-4,2,4] | [0,3,1,5] | 128 x 16");
  for (const auto& l : layouts) {
    for (const int dim : {0, 1}) {
      const auto reduced = must(reduce(l, {dim}));
      const auto other = static_cast<std::size_t>(1 - dim);
      REQUIRE(reduced.num_threads() == l.num_threads());
      // Sum the row-major number of each element, over first copies only, into its result's place.
      std::vector<std::int64_t> sums(std::size_t(l.shape()[other]), 0);
      for (std::int64_t t = 0; t < l.num_threads(); ++t) {
        for (std::int64_t i = 0; i < l.num_locals(); ++i) {
          const Index at = l.element(t, i);
          const auto holders = reduced.threads_of({at[other]});
          CHECK(std::find(holders.begin(), holders.end(), t) != holders.end());
          if (l.threads_of(at).front() == t) sums[std::size_t(at[other])] += ravel(at, l.shape());
        }
      }
      for (std::int64_t x = 0; x < l.shape()[other]; ++x) {
        std::int64_t expected = 0;
        for (std::int64_t y = 0; y < l.shape()[std::size_t(dim)]; ++y) {
          expected += dim == 0 ? y * l.shape()[1] + x : x * l.shape()[1] + y;
        }
        CHECK(sums[std::size_t(x)] == expected);
      }
    }
  }
}

TEST_CASE("an operand of a broadcast has the reduced layout") {
  const auto c = L(fragment_c);
  CHECK(attributes(must(reduce_to(c, {1, 8}))) == "[1,8] | [4,2] | [-8,0] | [1] | 32 x 2");
  CHECK(attributes(must(reduce_to(c, {8}))) == "[8] | [4,2] | [-8,0] | [1] | 32 x 2");
  CHECK(attributes(must(reduce_to(c, {16, 1}))) == "[16,1] | [2,8] | [1,-4] | [0] | 32 x 2");
  CHECK(attributes(must(reduce_to(c, {1, 1}))) == "[1,1] | [] | [-32] | [] | 32 x 1");
  CHECK(attributes(must(reduce_to(c, {}))) == "[] | [] | [-32] | [] | 32 x 1");
  CHECK(must(reduce_to(c, {16, 8})) == c);
}

TEST_CASE("automatic layouts spread the last dimension over neighbouring threads") {
  const auto of = [](std::int64_t threads, const Shape& shape) {
    return attributes(must(auto_local_spatial(threads, shape)));
  };
  CHECK(of(128, {64, 32}) == "[64,32] | [16,4,32] | [1,2] | [0] | 128 x 16");
  CHECK(of(32, {16, 8}) == "[16,8] | [4,4,8] | [1,2] | [0] | 32 x 4");
  CHECK(of(32, {16, 16}) == "[16,16] | [8,2,16] | [1,2] | [0] | 32 x 8");
  CHECK(of(128, {4, 8}) == "[4,8] | [4,8] | [-4,0,1] | [] | 128 x 1");
  CHECK(of(64, {4, 8}) == "[4,8] | [4,8] | [-2,0,1] | [] | 64 x 1");
  CHECK(of(128, {32}) == "[32] | [32] | [-4,0] | [] | 128 x 1");
  CHECK(of(12, {8}) == "[8] | [2,4] | [-3,1] | [0] | 12 x 2");
  CHECK(of(32, {}) == "[] | [] | [-32] | [] | 32 x 1");
  CHECK(of(32, {1, 3}) == "[1,3] | [3] | [-32] | [0] | 32 x 3");
}

TEST_CASE("a permutation regroups the modes and keeps their order in threads and locals") {
  CHECK(attributes(must(permute(L(fragment_c), {1, 0}))) ==
        "[8,16] | [4,2,2,8] | [3,0] | [2,1] | 32 x 4");
  CHECK(attributes(must(permute(L("spatial(2, 3, 4)"), {2, 0, 1}))) ==
        "[4,2,3] | [4,2,3] | [1,2,0] | [] | 24 x 1");
  CHECK(must(permute(L("column_spatial(2, 3)"), {1, 0})) == L("spatial(3, 2)"));
}

TEST_CASE("concatenation puts dimensions, threads and locals side by side") {
  CHECK(attributes(must(concat(L("spatial(2, 4)"), L("local(3)")))) ==
        "[2,4,3] | [2,4,3] | [0,1] | [2] | 8 x 3");
  CHECK(attributes(must(concat(must(reduce(L("spatial(3, 4)"), {0})), L("local(2)")))) ==
        "[4,2] | [4,2] | [-3,0] | [1] | 12 x 2");
  CHECK(must(concat(RegisterLayout(), L(fragment_c))) == L(fragment_c));
}

TEST_CASE("reshape keeps the row-major order and finds every form that exists") {
  const auto to = [](const char* text, const Shape& shape) {
    return must(reshape(L(text), shape));
  };
  CHECK(to("spatial(2, 4)", {2, 2, 2}) == L("spatial(2, 2, 2)"));
  CHECK(to("spatial(4, 8)", {8, 4}) == L("spatial(8, 4)"));
  CHECK(to("spatial(6, 4)", {4, 6}) == L("spatial(4, 6)"));
  CHECK(to("spatial(2, 3, 4)", {24}) == L("spatial(24)"));
  CHECK(to("spatial(2, 3, 4)", {1, 24, 1}) == L("spatial(1, 24, 1)"));
  CHECK(to("local(1, 1)", {}) == RegisterLayout());
  const auto wide = to("spatial(2, 4).local(3, 2).spatial(6, 8)", {2, 3, 6, 4, 2, 8});
  CHECK(attributes(wide) == "[2,3,6,4,2,8] | [2,3,6,4,2,8] | [0,3,2,5] | [1,4] | 384 x 6");
  CHECK(must(reshape(wide, {36, 64})) == L("spatial(2, 4).local(3, 2).spatial(6, 8)"));
  CHECK(attributes(to("column_spatial(2, 3)", {6})) == "[6] | [2,3] | [1,0] | [] | 6 x 1");
  CHECK_FALSE(reshape(L("column_spatial(2, 3)"), {3, 2}).ok());
}

TEST_CASE("dimensions of extent one come and go") {
  CHECK(must(squeeze(L("spatial(1, 1, 2, 1, 3, 1)"), {0, 1, 3, 5})) == L("spatial(2, 3)"));
  CHECK(must(unsqueeze(L("spatial(2, 3)"), {0, 2})) == L("spatial(1, 2, 1, 3)"));
  CHECK(must(unsqueeze(L("replicated(4)"), {0})) == L("replicated(4).local(1)"));
}

TEST_CASE("layouts are equivalent inside threads if only local places differ") {
  const auto equivalent = [](const char* a, const char* b) {
    return thread_local_equivalent(L(a), L(b));
  };
  CHECK(equivalent("spatial(4, 8).local(2, 2)", "spatial(4, 8).column_local(2, 2)"));
  CHECK(equivalent("local(2, 2).spatial(8, 4).local(1, 2)",
                   "column_local(2, 2).spatial(8, 4).local(1, 2)"));
  CHECK_FALSE(equivalent("spatial(4, 8).local(2, 2)", "local(2, 2).spatial(4, 8)"));
  CHECK_FALSE(equivalent("spatial(2, 2)", "column_spatial(2, 2)"));
  CHECK_FALSE(equivalent("spatial(4)", "spatial(4).replicated(2)"));
  CHECK_FALSE(equivalent("spatial(4)", "spatial(1, 4)"));
}

TEST_CASE("contiguity is the longest aligned run of a dimension") {
  CHECK(contiguity(L(fragment_c), 1) == 2);
  CHECK(contiguity(L(fragment_c), 0) == 1);
  CHECK(contiguity(L("local(2, 1).column_spatial(4, 8).local(2, 1)"), 0) == 2);
  CHECK(contiguity(L("spatial(32).local(8)"), 0) == 8);
  CHECK(contiguity(L("local(2).spatial(32).local(8)"), 0) == 8);
  CHECK(contiguity(L("local(8).spatial(32)"), 0) == 1);
  CHECK(contiguity(L("spatial(32)"), 0) == 1);
  CHECK(contiguity(L("local(4, 4)"), 1) == 4);
  CHECK(contiguity(L("local(4, 1)"), 0) == 4);
  CHECK(contiguity(L("column_local(4, 4)"), 0) == 4);
  CHECK(contiguity(RegisterLayout(), 0) == 1);
  CHECK(contiguity(L(fragment_c), 7) == 1);
}
