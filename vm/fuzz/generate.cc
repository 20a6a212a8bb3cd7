#include "vm/fuzz/generate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/inst/slot_table.h"
#include "vm/fuzz/instruction_makers.h"
#include "vm/fuzz/kernel_builder.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::ScalarBinary;
using isa::ScalarKind;

constexpr int most_depth = 2;
/// One of so many seeds has a tensor-core Dot for certain, of one form after another.
constexpr std::uint64_t seeds_for_dot = 8;

/// Whether statements touch memory that threads share.
bool touches_memory(const isa::Block& block) {
  bool found = false;
  isa::for_each_statement(block, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    isa::for_each_slot_of(inst->inst, [&](isa::Access access, const auto&) {
      found = found || access != isa::Access::none;
    });
  });
  return found;
}

class KernelMaker {
 public:
  explicit KernelMaker(KernelBuilder& builder) : builder_(builder), draw_(builder.draw()) {}

  /// `plants` adds its statements somewhere between the others, beside the favourite instruction
  /// and a tensor-core Dot of this number.
  template <class F>
  void make(std::size_t favourite, std::optional<std::uint64_t> dot, F&& plants) {
    const std::int64_t steps = draw_.between(3, 9);
    const std::int64_t turn = draw_.below(steps);
    for (std::int64_t i = 0; i < steps; ++i) {
      if (i == turn) {
        plants(builder_);
        make_instruction(builder_, favourite);
        if (dot) make_dot_form(builder_, *dot);
      }
      step();
    }
    store_results();
  }

 private:
  void step() {
    const std::int64_t choice = draw_.below(100);
    if (choice < 10 && builder_.depth() < most_depth) return make_for();
    if (choice < 13 && builder_.depth() < most_depth) return make_while();
    if (choice < 20 && builder_.depth() < most_depth) return make_if();
    if (choice < 30) return make_scalar();
    if (choice < 33 && builder_.loops() > 0) return leave_loop();
    make_instruction(builder_, draw_instruction(draw_));
  }

  void steps_inside() {
    const std::int64_t steps = draw_.between(1, 3);
    for (std::int64_t i = 0; i < steps; ++i) step();
  }

  void make_scalar() {
    std::vector<ScalarVariable> assignable;
    for (const ScalarVariable& scalar : builder_.scalars()) {
      if (scalar.assignable) assignable.push_back(scalar);
    }
    if (assignable.empty() || draw_.chance(50)) {
      builder_.declare_scalar(builder_.any_scalar(2));
      return;
    }
    const ScalarVariable target = draw_.pick(assignable);
    const Expr value = Expr::convert(builder_.any_scalar(2), target.kind);
    const auto constant = value.constant_value();
    const bool odd = constant && target.kind == ScalarKind::f32;  // may be NaN, which has no text
    if (!odd) builder_.add_statement(isa::ScalarStmt{target.var, value, false});
  }

  void leave_loop() {
    isa::IfStmt branch;
    const Expr condition = builder_.condition();
    builder_.open();
    if (draw_.chance(50)) {
      builder_.add_statement(isa::BreakStmt{});
    } else {
      builder_.add_statement(isa::ContinueStmt{});
    }
    branch.arms.push_back({condition, builder_.close()});
    builder_.add_statement(std::move(branch));
  }

  /// The statements of a loop. Its iterations follow one another, so each begins with a barrier if
  /// it touches memory.
  isa::Block loop_body(const ScalarVariable* counter, const isa::Stmt* first) {
    const std::vector<OwnMemory> before = builder_.memory_state();
    builder_.enter_loop();
    builder_.open();
    if (first != nullptr) builder_.add_statement(first->node);
    if (counter != nullptr) builder_.add_scalar(*counter);
    builder_.synchronize();
    steps_inside();
    isa::Block body = builder_.close();
    builder_.leave_loop();
    builder_.join_memory_state(before);
    if (touches_memory(body)) {
      builder_.assume_memory_touched();
    } else {
      body.erase(body.begin() + (first != nullptr ? 1 : 0));
      builder_.assume_memory_touched();
    }
    return body;
  }

