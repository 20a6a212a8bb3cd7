// The accesses that a plan makes against the definition of a tile access, element by element, for
// random layouts, tensors and offsets.
// More than 400 lines: the random tensors, the reference and the properties belong together.
#include "isa/access/access_run.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "isa/access/access_planner.h"
#include "isa/verify/verify.h"
#include "tests/unit/isa/layout_random.h"

using namespace tilevm;
using namespace tilevm::isa;

namespace {

const std::vector<std::string_view> types = {"u1", "u2", "i3",  "u4",  "f5e2m2", "i6",
                                             "u7", "u8", "f16", "f32", "f64"};

/// A kernel with one access: the parameter n, a tile, a tensor.
struct Case {
  Kernel kernel;
  KernelInfo info;
  InstStmt stmt;
  bool stores = false, shared = false;

  static constexpr VarId n{0}, tile{1}, tensor{2};

  [[nodiscard]] const RegisterType& tile_type() const {
    return *std::get_if<RegisterType>(&kernel.variable(tile).type);
  }
};

template <class T>
T one_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

/// a * n + b.
Expr offset_of(std::int64_t a, std::int64_t b) {
  const Expr product = Expr::binary(
      ScalarBinary::mul, Expr::variable(Case::n, "n", ScalarKind::i32), Expr::constant(a));
  return Expr::binary(ScalarBinary::add, product, Expr::constant(b));
}

std::optional<Swizzle> random_swizzle() {
  if (one_of({0, 1}) == 0) return std::nullopt;
  return Swizzle{one_of({0, 1, 2, 3}), one_of({1, 2}), one_of({2, 3})};
}

/// Rows one behind the other, padded or swizzled as a program would.
std::optional<MemoryLayout> usual_memory(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  const std::int64_t padding = one_of<std::int64_t>({0, 0, 8, 32});
  for (std::size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * shape[d] + (d + 1 == shape.size() ? padding : 0);
  }
  std::optional<Swizzle> swizzle;
  if (padding == 0) swizzle = Swizzle{one_of({2, 3, 4}), one_of({0, 1, 2, 3}), 3};
  const auto layout = MemoryLayout::make(shape, shape, strides, swizzle);
  if (!layout) return std::nullopt;
  return *layout;
}

/// A layout of a tensor with these extents: strides, or modes as a product of tiles gives them.
std::optional<MemoryLayout> random_memory(const Shape& shape) {
  std::vector<std::int64_t> modes, strides;
  for (const std::int64_t extent : shape) {
    const std::int64_t inner = one_of<std::int64_t>({1, 2, 4, 8});
    if (extent % inner == 0) modes.push_back(extent / inner);
    if (extent % inner == 0) modes.push_back(inner);
    if (extent % inner != 0) modes.push_back(extent);
  }
  // Strides of a dense or padded layout in a random order of the modes, or any.
  std::vector<std::size_t> order(modes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (one_of({0, 1}) == 0) std::reverse(order.begin(), order.end());
  for (std::size_t i = order.size(); i > 1 && one_of({0, 1, 2}) == 0; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(
                                *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(i)))]);
  }
  strides.resize(modes.size());
  std::int64_t next = 1;
  for (const std::size_t m : order) {
    strides[m] = one_of({0, 1, 2, 3, 4, 5, 6, 7}) == 0 ? 0 : next;
    next = next * modes[m] + one_of<std::int64_t>({0, 0, 0, 1, 2, 8});
  }
  const auto layout = MemoryLayout::make(shape, modes, strides, random_swizzle());
  if (!layout) return std::nullopt;
  return *layout;
}

/// A layout as programs have them: products of powers of two.
RegisterLayout usual_layout(int rank) {
  using Make = Result<RegisterLayout> (*)(const Shape&);
  RegisterLayout layout;
  for (const auto& [makes, largest] : {std::pair{std::vector<Make>{local, column_local}, 4},
                                       std::pair{std::vector<Make>{spatial, column_spatial}, 8},
                                       std::pair{std::vector<Make>{local, column_local}, 8}}) {
    Shape shape;
    for (int d = 0; d < rank; ++d) {
      shape.push_back(std::int64_t{1} << *rc::gen::inRange(0, largest == 8 && rank < 3 ? 4 : 3));
    }
    layout = *compose(layout, *(*rc::gen::elementOf(makes))(shape));
  }
  RC_PRE(layout.num_locals() <= 128 && layout.num_threads() <= 64);
  return layout;
}

