#include "isa/layout/broadcast.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "isa/layout/layout_ops.h"
#include "tests/unit/isa/layout_random.h"

namespace tilevm::isa {
namespace {

using testing::must;
using testing::random_layout;
using testing::read_layout;

/// The element of an operand that a result's element needs.
Index project(const Index& index, const Shape& operand) {
  const auto extra = static_cast<std::ptrdiff_t>(index.size() - operand.size());
  Index projected(index.begin() + extra, index.end());
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (operand[d] == 1) projected[d] = 0;
  }
  return projected;
}

/// The definition: one place for all threads, found by trying all.
std::optional<PlaceMap> places_by_search(const RegisterLayout& result,
                                         const RegisterLayout& operand) {
  if (result.num_threads() != operand.num_threads()) return std::nullopt;
  PlaceMap places;
  for (std::int64_t i = 0; i < result.num_locals(); ++i) {
    const auto fits = [&](std::int64_t place) {
      for (std::int64_t t = 0; t < result.num_threads(); ++t) {
        if (operand.element(t, place) != project(result.element(t, i), operand.shape())) {
          return false;
        }
      }
      return true;
    };
    std::int64_t place = 0;
    while (place < operand.num_locals() && !fits(place)) ++place;
    if (place == operand.num_locals()) return std::nullopt;
    places.push_back(static_cast<std::int32_t>(place));
  }
  return places;
}

/// A shape that broadcasts to this one.
Shape random_smaller(const Shape& shape) {
  Shape smaller = shape;
  for (std::int64_t& extent : smaller) {
    if (*rc::gen::inRange(0, 2) == 0) extent = 1;
  }
  const auto dropped = *rc::gen::inRange<std::size_t>(0, smaller.size() + 1);
  smaller.erase(smaller.begin(), smaller.begin() + static_cast<std::ptrdiff_t>(dropped));
  return smaller;
}

/// The layout with its local digits in another order.
RegisterLayout reordered(const RegisterLayout& layout) {
  auto local = layout.local_digits();
  for (std::size_t n = local.size(); n > 1; --n) {
    std::swap(local[n - 1], local[*rc::gen::inRange<std::size_t>(0, n)]);
  }
  return must(RegisterLayout::from_digits(layout.shape(), layout.spatial_digits(), local));
}

TEST_CASE("extents that are equal or 1 broadcast, aligned right") {
  CHECK(broadcast_shape({16, 8}, {1, 8}) == Shape{16, 8});
  CHECK(broadcast_shape({16, 1}, {1, 8}) == Shape{16, 8});
  CHECK(broadcast_shape({8}, {16, 8}) == Shape{16, 8});
  CHECK(broadcast_shape({1, 8}, {8}) == Shape{1, 8});
  CHECK(broadcast_shape({}, {3, 1}) == Shape{3, 1});
  CHECK(broadcast_shape({1}, {1, 1}) == Shape{1, 1});
  CHECK_FALSE(broadcast_shape({16}, {16, 8}).has_value());
  CHECK_FALSE(broadcast_shape({2, 8}, {16, 8}).has_value());
}

TEST_CASE("a reduced layout always has places, in any order of its own") {
  CHECK(rc::check("reduce_to fits", [] {
    const RegisterLayout result = random_layout();
    const auto operand = reordered(must(reduce_to(result, random_smaller(result.shape()))));
    const auto places = broadcast_places(result, operand);
    RC_ASSERT((places.has_value()));
    RC_ASSERT((places == places_by_search(result, operand)));
  }));
}

TEST_CASE("places exist exactly where a search finds them") {
  for (const auto& [shape, smaller] : {std::pair<Shape, Shape>{{4, 2}, {1, 2}},
                                       {{4, 2}, {4, 1}},
                                       {{2, 4}, {4}},
                                       {{2, 2}, {1, 1}}}) {
    std::size_t found = 0;
    for (const RegisterLayout& result : testing::all_layouts(shape, 1)) {
      for (const std::int64_t replicas : {1, 2, 4}) {
        for (const RegisterLayout& operand : testing::all_layouts(smaller, replicas)) {
          const auto places = broadcast_places(result, operand);
          REQUIRE(places == places_by_search(result, operand));
          found += places.has_value();
        }
      }
    }
    CHECK(found > 0);
  }
}

TEST_CASE("a bias along the columns of a tensor core's result") {
  const auto c = read_layout("local(2, 1).spatial(8, 4).local(1, 2)");
  const auto row = must(reduce_to(c, {1, 8}));
  CHECK(to_string(row) == "replicated(8).spatial(1, 4).local(1, 2)");
  CHECK(broadcast_places(c, row) == PlaceMap{0, 1, 0, 1});
  CHECK(broadcast_places(c, must(reduce_to(c, {16, 1}))) == PlaceMap{0, 0, 1, 1});
  CHECK_FALSE(broadcast_places(c, read_layout("spatial(1, 8).local(1, 1)")).has_value());
  CHECK_FALSE(broadcast_places(c, read_layout("spatial(1, 4).local(1, 2)")).has_value());
}

TEST_CASE("a joint layout fits both operands, and is found where a layout fits") {
  CHECK(rc::check("joint", [] {
    const RegisterLayout whole = random_layout();
    const auto a = reordered(must(reduce_to(whole, random_smaller(whole.shape()))));
    const auto b = reordered(must(reduce_to(whole, random_smaller(whole.shape()))));
    const auto joint = joint_layout(a, b);
    RC_ASSERT((joint.has_value()));
    RC_ASSERT((joint->shape() == *broadcast_shape(a.shape(), b.shape())));
    RC_ASSERT((broadcasts_to(a, *joint) && broadcasts_to(b, *joint)));
  }));
}

TEST_CASE("operands that spread the same threads over different dimensions have no joint layout") {
  CHECK_FALSE(joint_layout(read_layout("spatial(4, 1)"), read_layout("spatial(1, 4)")));
  CHECK_FALSE(joint_layout(read_layout("spatial(4, 1)"), read_layout("replicated(2).local(1, 4)")));
  CHECK_FALSE(joint_layout(read_layout("replicated(3).spatial(4, 1)"),
                           read_layout("replicated(4).spatial(1, 3)")));
  CHECK(joint_layout(read_layout("replicated(4).spatial(3, 1)"),
                     read_layout("spatial(1, 4).replicated(3)")) ==
        read_layout("column_spatial(3, 4)"));
  CHECK(joint_layout(read_layout("spatial(6, 1)"), read_layout("replicated(6).local(3)")) ==
        read_layout("spatial(6, 1).local(1, 3)"));
}

}  // namespace
}  // namespace tilevm::isa
