// Canonical attributes of known layouts.
#include <doctest/doctest.h>

#include "tests/unit/isa/layout_testing.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

TEST_CASE("tensor-core fragments have the known modes") {
  CHECK(attributes("column_local(2, 2).spatial(8, 4).local(1, 2)") ==
        "[16,16] | [2,8,2,4,2] | [1,3] | [2,0,4] | 32 x 8");
  CHECK(attributes("local(2, 1).column_spatial(4, 8).local(2, 1)") ==
        "[16,8] | [2,4,2,8] | [3,1] | [0,2] | 32 x 4");
  CHECK(attributes("local(2, 1).spatial(8, 4).local(1, 2)") ==
        "[16,8] | [2,8,4,2] | [1,2] | [0,3] | 32 x 4");
  CHECK(attributes("spatial(4, 1).local(1, 2).local(2, 1).spatial(8, 4).local(1, 2)") ==
        "[64,16] | [4,2,8,2,4,2] | [0,2,4] | [3,1,5] | 128 x 8");
}

TEST_CASE("thread 5 of the accumulator fragment holds its four elements") {
  const auto c = read_layout("local(2, 1).spatial(8, 4).local(1, 2)");
  CHECK(c.element(5, 0) == Index{1, 2});
  CHECK(c.element(5, 1) == Index{1, 3});
  CHECK(c.element(5, 2) == Index{9, 2});
  CHECK(c.element(5, 3) == Index{9, 3});
}

TEST_CASE("products of factors have the known modes") {
  CHECK(attributes("column_spatial(2, 3)") == "[2,3] | [2,3] | [1,0] | [] | 6 x 1");
  CHECK(attributes("column_local(2, 3)") == "[2,3] | [2,3] | [] | [1,0] | 1 x 6");
  CHECK(attributes("local(3, 4).spatial(2, 3)") == "[6,12] | [3,2,4,3] | [1,3] | [0,2] | 6 x 12");
  CHECK(attributes("spatial(2, 3).local(3, 4)") == "[6,12] | [2,3,3,4] | [0,2] | [1,3] | 6 x 12");
  CHECK(attributes("local(2, 2).spatial(4, 4).local(2, 2)") ==
        "[16,16] | [2,4,2,2,4,2] | [1,4] | [0,3,2,5] | 16 x 16");
  CHECK(attributes("column_local(2, 3).column_spatial(4, 2)") ==
        "[8,6] | [2,4,3,2] | [3,1] | [2,0] | 8 x 6");
  CHECK(attributes("local(2, 1).spatial(2, 3).local(1, 2)") ==
        "[4,6] | [2,2,3,2] | [1,2] | [0,3] | 6 x 4");
  CHECK(attributes("local(3).spatial(32)") == "[96] | [3,32] | [1] | [0] | 32 x 3");
  CHECK(attributes("local(2).spatial(32).local(16)") ==
        "[1024] | [2,32,16] | [1] | [0,2] | 32 x 32");
  CHECK(attributes("spatial(2, 4).local(2, 1)") == "[4,4] | [2,2,4] | [0,2] | [1] | 8 x 2");
  CHECK(attributes("spatial(1, 1, 2, 1, 3, 1)") == "[1,1,2,1,3,1] | [2,3] | [0,1] | [] | 6 x 1");
  CHECK(attributes("spatial(8, 6)") == "[8,6] | [8,6] | [0,1] | [] | 48 x 1");
}

TEST_CASE("factors without dimensions are the identity") {
  CHECK(attributes("spatial()") == "[] | [] | [] | [] | 1 x 1");
  CHECK(read_layout("spatial()") == read_layout("local()"));
  CHECK(read_layout("local()") == RegisterLayout());
  CHECK(RegisterLayout().element(0, 0).empty());
  CHECK(RegisterLayout().size() == 1);
}

