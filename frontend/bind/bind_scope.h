// What a name may mean while a tree is bound: constants and functions of the file, variables of a
// kernel, parameters of an inlined function.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/inst/expr.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/program/program.h"
#include "isa/type/dtype.h"

namespace tilevm::frontend {

/// The value of a constant. Lists hold constants of any sorts.
struct ConstantElement;
struct ConstantList {
  std::vector<ConstantElement> values;
};
using ConstantValue =
    std::variant<isa::Scalar, isa::DType, isa::RegisterLayout, isa::MemoryLayout, ConstantList>;
struct ConstantElement {
  ConstantValue value;
};

/// "an integer", "a type", "a layout" ... for messages.
[[nodiscard]] std::string_view kind_name(const ConstantValue& value);
/// The value as the language writes it.
[[nodiscard]] std::string to_string(const ConstantValue& value);

struct Constant {
  ConstantValue value;
  Span span{};
  /// Its value was faulty and has been reported; uses of it stay silent.
  bool poisoned = false;
};

using Constants = std::map<std::string, Constant, std::less<>>;

/// What an expression in a kernel can give: a scalar, a tensor (by its variable), a type, a layout
/// or a list of such values.
struct Value;
using ValueList = std::vector<Value>;
struct Value {
  std::variant<isa::Expr, isa::VarId, isa::DType, isa::RegisterLayout, isa::MemoryLayout, ValueList>
      node;
};

[[nodiscard]] Value to_value(const ConstantValue& constant, Span span);
/// Nothing if a part of the value is known only when the kernel runs.
[[nodiscard]] std::optional<ConstantValue> to_constant(const Value& value);

/// The names of a kernel, or of a function that is inlined into it: a stack of blocks. A name is a
/// variable of the kernel or stands for a value. A name whose statement was faulty is *poisoned*:
/// it exists, so that uses of it are not reported again.
class VariableScope {
 public:
  explicit VariableScope(isa::Kernel& kernel) : kernel_(kernel) { enter(); }

  struct Binding {
    isa::VarId var;                ///< not valid if the name stands for a value
    std::size_t depth = 0;         ///< nesting of the block that declared it; the outermost is 1
    const Value* value = nullptr;  ///< what the name stands for; of a variable, its constant value
    Span span{};
    [[nodiscard]] bool poisoned() const { return !var.valid() && value == nullptr; }
  };

  /// Begins a block; an expanded one is bound again for each element of a list.
  void enter(bool is_expanded = false) { blocks_.push_back({{}, is_expanded}); }
  void leave();
  /// Ends a block that is not part of the kernel. Names that exist only there stay known to other
  /// such blocks.
  void leave_excluded();
  [[nodiscard]] std::size_t depth() const { return blocks_.size(); }

  /// The innermost meaning of a name.
  [[nodiscard]] std::optional<Binding> find(std::string_view name) const;
  /// Where a name was assigned in a block that has ended.
  [[nodiscard]] std::optional<Span> ended(std::string_view name) const;
  /// Where a name was assigned in a block that is not part of the kernel.
  [[nodiscard]] std::optional<Span> excluded(std::string_view name) const;

  /// Adds a variable to the kernel and to the innermost block.
  isa::VarId declare(std::string name, isa::Type type, Span span);
  /// Adds a variable that no name of the program means.
  isa::VarId declare_temporary(std::string name, isa::Type type, Span span);
  /// Lets a name of the innermost block mean an existing variable, a value, or both: a variable
  /// whose constant value is known.
  void bind(const std::string& name, isa::VarId var, Span span);
  void bind(const std::string& name, Value value, Span span);
  void set_value(const std::string& name, Value value);
  /// Whether what happens in the innermost block happens whenever the block at `depth` runs.
  [[nodiscard]] bool is_certain(std::size_t depth) const;
  void poison(const std::string& name);
  void rename(isa::VarId var, std::string name, Span span);

  [[nodiscard]] const isa::Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const isa::Variable& variable(isa::VarId var) const {
    return kernel_.variable(var);
  }
  [[nodiscard]] std::vector<std::string> names() const;

  int exclusions = 0;  ///< enclosing blocks that are not part of the kernel

 private:
  struct Entry {
    isa::VarId var{};
    std::shared_ptr<const Value> value{};
    Span span{};
    bool excluded = false;
  };
  using Names = std::map<std::string, Entry, std::less<>>;

  struct Block {
    Names names;
    bool is_expanded = false;
  };

  isa::Kernel& kernel_;
  std::vector<Block> blocks_;
  std::map<std::string, Span, std::less<>> ended_;
};

/// What a file defines besides constants, by name.
struct Functions {
  std::map<std::string, const ast::Function*, std::less<>> by_name;
  std::set<std::string, std::less<>> kernels;
};

/// What the binder is about to do or to make.
struct Cost {
  std::size_t steps = 0;
  std::size_t bytes = 0;
};

/// Adds the statements that expressions need to a kernel.
class Emitter {
 public:
  Emitter() = default;
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  virtual ~Emitter() = default;

  /// The variable of a tensor that an expression gives; nothing after a report.
  virtual std::optional<isa::VarId> tensor(const ast::Expr& expr) = 0;
  /// What an inlined call returns; nothing after a report.
  virtual std::optional<ValueList> call(const ast::Function& function, const ast::Call& call,
                                        Span span) = 0;
  /// Counts the work of expanding lists; false after a report that it is too much.
  virtual bool spend(Cost cost, Span span) = 0;
  /// What the program says there, on one line, for messages.
  [[nodiscard]] virtual std::string text(Span span) const = 0;
};

/// What a name that is not known should have meant, for suggestions.
enum class Wanted : std::uint8_t {
  anything,
  scalar,
  number,  ///< a register tile or a scalar
  dtype,
  layout,
  list,
  tensor,  ///< any of the following
  tile,
  shared,
  view,
  pointer,
  barrier
};

/// The names that an expression may use. `variables` is null where only constants are permitted,
/// `emitter` where no statements can be added.
struct BindScope {
  const Constants& constants;
  VariableScope* variables;
  Diagnostics& diagnostics;
  const Functions* functions = nullptr;
  Emitter* emitter = nullptr;

  /// What a name means, variables before constants.
  struct Meaning {
    enum class Kind { unknown, poisoned, variable, value };
    Kind kind = Kind::unknown;
    isa::VarId var{};  ///< variable whose value is not known
    std::optional<Value> value;
    Span span{};
  };
  [[nodiscard]] Meaning lookup(std::string_view name, Span use) const;
  [[nodiscard]] const ast::Function* function(std::string_view name) const;
  /// Whether a name means anything here. Copies no value.
  [[nodiscard]] bool knows(std::string_view name) const;
  /// Counts work where that is possible; false after a report.
  [[nodiscard]] bool spend(Cost cost, Span span) const {
    return emitter == nullptr || emitter->spend(cost, span);
  }

  /// Reports an unknown name with the nearest known one that means what is wanted; silent for a
  /// poisoned one.
  void report_unknown(std::string_view name, Span span, Wanted wanted) const;

  /// What scalar expressions are bound for: the operands of an operator whose result is a tile are
  /// tiles.
  Wanted scalars = Wanted::scalar;

  /// The names whose meaning is of this kind, and those that were reported.
  [[nodiscard]] std::vector<std::string> names_of(Wanted wanted) const;
};

}  // namespace tilevm::frontend
