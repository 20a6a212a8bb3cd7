// More than 400 lines: a list of changes, each of them a few lines.
#include "vm/fuzz/smaller_programs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "isa/layout/layout_ops.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Block;
using isa::Expr;
using isa::Program;
using isa::RegisterLayout;
using isa::Stmt;

// --- Walking -------------------------------------------------------------------------------------

template <class F>
void for_each_block(Block& block, F&& f) {
  f(block);
  for (Stmt& stmt : block) {
    isa::for_each_block_of(stmt, [&](Block& inner) { for_each_block(inner, f); });
  }
}
template <class F>
void for_each_block(Program& program, F&& f) {
  for (isa::Kernel& kernel : program.kernels) for_each_block(kernel.body, f);
}
template <class F>
void for_each_instruction_of(Program& program, F&& f) {
  for_each_block(program, [&](Block& block) {
    for (Stmt& stmt : block) {
      if (auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) f(*inst);
    }
  });
}

/// Calls f(slot) for every slot of an instruction; of an optional one that is given, its value.
template <class F>
void for_each_slot_value(isa::Instruction& instruction, F&& f) {
  std::visit(
      [&]<class Inst>(Inst& inst) {
        isa::for_each_slot<Inst>([&](const auto& info, std::size_t) {
          auto& slot = inst.*info.member;
          if constexpr (requires { slot.has_value(); }) {
            if (slot) f(*slot);
          } else {
            f(slot);
          }
        });
      },
      instruction);
}

/// The scalar expressions of a slot; most slots have none.
template <class Slot, class F>
void for_each_expr_of(Slot& slot, F&& f) {
  if constexpr (std::is_same_v<Slot, isa::ScalarOperand>) {
    f(slot.value);
  } else if constexpr (std::is_same_v<Slot, isa::ElementValues>) {
    for (Expr& value : slot.values) f(value);
  } else if constexpr (std::is_same_v<Slot, isa::ExtentList>) {
    for (Expr& extent : slot.extents) f(extent);
  } else if constexpr (std::is_same_v<Slot, isa::OffsetList>) {
    for (isa::OffsetList::Entry& entry : slot.entries) f(entry.value);
  } else if constexpr (std::is_same_v<Slot, isa::ViewLayout>) {
    for (Expr& stride : slot.strides) f(stride);
  } else if constexpr (std::is_same_v<Slot, isa::ValueOperand>) {
    if (auto* scalar = std::get_if<isa::ScalarOperand>(&slot.value)) f(scalar->value);
  }
}

template <class F>
void for_each_expr(Program& program, F&& f) {
  for (isa::Kernel& kernel : program.kernels) {
    for (Expr& extent : kernel.grid) f(extent);
  }
  for_each_block(program, [&](Block& block) {
    for (Stmt& stmt : block) {
      if (auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
        for_each_slot_value(inst->inst, [&](auto& slot) { for_each_expr_of(slot, f); });
      }
      if (auto* scalar = std::get_if<isa::ScalarStmt>(&stmt.node)) f(scalar->value);
      if (auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) {
        f(loop->begin);
        f(loop->end);
        f(loop->step);
      }
      if (auto* loop = std::get_if<isa::WhileStmt>(&stmt.node)) f(loop->condition);
      if (auto* branch = std::get_if<isa::IfStmt>(&stmt.node)) {
        for (isa::IfStmt::Arm& arm : branch->arms) f(arm.condition);
      }
    }
  });
}

/// Counts down to the change that is wanted.
class Turn {
 public:
  explicit Turn(std::size_t n) : left_(n) {}
  /// True once, at the wanted number.
  bool comes() {
    if (done_ || left_-- > 0) return false;
    done_ = true;
    return true;
  }
  [[nodiscard]] bool done() const { return done_; }

 private:
  std::size_t left_;
  bool done_ = false;
};

// --- Changes -------------------------------------------------------------------------------------