TEST_CASE("replicas are leading digits of the threads that hold one element") {
  CHECK(attributes("replicated(4).local(2, 3)") == "[2,3] | [2,3] | [-4] | [0,1] | 4 x 6");
  const auto l = read_layout("replicated(4).local(2, 3)");
  CHECK(l.num_replicas() == 4);
  CHECK(l.threads_of({1, 2}) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(l.local_of({1, 2}) == 5);
  CHECK(attributes("replicated(2).replicated(3)") == "[] | [] | [-6] | [] | 6 x 1");
}

TEST_CASE("a scale operand with replicas on both sides finds its threads") {
  const auto l = must(RegisterLayout::make({1, 64}, {2, 4, 8}, {-2, 0, 2, -4}, {1}));
  CHECK(attributes(l) == "[1,64] | [2,4,8] | [-2,0,2,-4] | [1] | 128 x 4");
  CHECK(l.threads_of({0, 0}) == std::vector<std::int64_t>{0, 1, 2, 3, 64, 65, 66, 67});
  CHECK(l.local_of({0, 0}) == 0);
  CHECK(l.threads_of({0, 37}) == std::vector<std::int64_t>{52, 53, 54, 55, 116, 117, 118, 119});
  CHECK(l.local_of({0, 37}) == 0);
  CHECK(to_string(l) == "replicated(2).spatial(1, 2).local(1, 4).spatial(1, 8).replicated(4)");
}

TEST_CASE("canonical form merges neighbours in the same order and no others") {
  const auto canonical = [](Shape shape, std::vector<std::int64_t> modes, std::vector<int> spatial,
                            std::vector<int> local) {
    return attributes(must(RegisterLayout::make(shape, modes, spatial, local)));
  };
  CHECK(canonical({6}, {2, 3}, {0, 1}, {}) == "[6] | [6] | [0] | [] | 6 x 1");
  CHECK(canonical({6}, {2, 3}, {1, 0}, {}) == "[6] | [2,3] | [1,0] | [] | 6 x 1");
  CHECK(canonical({4, 6, 5}, {2, 2, 2, 3, 5}, {0, 1}, {2, 3, 4}) ==
        "[4,6,5] | [4,6,5] | [0] | [1,2] | 4 x 30");
  CHECK(canonical({4, 5, 6, 5}, {2, 2, 5, 2, 3, 5}, {2, 0, 1}, {3, 4, 5}) ==
        "[4,5,6,5] | [4,5,6,5] | [1,0] | [2,3] | 20 x 30");
  CHECK(canonical({4, 1}, {1, 2, 1, 2, 1}, {0, 1, -1, 3}, {2, 4}) ==
        "[4,1] | [4] | [0] | [] | 4 x 1");
  CHECK(canonical({}, {1, 1}, {0}, {1}) == "[] | [] | [] | [] | 1 x 1");
  CHECK(canonical({2}, {2}, {-2, -2, 0, -3, -1, -2}, {}) == "[2] | [2] | [-4,0,-6] | [] | 48 x 1");
}

TEST_CASE("the twenty demonstration layouts agree with the definition of the product") {
  for (const char* text :
       {"spatial(3, 4)", "local(3, 4)", "spatial(2, 3)", "local(2, 3)", "column_spatial(2, 3)",
        "column_local(2, 3)", "spatial(4, 8)", "local(1, 1)", "local(3, 4).spatial(2, 3)",
        "spatial(2, 3).local(3, 4)", "spatial(4, 8).local(4, 4)", "local(2, 2).spatial(4, 4)",
        "local(2, 2).spatial(4, 4).local(2, 2)", "column_local(2, 3).column_spatial(4, 2)",
        "local(2, 1).spatial(8, 4).local(1, 2)"}) {
    CAPTURE(text);
    CHECK(table_of(read_layout(text)) == oracle(text));
    CHECK(to_string(read_layout(text)) == text);
  }
  const auto layout = [](const char* text) { return read_layout(text); };
  CHECK(attributes(must(compose(layout("local(2, 2)"), layout("spatial(4, 4)")))) ==
        "[8,8] | [2,4,2,4] | [1,3] | [0,2] | 16 x 4");
  CHECK(attributes(must(compose(layout("local(3, 4)"), layout("spatial(2, 3)")))) ==
        "[6,12] | [3,2,4,3] | [1,3] | [0,2] | 6 x 12");
  CHECK(attributes(must(reduce(layout("spatial(3, 4)"), {0}))) ==
        "[4] | [4] | [-3,0] | [] | 12 x 1");
  CHECK(attributes(must(reduce(layout("spatial(4, 6)"), {1}))) ==
        "[4] | [4] | [0,-6] | [] | 24 x 1");
  CHECK(must(divide(layout("spatial(4, 8).local(4, 4)"), layout("local(4, 4)"))) ==
        layout("spatial(4, 8)"));
  CHECK(must(reshape(layout("spatial(4, 8)"), {8, 4})) == layout("spatial(8, 4)"));
}

TEST_CASE("thread parts and local parts add up, and terms give the same digits") {
  for (const char* text : {"column_local(2, 2).spatial(8, 4).local(1, 2)",
                           "replicated(2).local(3, 1).column_spatial(2, 4).replicated(3)"}) {
    const auto l = read_layout(text);
    for (std::int64_t t = 0; t < l.num_threads(); ++t) {
      for (std::int64_t i = 0; i < l.num_locals(); ++i) {
        Index sum = l.thread_part(t);
        Index from_terms(sum.size(), 0);
        for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += l.local_part(i)[d];
        for (const auto& term : l.thread_terms()) {
          from_terms[std::size_t(term.dim)] += t / term.divisor % term.size * term.stride;
        }
        for (const auto& term : l.local_terms()) {
          from_terms[std::size_t(term.dim)] += i / term.divisor % term.size * term.stride;
        }
        CHECK(sum == l.element(t, i));
        CHECK(from_terms == l.element(t, i));
      }
    }
  }
}

TEST_CASE("shapes of digits and owners of modes are known") {
  const auto a = read_layout("replicated(3).column_local(2, 2).spatial(8, 4).local(1, 2)");
  CHECK(a.spatial_shape() == Shape{3, 8, 4});
  CHECK(a.local_shape() == Shape{2, 2, 2});
  CHECK(a.mode_dim(0) == 0);
  CHECK(a.mode_dim(2) == 1);
  CHECK(a.mode_dim(4) == 1);
  CHECK(a.rank() == 2);
  CHECK(a.size() == 256);
}