  void make_for() {
    static const std::vector<ScalarKind> kinds = {ScalarKind::i32, ScalarKind::i32,
                                                  ScalarKind::i32, ScalarKind::i64,
                                                  ScalarKind::u32, ScalarKind::u64};
    const ScalarKind kind = draw_.pick(kinds);
    const bool is_signed = kind == ScalarKind::i32 || kind == ScalarKind::i64;
    const std::int64_t trips = draw_.between(1, 4);
    std::int64_t begin = draw_.between(is_signed ? -2 : 0, 3);
    std::int64_t step = draw_.chance(65) ? 1 : draw_.between(1, 3);
    const bool down = is_signed && draw_.chance(25);
    const std::int64_t end =
        begin + (down ? -1 : 1) * (step * (trips - 1) + draw_.between(1, step));
    if (down) step = -step;
    isa::ForStmt loop;
    const auto number = [&](std::int64_t value) {
      return Expr::convert(builder_.known(value), kind);
    };
    loop.begin = number(begin);
    loop.end = number(end);
    loop.step = Expr::convert(Expr::constant(step), kind);
    if (is_signed && !down && draw_.chance(20)) {  // perhaps no iteration
      loop.begin = Expr::convert(Expr::constant(0), kind);
      loop.step = Expr::convert(Expr::constant(1), kind);
      const Expr turn = Expr::binary(ScalarBinary::mod, builder_.block_number(), Expr::constant(3));
      loop.end = Expr::convert(turn, kind);
    }
    loop.var = builder_.new_variable('k', isa::ScalarType{kind});
    if (draw_.chance(25)) loop.unroll = draw_.between(1, 4);
    const ScalarVariable counter{loop.var, kind, true};
    loop.body = loop_body(&counter, nullptr);
    builder_.add_statement(std::move(loop));
  }

  void make_while() {
    const isa::VarId counter = builder_.declare_scalar(Expr::constant(0), false);
    const Expr value = builder_.use({counter, ScalarKind::i32});
    isa::WhileStmt loop;
    loop.condition = Expr::binary(ScalarBinary::lt, value, Expr::constant(draw_.between(1, 4)));
    if (draw_.chance(30)) {
      loop.condition =
          Expr::binary(ScalarBinary::logical_and, loop.condition, builder_.condition());
    }
    const isa::Stmt increment{
        isa::ScalarStmt{counter, Expr::binary(ScalarBinary::add, value, Expr::constant(1)), false},
        {}};
    loop.body = loop_body(nullptr, &increment);
    builder_.add_statement(std::move(loop));
  }

  void make_if() {
    isa::IfStmt branch;
    const std::vector<OwnMemory> before = builder_.memory_state();
    std::vector<std::vector<OwnMemory>> after;
    const std::int64_t arms = draw_.chance(75) ? 1 : 2;
    for (std::int64_t i = 0; i < arms; ++i) {
      const Expr condition = builder_.condition();
      branch.arms.push_back({condition, arm(before)});
      after.push_back(builder_.memory_state());
    }
    const bool has_else = draw_.chance(50);
    if (has_else) {
      branch.otherwise = arm(before);
      after.push_back(builder_.memory_state());
    } else {
      after.push_back(before);
    }
    for (const std::vector<OwnMemory>& state : after) builder_.join_memory_state(state);
    builder_.add_statement(std::move(branch));
  }

  isa::Block arm(const std::vector<OwnMemory>& before) {
    builder_.set_memory_state(before);
    builder_.open();
    steps_inside();
    return builder_.close();
  }

  /// What is not stored cannot be compared.
  void store_results() {
    std::vector<Tile> tiles = builder_.tiles();
    std::reverse(tiles.begin(), tiles.end());
    const std::size_t most = 4;
    for (std::size_t i = 0; i < std::min(most, tiles.size()); ++i) {
      const std::size_t at =
          draw_.chance(60)
              ? i
              : static_cast<std::size_t>(draw_.below(static_cast<std::int64_t>(tiles.size())));
      builder_.store(tiles[at]);
    }
    const Tile last = builder_.any_tile();
    if (last.var.valid()) builder_.store(last);
  }

