// What a name may mean while a tree is bound: constants of the file and variables of a kernel.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/inst/expr.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/program/program.h"
#include "isa/type/dtype.h"

namespace tilevm::frontend {

/// The value of a constant.
using ConstantValue = std::variant<isa::Scalar, isa::DType, isa::RegisterLayout, isa::MemoryLayout>;

/// "an integer", "a type", "a layout" ... for messages.
[[nodiscard]] std::string_view kind_name(const ConstantValue& value);

struct Constant {
  ConstantValue value;
  Span span{};
  /// Its value was faulty and has been reported; uses of it stay silent.
  bool poisoned = false;
};

using Constants = std::map<std::string, Constant, std::less<>>;

/// The variables of a kernel by name: a stack of blocks. A name whose statement was faulty is
/// *poisoned*: it exists, so that uses of it are not reported again.
class VariableScope {
 public:
  explicit VariableScope(isa::Kernel& kernel) : kernel_(kernel) { enter(); }

  struct Binding {
    isa::VarId var;
    std::size_t depth = 0;  ///< of the block that declared it; the kernel's own block is 1
    [[nodiscard]] bool poisoned() const { return !var.valid(); }
  };

  void enter() { blocks_.emplace_back(); }
  void leave();
  [[nodiscard]] std::size_t depth() const { return blocks_.size(); }

  /// The innermost variable of that name.
  [[nodiscard]] std::optional<Binding> find(std::string_view name) const;
  /// Where a name was assigned in a block that has ended.
  [[nodiscard]] std::optional<Span> ended(std::string_view name) const;

  /// Adds a variable to the kernel and to the innermost block.
  isa::VarId declare(std::string name, isa::Type type, Span span);
  void poison(const std::string& name);

  [[nodiscard]] const isa::Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const isa::Variable& variable(isa::VarId var) const {
    return kernel_.variable(var);
  }
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  isa::Kernel& kernel_;
  std::vector<std::map<std::string, isa::VarId, std::less<>>> blocks_;
  std::map<std::string, Span, std::less<>> ended_;
};

/// The names that an expression may use. `variables` is null where only constants are permitted.
struct BindScope {
  const Constants& constants;
  const VariableScope* variables;
  Diagnostics& diagnostics;

  /// Reports an unknown name with the nearest known one; silent for a poisoned one.
  void report_unknown(std::string_view name, Span span) const;
};

}  // namespace tilevm::frontend