/// Fragments of tensor cores by one or more warps.
RegisterLayout fragment_layout() {
  const std::int64_t words = one_of<std::int64_t>({1, 2, 4, 8}), in_word = one_of({1, 2, 4, 8});
  RegisterLayout warps = one_of({0, 1}) == 0 ? RegisterLayout{} : *spatial({2, 1});
  const RegisterLayout outer = *local({one_of<std::int64_t>({1, 2}), words});
  const RegisterLayout lanes = one_of({0, 1}) == 0
                                   ? *compose(*column_spatial({4, 8}), *local({2, 1}))
                                   : *compose(*spatial({8, 4}), *local({1, in_word}));
  return *compose(*compose(warps, outer), lanes);
}

/// `fragments`: in shared memory, by layouts of tensor cores.
Case random_case(bool fragments = false) {
  Case result;
  result.stores = one_of({false, true});
  result.shared = fragments || one_of({false, true});
  const int rank = *rc::gen::inRange(1, 4), kind = one_of({0, 1, 2});
  const RegisterLayout layout = fragments   ? fragment_layout()
                                : kind == 0 ? testing::make_layout(testing::random_raw(rank, 6))
                                            : usual_layout(rank);
  DType dtype = *parse_dtype(*rc::gen::elementOf(types));
  if (fragments && dtype.bits > 32) dtype = f16;
  Shape shape;
  OffsetList offset;
  for (const std::int64_t extent : layout.shape()) {
    const std::int64_t step = one_of<std::int64_t>({0, 0, 1, 2, 4, 8, 16, 32, 32, 32});
    const std::int64_t begin = one_of<std::int64_t>({0, 0, 0, 0, 0, 1, 2, 4, 8, 32});
    offset.entries.push_back({offset_of(step, begin), true});
    shape.push_back(extent * one_of<std::int64_t>({1, 2, 3}) +
                    one_of<std::int64_t>({0, 0, 0, 8, 32, 32, 1}));
  }
  const auto memory = one_of({0, 1, 2}) > 0 ? usual_memory(shape) : random_memory(shape);
  RC_PRE(memory.has_value());
  Type tensor = SharedType{dtype, *memory};
  if (!result.shared) {
    GlobalType view{dtype, {}, {}};
    for (const std::int64_t extent : shape) view.extents.push_back(Expr::constant(extent));
    view.layout.form = *memory;
    if (one_of({false, true})) {
      std::vector<Expr> strides;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        strides.push_back(d + 1 == shape.size() && one_of({0, 1, 2}) > 0
                              ? Expr::constant(std::int64_t{1})
                              : offset_of(one_of<std::int64_t>({0, 8, 32}),
                                          one_of<std::int64_t>({1, 3, 4, 8, 16, 64})));
      }
      view.layout.form = std::move(strides);
    }
    tensor = std::move(view);
  }
  auto& kernel = result.kernel;
  kernel.parameters = {Case::n};
  kernel.grid = {Expr::constant(std::int64_t{1})};
  kernel.variables = {
      {"n", ScalarType{ScalarKind::i32}}, {"x", RegisterType{dtype, layout}}, {"m", tensor}};
  result.info.num_threads = layout.num_threads();
  if (result.shared && result.stores) {
    result.stmt = {StoreShared{{Case::tile}, {Case::tensor}, offset}, {}, true, {}};
  } else if (result.shared) {
    result.stmt = {LoadShared{{Case::tensor}, layout, offset, {}}, {Case::tile}, true, {}};
  } else if (result.stores) {
    result.stmt = {StoreGlobal{{Case::tile}, {Case::tensor}, offset}, {}, true, {}};
  } else {
    result.stmt = {LoadGlobal{{Case::tensor}, layout, offset, {}}, {Case::tile}, true, {}};
  }
  return result;
}

/// What is true of a tile for one value of n.
class Instance {
 public:
  Instance(const Case& given, const AccessPlan& plan, std::int64_t n)
      : tile_(given.tile_type().layout), place_(plan.mapping), shared_(given.shared) {
    const auto value = [&](const Expr& expr) {
      return evaluate(expr, [&](VarId) { return Scalar::i32(static_cast<std::int32_t>(n)); })
          ->as_int();
    };
    for (const auto& dimension : place_.dimensions) origin_.push_back(value(dimension.offset));
    const Type& type = given.kernel.variable(Case::tensor).type;
    if (const auto* view = std::get_if<GlobalType>(&type)) {
      for (const Expr& extent : view->extents) extents_.push_back(value(extent));
      if (view->layout.memory_layout() != nullptr) memory_ = *view->layout.memory_layout();
      if (view->layout.strides() == nullptr) return;
      for (const Expr& stride : *view->layout.strides()) strides_.push_back(value(stride));
    } else {
      memory_ = std::get_if<SharedType>(&type)->layout;
      extents_ = memory_->shape();
    }
  }

