#include "vm/fuzz/coverage.h"

#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "isa/dot/dot.h"
#include "isa/dot/target_support.h"
#include "isa/program/program.h"

namespace tilevm::vm::fuzz {
namespace {

template <class Slot>
std::optional<bool> is_given(const std::optional<Slot>& slot) {
  return slot.has_value();
}
template <class Slot>
std::optional<bool> is_given(const Slot&) {
  return std::nullopt;  // it must be
}

std::string slot_item(std::string_view mnemonic, std::string_view slot, bool given) {
  return fmt::format("{} {} {}", mnemonic, given ? "with" : "without", slot);
}

/// Statements that are not instructions, by their place in Stmt::node.
constexpr std::array<std::string_view, 8> statement_names = {
    "instruction", "scalar", "for", "while", "if", "groups", "break", "continue"};
static_assert(std::variant_size_v<decltype(isa::Stmt::node)> == statement_names.size());

/// How one instruction of these operand types computes a Dot.
std::string dot_item(const isa::MmaShape& shape, bool transposed) {
  return fmt::format("Dot {} {} {} {}{}", shape.label(), isa::to_string(shape.a),
                     isa::to_string(shape.b), isa::to_string(shape.accumulator),
                     transposed ? " transposed" : "");
}
std::string bipolar_item(const isa::MmaShape& shape) {
  return fmt::format("Dot bipolar {} {}", shape.name, isa::to_string(shape.a));
}

class Walk {
 public:
  Walk(const isa::VerifiedProgram& program, int kernel, Coverage& covered)
      : kernel_(program.kernel(kernel)), info_(program.info(kernel)), covered_(covered) {}

  void run() {
    isa::for_each_statement(kernel_.body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      covered_.insert(std::string(statement_names[stmt.node.index()]));
      if (inst != nullptr) add(*inst);
    });
  }

 private:
  void add(const isa::InstStmt& stmt) {
    const std::string_view mnemonic = isa::mnemonic(stmt.inst);
    covered_.insert(std::string(mnemonic));
    std::visit(
        [&]<class Inst>(const Inst& inst) {
          isa::for_each_slot<Inst>([&](const auto& slot, std::size_t) {
            const auto given = is_given(inst.*slot.member);
            if (given) covered_.insert(slot_item(mnemonic, slot.name, *given));
          });
        },
        stmt.inst);
    if (const isa::DotPlan* plan = info_.find_dot_plan(stmt)) add_dot(*plan);
    if (const auto* load = std::get_if<isa::LoadGlobal>(&stmt.inst)) {
      covered_.insert("load of " + type_name(load->src.var));
    }
    if (const auto* cast = std::get_if<isa::Cast>(&stmt.inst)) {
      covered_.insert("cast from " + type_name(cast->src.var));
      covered_.insert("cast to " + isa::to_string(cast->dtype));
    }
  }

  void add_dot(const isa::DotPlan& plan) {
    switch (plan.method) {
      case isa::DotMethod::mma:
        // The schema has products of warp groups as DotAsync alone.
        if (plan.shape->family == isa::MmaFamily::wgmma) break;
        covered_.insert(dot_item(*plan.shape, plan.transposed));
        break;
      case isa::DotMethod::bipolar:
        covered_.insert(bipolar_item(*plan.shape));
        break;
      case isa::DotMethod::chain:
        covered_.insert("Dot chain");
        break;
    }
  }

  std::string type_name(isa::VarId var) const {
    const isa::Type& type = kernel_.variable(var).type;
    if (const auto* view = std::get_if<isa::GlobalType>(&type)) return isa::to_string(view->dtype);
    return isa::to_string(std::get_if<isa::RegisterType>(&type)->dtype);
  }

  const isa::Kernel& kernel_;
  const isa::KernelInfo& info_;
  Coverage& covered_;
};

Coverage make_whole_schema(const isa::Target& target) {
  Coverage all;
  for (const std::string_view name : statement_names) all.insert(std::string(name));
  isa::for_each_instruction([&]<class Inst>() {
    if (!isa::exists_on<Inst>(target)) return;
    const std::string_view mnemonic = Inst::schema.description.mnemonic;
    all.insert(std::string(mnemonic));
    isa::for_each_slot<Inst>([&](const auto& slot, std::size_t) {
      const Inst inst{};
      if (!is_given(inst.*slot.member)) return;
      all.insert(slot_item(mnemonic, slot.name, true));
      all.insert(slot_item(mnemonic, slot.name, false));
    });
  });
  for (const isa::DType& type : isa::all_dtypes()) {
    for (const std::string_view use : {"load of", "cast from", "cast to"}) {
      all.insert(fmt::format("{} {}", use, isa::to_string(type)));
    }
  }
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    if (shape.min_sm > target.sm) continue;
    all.insert(dot_item(shape, false));
    all.insert(dot_item(shape, true));
  }
  for (const isa::MmaShape& shape : isa::sparse_mma_shapes()) {
    if (shape.min_sm <= target.sm) all.insert(dot_item(shape, false));
  }
  for (const isa::MmaShape& shape : isa::scaled_mma_shapes()) {
    if (isa::mma_rule(target, shape)) all.insert(dot_item(shape, false));
  }
  const auto bipolar = isa::dot_shapes(target, isa::bipolar(1), isa::bipolar(1), isa::i32);
  for (const isa::MmaShape* shape : bipolar) all.insert(bipolar_item(*shape));
  all.insert("Dot chain");
  return all;
}

}  // namespace

Coverage coverage_of(const isa::VerifiedProgram& program) {
  Coverage covered;
  for (std::size_t i = 0; i < program.program().kernels.size(); ++i) {
    Walk(program, static_cast<int>(i), covered).run();
  }
  return covered;
}

const Coverage& whole_schema(const isa::Target& target) {
  static std::map<std::string, Coverage> known;
  const std::string name = isa::to_string(target);
  const auto found = known.find(name);
  return found != known.end() ? found->second
                              : known.emplace(name, make_whole_schema(target)).first->second;
}

Coverage missing_of(const Coverage& covered, const isa::Target& target) {
  Coverage missing;
  for (const std::string& item : whole_schema(target)) {
    if (!covered.contains(item)) missing.insert(item);
  }
  return missing;
}

}  // namespace tilevm::vm::fuzz
