#include "isa/dot/dot_async.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/dot/dot_fragments.h"
#include "isa/dot/dot_tiling.h"
#include "isa/dot/wgmma_shapes.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

/// Where each product's fragments are, by number, and the numbers by coordinates.
class FragmentList {
 public:
  std::int32_t number_of(const MatrixTile& tile) {
    const auto [found, fresh] = numbers_.emplace(std::pair(tile.row, tile.k), numbers_.size());
    if (fresh) tiles_.push_back(tile);
    return static_cast<std::int32_t>(found->second);
  }
  [[nodiscard]] const std::vector<MatrixTile>& tiles() const { return tiles_; }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> numbers_;
  std::vector<MatrixTile> tiles_;
};

/// The accumulators of 16 bits are in pairs, two columns in a register.
bool are_whole_registers(const std::vector<Fragment>& fragments, const DType& type) {
  const std::size_t in_register = 32 / type.bits;
  for (const Fragment& fragment : fragments) {
    for (std::size_t e = 0; e < fragment.size(); ++e) {
      const auto first = static_cast<std::size_t>(fragment[e - e % in_register]);
      if (first % in_register != 0 ||
          static_cast<std::size_t>(fragment[e]) != first + e % in_register) {
        return false;
      }
    }
  }
  return true;
}

/// Whether every warp group has the rows of a that its part of c needs, and all of k.
bool groups_agree(const Tiling& a, const Tiling& c) {
  for (std::size_t g = 0; g < c.warp_tiles.size(); ++g) {
    if (a.warp_tiles[g] != FragmentTile{0, c.warp_tiles[g].row, 0}) return false;
  }
  return true;
}

class AsyncPlanner {
 public:
  AsyncPlanner(const AsyncOperands& operands, const MmaShape& shape)
      : operands_(operands), shape_(shape) {}

  std::optional<DotPlan> plan() {
    auto c = tile_by(as_batch(operands_.c.layout), shape_.c_layout);
    if (!c || !are_whole_registers(c->fragments, shape_.accumulator)) {
      reason_ = fmt::format("the layout of c is not made of fragments of {}", shape_.label());
      return std::nullopt;
    }
    c_ = *std::move(c);
    plan_.shape = &shape_;
    plan_.c = c_.fragments;
    if (!plan_left() || !plan_right()) return std::nullopt;
    return std::move(plan_);
  }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool c_fits() const { return plan_.shape != nullptr; }

 private:
  [[nodiscard]] std::int64_t k_tiles() const {
    return matrix_shape(operands_.b)->front() / shape_.k;
  }

  /// The a and the c of every step, and the steps themselves.
  bool plan_left() {
    if (const auto* registers = std::get_if<RegisterType>(&operands_.a)) {
      return plan_registers(*registers);
    }
    FragmentList fragments;
    for (std::size_t i = 0; i < c_.local_tiles.size(); ++i) {
      for (std::int64_t k = 0; k < k_tiles(); ++k) {
        plan_.steps.push_back({.a = fragments.number_of({c_.local_tiles[i].row, k}),
                               .b = 0,
                               .c = static_cast<std::int32_t>(i)});
      }
    }
    MatrixFragments matrix{shape_.m,          shape_.k, false, may_be_mn_major(shape_.a),
                           fragments.tiles(), {}};
    for (const FragmentTile& group : c_.warp_tiles) matrix.groups.push_back({group.row, 0});
    plan_.a_shared = plan_shared_matrix(std::get<SharedPart>(operands_.a), matrix, reason_);
    if (!plan_.a_shared) reason_ = fmt::format("no matrix descriptor names a: {}", reason_);
    return plan_.a_shared.has_value();
  }

  bool plan_registers(const RegisterType& type) {
    auto a = tile_by(as_batch(type.layout), shape_.a_layout);
    if (!a || type.layout.num_threads() != operands_.c.layout.num_threads()) {
      reason_ = fmt::format("the layout of a is not made of fragments of {}", shape_.label());
      return false;
    }
    const auto tiles = by_tile(*a);
    for (std::size_t i = 0; i < c_.local_tiles.size(); ++i) {
      for (std::int64_t k = 0; k < k_tiles(); ++k) {
        const auto found = tiles.find({0, c_.local_tiles[i].row, k});
        if (found == tiles.end() || !groups_agree(*a, c_)) {
          reason_ = "a warp group has not the rows of a that its part of c needs, with all of k";
          return false;
        }
        plan_.steps.push_back({.a = found->second, .b = 0, .c = static_cast<std::int32_t>(i)});
      }
    }
    plan_.a = std::move(a->fragments);
    return true;
  }

  bool plan_right() {
    FragmentList fragments;
    std::int64_t k = 0;
    for (DotPlan::Step& step : plan_.steps) {
      const FragmentTile& tile = c_.local_tiles[static_cast<std::size_t>(step.c)];
      step.b = fragments.number_of({tile.column, k});
      k = (k + 1) % k_tiles();
    }
    MatrixFragments matrix{shape_.n,          shape_.k, true, may_be_mn_major(shape_.b),
                           fragments.tiles(), {}};
    for (const FragmentTile& group : c_.warp_tiles) matrix.groups.push_back({group.column, 0});
    plan_.b_shared = plan_shared_matrix(operands_.b, matrix, reason_);
    if (!plan_.b_shared) reason_ = fmt::format("no matrix descriptor names b: {}", reason_);
    return plan_.b_shared.has_value();
  }

  const AsyncOperands& operands_;
  const MmaShape& shape_;
  Tiling c_;
  DotPlan plan_;
  std::string reason_;
};