/// Removes so many statements that follow one another.
template <std::size_t count>
bool remove_statements(Program& program, std::size_t n) {
  Turn turn(n);
  for_each_block(program, [&](Block& block) {
    for (std::size_t i = 0; i + count <= block.size() && !turn.done(); ++i) {
      if (!turn.comes()) continue;
      const auto first = block.begin() + static_cast<std::ptrdiff_t>(i);
      block.erase(first, first + static_cast<std::ptrdiff_t>(count));
    }
  });
  return turn.done();
}

/// Whether a kernel's view is one of a parameter: memory that the block writes and does not read.
bool is_parameter_view(const isa::Kernel& kernel, isa::VarId view) {
  bool found = false;
  isa::for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst == nullptr || !std::holds_alternative<isa::ViewGlobal>(inst->inst)) return;
    found = found || (inst->results.size() == 1 && inst->results[0] == view);
  });
  return found;
}

/// A statement that declares what nothing uses (or the program does not verify), a print, or a
/// store in an output.
bool is_harmless(const isa::Kernel& kernel, const Stmt& stmt) {
  const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
  if (inst == nullptr) return false;
  const isa::Description& description = isa::description(inst->inst);
  if (description.category == isa::Category::debug) return true;
  if (const auto* store = std::get_if<isa::StoreGlobal>(&inst->inst)) {
    return is_parameter_view(kernel, store->dst.var);
  }
  return !inst->results.empty() && inst->declares && !description.orders_blocks();
}

bool remove_harmless(Program& program, std::size_t n) {
  Turn turn(n);
  for (isa::Kernel& kernel : program.kernels) {
    const isa::Kernel before = kernel;
    for_each_block(kernel.body, [&](Block& block) {
      for (std::size_t i = 0; i < block.size() && !turn.done(); ++i) {
        if (!is_harmless(before, block[i]) || !turn.comes()) continue;
        block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
      }
    });
  }
  return turn.done();
}

/// What a loop or branch leaves if only one of its blocks runs, once.
Block unwrapped(Stmt& stmt, std::size_t arm) {
  Block result;
  if (auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) {
    result.push_back({isa::ScalarStmt{loop->var, loop->begin, true}, {}});
  }
  std::size_t number = 0;
  isa::for_each_block_of(stmt, [&](Block& inner) {
    if (number++ != arm) return;
    for (Stmt& each : inner) result.push_back(std::move(each));
  });
  return result;
}

bool unwrap(Program& program, std::size_t n) {
  Turn turn(n);
  for_each_block(program, [&](Block& block) {
    for (std::size_t i = 0; i < block.size() && !turn.done(); ++i) {
      std::size_t arms = 0;
      isa::for_each_block_of(block[i], [&](Block&) { ++arms; });
      for (std::size_t arm = 0; arm < arms; ++arm) {
        if (!turn.comes()) continue;
        Block inner = unwrapped(block[i], arm);
        const auto at = block.begin() + static_cast<std::ptrdiff_t>(i);
        block.insert(block.erase(at), inner.begin(), inner.end());
        break;
      }
    }
  });
  return turn.done();
}

/// Expressions of the same kind that are simpler than this one.
std::vector<Expr> simpler(const Expr& expr) {
  std::vector<Expr> result;
  const auto constant = [&](std::int64_t value) {
    const Expr each = Expr::constant(isa::convert(isa::Scalar::i64(value), expr.kind()));
    if (!(each == expr)) result.push_back(each);
  };
  const auto part = [&](const Expr& each) {
    if (each.kind() == expr.kind()) result.push_back(each);
  };
  if (const auto value = expr.constant_value()) {
    if (value->bits == 0 || value->bits == 1) return result;
    constant(1);
    constant(0);
    if (value->is_integer() && value->as_int() > 3) constant(value->as_int() / 2);
    return result;
  }
  if (expr.kind() != isa::ScalarKind::boolean) constant(0);
  if (expr.kind() != isa::ScalarKind::boolean) constant(1);
  if (const auto* node = std::get_if<Expr::Unary>(&expr.node())) part(node->a);
  if (const auto* node = std::get_if<Expr::Convert>(&expr.node())) part(node->a);
  if (const auto* node = std::get_if<Expr::Binary>(&expr.node())) {
    part(node->a);
    part(node->b);
  }
  if (const auto* node = std::get_if<Expr::Select>(&expr.node())) {
    part(node->a);
    part(node->b);
  }
  return result;
}