  /// Where access i of a thread begins, by the plan's digits.
  [[nodiscard]] Index begin(const AccessPlan& plan, std::int64_t thread, std::int64_t i) const {
    Index index = origin_;
    for (const TensorTerm& term : plan.threads) {
      index[static_cast<std::size_t>(term.dim)] += thread / term.divisor % term.size * term.stride;
    }
    for (const AccessDigit& digit : plan.outer) {
      index[static_cast<std::size_t>(digit.dim)] += i / digit.divisor % digit.size * digit.stride;
    }
    return index;
  }
  [[nodiscard]] Index index(std::int64_t thread, std::int64_t place) const {
    Index index = tile_.element(thread, place);
    for (std::size_t d = 0; d < index.size(); ++d) index[d] += origin_[d];
    return index;
  }
  [[nodiscard]] bool inside(const Index& index) const {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= extents_[d]) return false;
    }
    return true;
  }
  /// Before the swizzle; of a share of an index.
  [[nodiscard]] std::int64_t linear(const Index& index) const {
    std::int64_t offset = 0;
    for (const auto& digit : place_.digits) {
      std::int64_t x = index[static_cast<std::size_t>(digit.dim)] / digit.divisor;
      if (digit.size != 0) x %= digit.size;
      offset += x * (digit.stride ? *digit.stride : strides_[static_cast<std::size_t>(digit.dim)]);
    }
    return offset;
  }
  [[nodiscard]] std::int64_t swizzle(std::int64_t offset) const {
    return place_.swizzle ? place_.swizzle->apply(offset) : offset;
  }
  /// By the definition.
  [[nodiscard]] std::int64_t offset(const Index& index) const {
    if (memory_) return memory_->offset(index);
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < index.size(); ++d) sum += index[d] * strides_[d];
    return sum;
  }
  /// Whether a program may make the access.
  [[nodiscard]] bool is_legal() const {
    if (!shared_) return true;
    for (std::size_t d = 0; d < origin_.size(); ++d) {
      if (origin_[d] < 0 || origin_[d] + tile_.shape()[d] > extents_[d]) return false;
    }
    return true;
  }
  [[nodiscard]] const Index& origin() const { return origin_; }

 private:
  const RegisterLayout& tile_;
  const TileMapping& place_;
  bool shared_;
  Index origin_;
  Shape extents_;
  std::optional<MemoryLayout> memory_;
  std::vector<std::int64_t> strides_;
};

/// The plan moves every place of a thread once.
void check_places(const AccessPlan& plan, std::int64_t locals) {
  std::set<std::int64_t> places;
  for (std::int64_t i = 0; i < plan.count; ++i) {
    for (std::int64_t j = 0; j < plan.elements; ++j) {
      places.insert(plan.local_place(i, j));
      if (plan.in_order()) RC_ASSERT(plan.local_place(i, j) == i * plan.elements + j);
    }
  }
  RC_ASSERT(static_cast<std::int64_t>(places.size()) == locals);
  RC_ASSERT(*places.rbegin() == locals - 1);
}

/// The run is whole bytes, its accesses are aligned in memory and in registers.
void check_widths(const AccessPlan& plan, int bits) {
  if (plan.form == AccessForm::bits) {
    RC_ASSERT((plan.elements == 1 && bits < 8));
    return;
  }
  std::int64_t at = 0;
  const std::int64_t bytes = plan.elements * bits / 8;
  for (const std::int64_t width : plan.widths) {
    RC_ASSERT((width == 1 || width == 2 || width == 4 || width == 8 || width == 16));
    RC_ASSERT(at % std::min<std::int64_t>(width, 4) == 0);
    if (plan.in_order() && plan.count > 1) {
      RC_ASSERT(bytes % std::min<std::int64_t>(width, 4) == 0);
    }
    at += width;
  }
  RC_ASSERT((at == bytes && plan.elements * bits % 8 == 0));
}

/// The elements of a run lie behind the first, and all inside or all outside.
void check_run(const Case& given, const AccessPlan& plan, const Instance& instance,
               std::int64_t thread, std::int64_t i) {
  const int bits = given.tile_type().dtype.bits;
  const Index first = instance.index(thread, plan.local_place(i));
  RC_ASSERT(first == instance.begin(plan, thread, i));
  const bool inside = instance.inside(first);
  if (given.shared || !plan.tests_bounds()) RC_ASSERT(inside);
  for (std::int64_t j = 0; j < plan.elements; ++j) {
    const Index index = instance.index(thread, plan.local_place(i, j));
    RC_ASSERT(instance.inside(index) == inside);
    if (inside) RC_ASSERT(instance.offset(index) == instance.offset(first) + j);
  }
  if (!inside || plan.form == AccessForm::bits) return;
  const std::int64_t begin = instance.offset(first) * bits;
  RC_ASSERT(begin % 8 == 0);
  std::int64_t at = begin / 8;
  for (const std::int64_t width : plan.widths) {
    RC_ASSERT(at % width == 0);
    at += width;
  }
}