/// A layout of [m, columns] made of fragments over groups of four warps, those side by side along
/// rows where they divide them.
std::optional<RegisterLayout> over_groups(const RegisterLayout& fragment, const Shape& shape,
                                          std::int64_t threads) {
  const std::int64_t groups = threads / warp_group_size;
  const std::int64_t rows = shape[0] / fragment.shape()[0],
                     columns = shape[1] / fragment.shape()[1];
  const std::int64_t down = std::gcd(groups, rows), across = groups / down;
  if (columns % across != 0) return std::nullopt;
  RegisterLayout layout;
  for (const auto& factor : {spatial({down, across}), local({rows / down, columns / across}),
                             Result<RegisterLayout>(fragment)}) {
    if (!factor) return std::nullopt;
    const auto joined = compose(layout, *factor);
    if (!joined) return std::nullopt;
    layout = *joined;
  }
  return layout;
}

void suggest_part(std::string_view name, const SharedPart& part, bool k_first,
                  DotMismatch& mismatch) {
  const auto layout = suggest_shared_layout(part, k_first);
  if (!layout || *layout == to_string(part.type.layout)) return;
  mismatch.suggestions.push_back(fmt::format("{} would fit as {}", name, *layout));
}

void suggest(const AsyncOperands& operands, const MmaShape& narrow, bool c_fits,
             DotMismatch& mismatch) {
  if (!c_fits) {
    const auto c =
        over_groups(narrow.c_layout, operands.c.shape(), operands.c.layout.num_threads());
    if (c) mismatch.suggestions.push_back(fmt::format("c would fit as {}", to_string(*c)));
    return;
  }
  if (const auto* a = std::get_if<RegisterType>(&operands.a)) {
    const auto fitting = over_groups(narrow.a_layout, a->shape(), a->layout.num_threads());
    if (fitting && !(*fitting == a->layout)) {
      mismatch.suggestions.push_back(fmt::format("a would fit as {}", to_string(*fitting)));
    }
  } else {
    suggest_part("a", std::get<SharedPart>(operands.a), false, mismatch);
  }
  suggest_part("b", operands.b, true, mismatch);
}

DotMismatch no_instruction(const AsyncOperands& operands, const Target& target) {
  const DType &a = operands.a_type(), &b = operands.b.type.dtype, &c = operands.c.dtype;
  const Target hopper{90, true};
  DotMismatch mismatch;
  if (wgmma_shapes(target, f16, f16, f32).empty()) {
    mismatch.reason =
        fmt::format("{} has no asynchronous products of warp groups (wgmma), which sm_90a has",
                    to_string(target));
    mismatch.suggestions = {
        "elsewhere load the operands by `LoadShared` in layouts of `mma` fragments and multiply by "
        "`Dot`, which needs no commit, wait or fence"};
    return mismatch;
  }
  mismatch.reason = fmt::format("no asynchronous product of {} computes {} x {} + {}",
                                to_string(target), to_string(a), to_string(b), to_string(c));
  mismatch.suggestions = {
      fmt::format("{} computes {}; convert a in registers by `Cast` first, or use "
                  "`Dot`",
                  to_string(hopper), list_wgmma_types())};
  return mismatch;
}

std::string extents_reason(const AsyncOperands& operands, const MmaShape& shape) {
  return fmt::format(
      "a product of m = {}, n = {}, k = {} is not made of whole m64n8k{} of warp groups",
      operands.c.shape()[0], operands.c.shape()[1], matrix_shape(operands.b)->front(), shape.k);
}

bool whole_extents(const AsyncOperands& operands, const MmaShape& narrow) {
  return operands.c.shape()[0] % narrow.m == 0 && operands.c.shape()[1] % narrow.n == 0 &&
         matrix_shape(operands.b)->front() % narrow.k == 0;
}

}  // namespace

const DType& AsyncOperands::a_type() const {
  if (const auto* registers = std::get_if<RegisterType>(&a)) return registers->dtype;
  return std::get<SharedPart>(a).type.dtype;
}

std::optional<Shape> AsyncOperands::a_shape() const {
  if (const auto* registers = std::get_if<RegisterType>(&a)) return registers->shape();
  return matrix_shape(std::get<SharedPart>(a));
}

std::optional<DotPlan> plan_dot_async(const AsyncOperands& operands, const Target& target,
                                      DotMismatch* mismatch) {
  DotMismatch found;
  const auto fail = [&]() -> std::optional<DotPlan> {
    if (mismatch != nullptr) *mismatch = std::move(found);
    return std::nullopt;
  };
  const auto shapes =
      wgmma_shapes(target, operands.a_type(), operands.b.type.dtype, operands.c.dtype);
  if (shapes.empty()) {
    found = no_instruction(operands, target);
    return fail();
  }
  const MmaShape& narrow = *shapes.back();
  if (!whole_extents(operands, narrow)) {
    found.reason = extents_reason(operands, narrow);
    return fail();
  }
  if (operands.c.layout.num_threads() % warp_group_size != 0) {
    found.reason = fmt::format(
        "an asynchronous product is that of groups of four warps, 128 threads; c is spread over {}",
        operands.c.layout.num_threads());
    return fail();
  }
  bool c_fits = false;
  for (const MmaShape* shape : shapes) {
    if (operands.c.shape()[1] % shape->n != 0) continue;
    AsyncPlanner planner(operands, *shape);
    if (auto plan = planner.plan()) return plan;
    if (planner.c_fits() && c_fits) continue;  // the widest says most
    c_fits = planner.c_fits();
    found.reason = planner.reason();
  }
  suggest(operands, narrow, c_fits, found);
  return fail();
}

}  // namespace tilevm::isa