bool simplify_expression(Program& program, std::size_t n) {
  Turn turn(n);
  for_each_expr(program, [&](Expr& expr) {
    for (const Expr& each : simpler(expr)) {
      if (turn.comes()) {
        expr = each;
        return;
      }
    }
  });
  return turn.done();
}

bool leave_out_operand(Program& program, std::size_t n) {
  Turn turn(n);
  for_each_instruction_of(program, [&](isa::InstStmt& stmt) {
    std::visit(
        [&]<class Inst>(Inst& inst) {
          isa::for_each_slot<Inst>([&](const auto& info, std::size_t) {
            auto& slot = inst.*info.member;
            if constexpr (requires { slot.has_value(); }) {
              if (slot && turn.comes()) slot.reset();
            }
          });
        },
        stmt.inst);
  });
  return turn.done();
}

/// An element of a list of initial values, or a colon-free entry's turn: the list becomes one
/// value.
bool shorten_values(Program& program, std::size_t n) {
  Turn turn(n);
  for_each_instruction_of(program, [&](isa::InstStmt& stmt) {
    for_each_slot_value(stmt.inst, [&]<class Slot>(Slot& slot) {
      if constexpr (std::is_same_v<Slot, isa::ElementValues>) {
        if (slot.values.size() > 1 && turn.comes()) slot.values.resize(1);
      }
    });
  });
  return turn.done();
}

/// Another tile takes the place of a statement's result.
bool replace_result(Program& program, std::size_t n) {
  Turn turn(n);
  for (isa::Kernel& kernel : program.kernels) {
    std::vector<isa::VarId> before;
    for_each_block(kernel.body, [&](Block& block) {
      for (Stmt& stmt : block) {
        auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
        if (inst == nullptr || inst->results.size() != 1 || !inst->declares) continue;
        const isa::VarId result = inst->results[0];
        if (!std::holds_alternative<isa::RegisterType>(kernel.variable(result).type)) continue;
        for (const isa::VarId other : before) {
          if (turn.done() || !(kernel.variable(other).type == kernel.variable(result).type))
            continue;
          if (!turn.comes()) continue;
          for_each_block(kernel.body, [&](Block& each_block) {
            for (Stmt& each : each_block) {
              auto* user = std::get_if<isa::InstStmt>(&each.node);
              if (user == nullptr) continue;
              for_each_slot_value(user->inst, [&]<class Slot>(Slot& slot) {
                if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) {
                  if (slot.var == result) slot.var = other;
                }
              });
            }
          });
        }
        before.push_back(result);
      }
    });
  }
  return turn.done();
}

/// A plain layout of the same threads in the place of a register layout, everywhere; then one of
/// smaller extents.
bool simplify_layout(Program& program, std::size_t n) {
  std::vector<RegisterLayout> layouts;
  for_each_instruction_of(program, [&](isa::InstStmt& stmt) {
    for_each_slot_value(stmt.inst, [&]<class Slot>(Slot& slot) {
      if constexpr (std::is_same_v<Slot, RegisterLayout>) {
        if (std::find(layouts.begin(), layouts.end(), slot) == layouts.end()) {
          layouts.push_back(slot);
        }
      }
    });
  });
  for (const RegisterLayout& layout : layouts) {
    std::vector<isa::Shape> shapes;
    for (std::size_t d = 0; d < layout.shape().size(); ++d) {
      isa::Shape shape = layout.shape();
      if (shape[d] == 1) continue;
      shape[d] = 1;
      shapes.push_back(shape);
      shape[d] = layout.shape()[d] / 2;
      if (shape[d] > 1) shapes.push_back(shape);
    }
    shapes.push_back(layout.shape());
    for (const isa::Shape& shape : shapes) {
      const auto plain = isa::auto_local_spatial(layout.num_threads(), shape);
      if (!plain || *plain == layout) continue;
      if (n-- > 0) continue;
      for_each_instruction_of(program, [&](isa::InstStmt& stmt) {
        for_each_slot_value(stmt.inst, [&]<class Slot>(Slot& slot) {
          if constexpr (std::is_same_v<Slot, RegisterLayout>) {
            if (slot == layout) slot = *plain;
          }
        });
      });
      return true;
    }
  }
  return false;
}