  KernelBuilder& builder_;
  Draw& draw_;
};

/// A launch of one kernel, and a second launch of it now and then.
void add_launch(isa::Program& program, FinishedKernel finished) {
  using Role = isa::PipelineTensor::Role;
  isa::Pipeline& pipeline = program.pipelines.front();
  isa::PipelineLaunch launch;
  launch.kernel = static_cast<int>(program.kernels.size());
  for (LaunchArgument& argument : finished.arguments) {
    if (auto* scalar = std::get_if<isa::Scalar>(&argument)) {
      launch.arguments.emplace_back(isa::Expr::constant(*scalar));
      continue;
    }
    launch.arguments.emplace_back(static_cast<int>(pipeline.tensors.size()));
    pipeline.tensors.push_back(std::move(*std::get_if<isa::PipelineTensor>(&argument)));
  }
  pipeline.launches.push_back(std::move(launch));
  program.kernels.push_back(std::move(finished.kernel));
  // Inputs come first, as the text has them.
  std::vector<isa::PipelineTensor> sorted;
  std::vector<int> places(pipeline.tensors.size(), 0);
  for (const Role role : {Role::input, Role::inout, Role::output, Role::temporary}) {
    for (std::size_t i = 0; i < pipeline.tensors.size(); ++i) {
      if (pipeline.tensors[i].role != role) continue;
      places[i] = static_cast<int>(sorted.size());
      sorted.push_back(pipeline.tensors[i]);
    }
  }
  for (isa::PipelineLaunch& each : pipeline.launches) {
    for (auto& argument : each.arguments) {
      if (auto* index = std::get_if<int>(&argument)) {
        *index = places[static_cast<std::size_t>(*index)];
      }
    }
  }
  pipeline.tensors = std::move(sorted);
}

}  // namespace

namespace {

template <class F>
GeneratedCase generate_with(std::uint64_t seed, const isa::Target& target, F&& plants) {
  Draw draw(seed, "program");
  GeneratedCase result;
  result.seed = seed;
  result.program.pipelines.push_back({"main", {}, {}, {}});
  const int kernels = draw.chance(85) ? 1 : 2;
  for (int i = 0; i < kernels; ++i) {
    std::optional<std::uint64_t> dot;
    if (i == 0 && seed % seeds_for_dot == 0) dot = seed / seeds_for_dot;
    KernelBuilder builder(draw, target, fmt::format("k{}", i), dot.has_value());
    KernelMaker(builder).make(static_cast<std::size_t>(seed % isa::instruction_count), dot,
                              [&](KernelBuilder& at) {
                                if (i == 0) plants(at);
                              });
    FinishedKernel finished = builder.finish();
    if (result.defect.empty()) result.defect = finished.defect;
    add_launch(result.program, std::move(finished));
  }
  Draw data(seed, "data");
  static const std::vector<std::string> kinds = {"corner", "corner", "wild", "rand"};
  for (const isa::PipelineTensor& tensor : result.program.pipelines.front().tensors) {
    if (tensor.role != isa::PipelineTensor::Role::input) continue;
    const std::int64_t number = data.below(1 << 20);
    result.inputs.push_back(fmt::format("{}={}:{}", tensor.name, data.pick(kinds), number));
  }
  return result;
}

}  // namespace

GeneratedCase generate(std::uint64_t seed, const isa::Target& target) {
  return generate_with(seed, target, [](KernelBuilder&) {});
}

PlantedCase generate_planted(std::uint64_t seed, const isa::Target& target, Planted planted,
                             bool faulty) {
  PlantedCase result;
  result.generated = generate_with(seed, target, [&](KernelBuilder& builder) {
    if (!builder.may_have_ended) result.expected = plant(builder, planted, faulty);
  });
  return result;
}

}  // namespace tilevm::vm::fuzz