/// Every word of a matrix lies where the address of its row says.
void check_matrix(const Case& given, const AccessPlan& plan, const Instance& instance,
                  std::int64_t thread, std::int64_t i) {
  const int bits = given.tile_type().dtype.bits;
  const std::int64_t lane = thread % 32, in_word = 32 / bits;
  for (std::int64_t j = 0; j < plan.matrices; ++j) {
    const auto row_at = [&](std::int64_t row) {
      const Index begin = instance.begin(plan, thread - lane + 8 * j + row, i);
      RC_ASSERT(instance.offset(begin) * bits % 128 == 0);
      return instance.offset(begin);
    };
    for (std::int64_t e = 0; e < in_word; ++e) {
      const std::int64_t place = (i * plan.matrices + j) * in_word + e;
      const std::int64_t at = instance.offset(instance.index(thread, place));
      if (plan.transposed) {
        RC_ASSERT(at == row_at(lane % 4 * 2 + e) + lane / 4);
      } else {
        RC_ASSERT(at == row_at(lane / 4) + lane % 4 * in_word + e);
      }
    }
  }
}

/// The address form gives the offset.
void check_address(const AccessPlan& plan, const Instance& instance, std::int64_t thread,
                   std::int64_t i) {
  const Index first = instance.begin(plan, thread, i);
  if (!instance.inside(first) || plan.address == AddressForm::whole) return;
  const Index base = instance.begin(plan, thread, 0);
  Index added(base.size(), 0), flipped(base.size(), 0);
  for (const AccessDigit& digit : plan.outer) {
    Index& share = digit.flips ? flipped : added;
    share[static_cast<std::size_t>(digit.dim)] += i / digit.divisor % digit.size * digit.stride;
  }
  const std::int64_t begin = instance.swizzle(instance.linear(base));
  const std::int64_t moved = plan.address == AddressForm::flipped
                                 ? begin ^ instance.swizzle(instance.linear(flipped))
                                 : begin;
  RC_ASSERT(moved + instance.swizzle(instance.linear(added)) == instance.offset(first));
}

/// The element of the later place is stored last, of two with one place in memory.
void check_order(const Case& given, const AccessPlan& plan, const Instance& instance,
                 std::int64_t thread) {
  if (!given.stores) return;
  std::map<std::int64_t, std::int64_t> last;  // place by offset
  for (std::int64_t i = 0; i < plan.count; ++i) {
    for (std::int64_t j = 0; j < plan.elements; ++j) {
      const std::int64_t place = plan.local_place(i, j);
      const Index index = instance.index(thread, place);
      if (!instance.inside(index)) continue;
      const auto [found, fresh] = last.emplace(instance.offset(index), place);
      if (!fresh) RC_ASSERT(found->second < place);
      found->second = place;
    }
  }
}

void check_case(const Case& given) {
  const AccessPlan plan = *AccessPlanner(given.kernel, given.info, Target{}).plan(given.stmt);
  const RegisterType& tile = given.tile_type();
  const bool matrix = plan.form == AccessForm::matrix;
  RC_ASSERT(plan.count * plan.elements == tile.layout.num_locals());
  if (!matrix) {
    check_places(plan, tile.layout.num_locals());
    check_widths(plan, tile.dtype.bits);
  }
  RC_ASSERT_FALSE(describe(plan).empty());
  for (const std::int64_t n : {0, 1, 2, 3, -1}) {
    const Instance instance(given, plan, n);
    if (!instance.is_legal()) continue;
    for (std::int64_t t = 0; t < tile.layout.num_threads(); ++t) {
      if (!matrix) check_order(given, plan, instance, t);
      for (std::int64_t i = 0; i < plan.count; ++i) {
        matrix ? check_matrix(given, plan, instance, t, i) : check_run(given, plan, instance, t, i);
        check_address(plan, instance, t, i);
      }
    }
  }
  RC_TAG(matrix                          ? std::string("matrices")
         : plan.form == AccessForm::bits ? std::string("bits")
                                         : fmt::format("{} bytes", plan.widths.front()),
         plan.transposed   ? "transposed"
         : plan.in_order() ? "in order"
                           : "permuted");
}

}  // namespace

TEST_CASE("the accesses of a plan move what the definition moves") {
  CHECK(rc::check("runs", [] { check_case(random_case()); }));
  CHECK(rc::check("matrices", [] { check_case(random_case(true)); }));
}