/// Decorators and unrolling.
bool drop_decoration(Program& program, std::size_t n) {
  Turn turn(n);
  for (isa::Kernel& kernel : program.kernels) {
    if (kernel.threads && turn.comes()) kernel.threads.reset();
    if (kernel.resident != 1 && turn.comes()) kernel.resident = 1;
    if (kernel.split_barriers && turn.comes()) kernel.split_barriers = false;
    if (!kernel.cluster.empty() && turn.comes()) kernel.cluster.clear();
    for_each_block(kernel.body, [&](Block& block) {
      for (Stmt& stmt : block) {
        auto* loop = std::get_if<isa::ForStmt>(&stmt.node);
        if (loop != nullptr && loop->unroll != 0 && turn.comes()) loop->unroll = 0;
      }
    });
  }
  return turn.done();
}

/// A parameter that nothing uses, with its tensor.
bool remove_parameter(Program& program, std::size_t n) {
  Turn turn(n);
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    isa::Kernel& kernel = program.kernels[k];
    for (std::size_t i = 0; i < kernel.parameters.size() && !turn.done(); ++i) {
      if (!turn.comes()) continue;
      kernel.parameters.erase(kernel.parameters.begin() + static_cast<std::ptrdiff_t>(i));
      for (isa::PipelineLaunch& launch : program.pipelines.front().launches) {
        if (launch.kernel != static_cast<int>(k)) continue;
        launch.arguments.erase(launch.arguments.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  return turn.done();
}

bool remove_tensor(Program& program, std::size_t n) {
  isa::Pipeline& pipeline = program.pipelines.front();
  if (n >= pipeline.tensors.size()) return false;
  pipeline.tensors.erase(pipeline.tensors.begin() + static_cast<std::ptrdiff_t>(n));
  const int removed = static_cast<int>(n);
  for (isa::PipelineLaunch& launch : pipeline.launches) {
    for (auto& argument : launch.arguments) {
      auto* index = std::get_if<int>(&argument);
      if (index == nullptr) continue;
      if (*index > removed) {
        --*index;
      } else if (*index == removed) {
        argument = isa::Expr();  // no program, if it was used
      }
    }
  }
  return true;
}

bool names_tensor(const isa::PipelineLaunch& launch, std::size_t tensor) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const auto& argument) {
    const auto* index = std::get_if<int>(&argument);
    return index != nullptr && *index == static_cast<int>(tensor);
  });
}

/// A kernel with its launches and the tensors that only it has.
bool remove_kernel(Program& program, std::size_t n) {
  if (program.kernels.size() < 2 || n >= program.kernels.size()) return false;
  const int removed = static_cast<int>(n);
  program.kernels.erase(program.kernels.begin() + removed);
  isa::Pipeline& pipeline = program.pipelines.front();
  std::erase_if(pipeline.launches,
                [&](const isa::PipelineLaunch& launch) { return launch.kernel == removed; });
  for (isa::PipelineLaunch& launch : pipeline.launches) {
    if (launch.kernel > removed) --launch.kernel;
  }
  for (std::size_t tensor = pipeline.tensors.size(); tensor-- > 0;) {
    const bool named = std::any_of(
        pipeline.launches.begin(), pipeline.launches.end(),
        [&](const isa::PipelineLaunch& launch) { return names_tensor(launch, tensor); });
    if (!named) remove_tensor(program, tensor);
  }
  return true;
}

/// The views of a parameter.
std::vector<isa::VarId> views_of(const isa::Kernel& kernel, isa::VarId parameter) {
  std::vector<isa::VarId> views;
  isa::for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    const auto* view = std::get_if<isa::ViewGlobal>(&inst->inst);
    if (view != nullptr && view->ptr.var == parameter) views.push_back(inst->results.front());
  });
  return views;
}

/// Whether a statement makes one of these views or accesses memory through it.
bool uses_view(Stmt& stmt, const std::vector<isa::VarId>& views) {
  auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
  if (inst == nullptr) return false;
  const auto is_one = [&](isa::VarId var) {
    return std::find(views.begin(), views.end(), var) != views.end();
  };
  bool found = std::any_of(inst->results.begin(), inst->results.end(), is_one);
  for_each_slot_value(inst->inst, [&]<class Slot>(Slot& slot) {
    if constexpr (std::is_same_v<Slot, isa::GlobalOperand>) found = found || is_one(slot.var);
  });
  return found;
}

/// A tensor, the parameters that it is bound to, and every statement that works on it. An output
/// cannot go without its stores, nor they without it.
template <bool only_harmless>
bool remove_tensor_with_uses(Program& program, std::size_t n) {
  isa::Pipeline& pipeline = program.pipelines.front();
  if (n >= pipeline.tensors.size()) return false;
  for (isa::PipelineLaunch& launch : pipeline.launches) {
    isa::Kernel& kernel = program.kernels[static_cast<std::size_t>(launch.kernel)];
    const isa::Kernel before = kernel;
    for (std::size_t i = launch.arguments.size(); i-- > 0;) {
      const auto* index = std::get_if<int>(&launch.arguments[i]);
      if (index == nullptr || *index != static_cast<int>(n)) continue;
      const std::vector<isa::VarId> views = views_of(kernel, kernel.parameters[i]);
      for_each_block(kernel.body, [&](Block& block) {
        std::erase_if(block, [&](Stmt& stmt) {
          return uses_view(stmt, views) && (!only_harmless || is_harmless(before, stmt));
        });
      });
      kernel.parameters.erase(kernel.parameters.begin() + static_cast<std::ptrdiff_t>(i));
      launch.arguments.erase(launch.arguments.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return remove_tensor(program, n);
}

bool shorten_tensor(Program& program, std::size_t n) {
  isa::Pipeline& pipeline = program.pipelines.front();
  if (n >= pipeline.tensors.size()) return false;
  isa::Expr& extent = pipeline.tensors[n].extents.front();
  const std::int64_t value = extent.constant_int().value_or(1);
  if (value < 2) return n + 1 < pipeline.tensors.size();
  extent = isa::Expr::constant(value / 2);
  return true;
}

}  // namespace

const std::vector<ProgramChange>& program_changes() {
  static const std::vector<ProgramChange> changes = {remove_kernel,
                                                     remove_tensor_with_uses<false>,
                                                     remove_statements<8>,
                                                     remove_statements<4>,
                                                     remove_statements<2>,
                                                     remove_statements<1>,
                                                     unwrap,
                                                     replace_result,
                                                     simplify_expression,
                                                     leave_out_operand,
                                                     shorten_values,
                                                     drop_decoration,
                                                     remove_parameter,
                                                     remove_tensor,
                                                     simplify_layout,
                                                     shorten_tensor};
  return changes;
}

const std::vector<ProgramChange>& harmless_changes() {
  static const std::vector<ProgramChange> changes = {
      remove_kernel,    remove_tensor_with_uses<true>,
      remove_harmless,  drop_decoration,
      remove_parameter, remove_tensor};
  return changes;
}

}  // namespace tilevm::vm::fuzz
