// Random trees that the parser could have made, for the printer's laws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed) : engine_(seed) {}

  ast::Program program() {
    ast::Program result;
    for (int i = below(5); i >= 0; --i) result.items.push_back(item());
    return result;
  }

  ast::Expr expression(int depth) {
    if (depth <= 0 || below(4) == 0) return leaf();
    switch (below(9)) {
      case 6:
        return {
            ast::Conditional{expression(depth - 1), expression(depth - 1), expression(depth - 1)},
            {}};
      case 7:
        return {index(depth), {}};
      case 8:
        return {comprehension(depth), {}};
      case 0:
      case 1:
        return {binary(depth), {}};
      case 2:
        return {unary(depth), {}};
      case 3:
        return {ast::Call{name(), arguments(depth)}, {}};
      case 4:
        return {ast::Method{expression(depth - 1), name(), arguments(depth)}, {}};
      default:
        return {list(depth), {}};
    }
  }

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }

 private:
  template <class T>
  const T& pick(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }

  ast::Identifier name() {
    return {pick<std::string>({"a", "b_1", "_", "acc", "LoadGlobal", "e5", "x0", "notx", "range",
                               "a_rather_long_name_that_makes_lines_break"}),
            {}};
  }

  ast::Expr leaf() {
    switch (below(6)) {
      case 0:
        return {ast::Bool{below(2) == 0}, {}};
      case 1:
        return {ast::String{pick<std::string>({"", "a, b", "\"#'\\", "\n\t\x01", "\xc3\xa9"})}, {}};
      case 2:
        return {pick<ast::Float>({{0.5, "0.5"}, {2, "2."}, {0.25, ".25"}, {1e-3, "1e-3"}}), {}};
      case 3:
        return {pick<ast::Integer>({{0, "0"}, {31, "0x1F"}, {1000, "1_000"}, {5, "0b101"}}), {}};
      default:
        return {ast::Name{name().text}, {}};
    }
  }

  ast::Unary unary(int depth) {
    return {static_cast<ast::UnaryOp>(below(4)), {}, expression(depth - 1)};
  }

  ast::Binary binary(int depth) {
    constexpr int operators = static_cast<int>(ast::BinaryOp::mod) + 1;
    return {static_cast<ast::BinaryOp>(below(operators)),
            {},
            expression(depth - 1),
            expression(depth - 1)};
  }

  ast::List list(int depth) {
    ast::List result;
    for (int i = below(4); i > 0; --i) {
      result.entries.push_back({expression(depth - 1), below(2) == 0, {}});
    }
    return result;
  }

  ast::Index index(int depth) {
    ast::Index result{expression(depth - 1), list(depth).entries};
    result.entries.push_back({expression(depth - 1), below(2) == 0, {}});
    return result;
  }

  ast::Comprehension comprehension(int depth) {
    ast::Comprehension result{expression(depth - 1), name(), expression(depth - 1), {}};
    if (below(2) == 0) result.condition = expression(depth - 1);
    return result;
  }

  std::vector<ast::Argument> arguments(int depth) {
    std::vector<ast::Argument> result;
    for (int i = below(5); i > 0; --i) {
      ast::Argument argument{{}, expression(depth - 1), {}};
      if (below(2) == 0) argument.name = name();
      result.push_back(std::move(argument));
    }
    return result;
  }

  std::vector<ast::Argument> some_arguments(int depth) {
    std::vector<ast::Argument> result = arguments(depth);
    result.push_back({{}, expression(depth - 1), {}});
    return result;
  }

  std::vector<ast::Expr> expressions(int least, int most, int depth) {
    std::vector<ast::Expr> result;
    for (int i = least + below(most - least + 1); i > 0; --i) result.push_back(expression(depth));
    return result;
  }

  std::vector<ast::Identifier> names() {
    std::vector<ast::Identifier> result{name()};
    while (below(3) == 0) result.push_back(name());
    return result;
  }

  ast::Block block(int depth) {
    ast::Block result;
    for (int i = below(3); i >= 0; --i) {
      result.push_back({statement(depth), {}, below(3) == 0});
    }
    return result;
  }

  ast::StmtNode statement(int depth) {
    switch (below(depth > 0 ? 11 : 7)) {
      case 0:
        return ast::Assign{names(), {}, expression(3)};
      case 5:
        return ast::Assign{{name()}, expression(2), expression(3)};
      case 6:
        return ast::Return{expressions(0, 2, 3)};
      case 7:
        return ast::For{names(), {}, ast::Expr{list(2), {}}, block(depth - 1)};
      case 1:
        return ast::ExprStmt{{ast::Call{name(), arguments(3)}, {}}};
      case 2:
        return ast::Break{};
      case 3:
        return ast::Continue{};
      case 4:
        return ast::Pass{};
      case 8:
        return ast::For{names(), some_arguments(2), {}, block(depth - 1)};
      case 9:
        return ast::While{expression(3), block(depth - 1)};
      default:
        return branch(depth);
    }
  }

  ast::If branch(int depth) {
    ast::If result;
    for (int i = below(3); i >= 0; --i) {
      result.arms.push_back({expression(2), block(depth - 1), {}});
    }
    if (below(2) == 0) result.else_body = block(depth - 1);
    return result;
  }

  ast::Item item() {
    switch (below(6)) {
      case 4:
        return {function(), {}, below(2) == 0};
      case 5:
        return {ast::Include{pick<std::string>({"a.tile", "../std/\"b\".tile"}), {}, {}},
                {},
                below(2) == 0};
      case 0:
        return {constant(), {}, below(2) == 0};
      case 1:
        return {requirement(), {}, below(2) == 0};
      case 2:
        return {kernel(), {}, below(2) == 0};
      default:
        return {pipeline(), {}, below(2) == 0};
    }
  }

  ast::ConstDecl constant() {
    ast::ConstDecl result;
    result.names = names();
    for (std::size_t i = 0; i < result.names.size(); ++i) result.values.push_back(expression(3));
    if (below(2) == 0) result.annotation = name();
    if (result.names.size() == 1 && below(2) == 0) result.choices = expressions(1, 3, 2);
    return result;
  }

  ast::Require requirement() {
    ast::Require result{expression(3), {}};
    if (below(2) == 0) result.message = "must \"hold\"";
    return result;
  }

  ast::Kernel kernel() {
    ast::Kernel result;
    for (int i = below(3); i > 0; --i) result.decorators.push_back({name(), arguments(2), {}});
    result.name = name();
    result.grid = expressions(1, 3, 3);
    for (int i = below(4); i > 0; --i) {
      result.params.push_back({{ast::Name{"f16"}, {}}, below(2) == 0, name(), {}});
    }
    result.body = block(3);
    return result;
  }

  ast::Function function() {
    ast::Function result;
    result.name = name();
    for (int i = below(4); i > 0; --i) {
      ast::FunctionParam param{name(), {}, {}, {}};
      if (below(2) == 0) param.kind = name();
      if (below(2) == 0) param.fallback = expression(2);
      result.params.push_back(std::move(param));
    }
    for (int i = below(3); i > 0; --i) result.results.push_back(name());
    result.body = block(3);
    return result;
  }

  std::vector<ast::PipelineParam> tensors() {
    std::vector<ast::PipelineParam> result;
    for (int i = below(3); i > 0; --i) {
      ast::PipelineParam param{below(3) == 0, name(), {ast::Name{"i6"}, {}}, {}, {}};
      if (below(3) != 0) param.shape = expressions(1, 3, 2);
      result.push_back(std::move(param));
    }
    return result;
  }

  ast::Pipeline pipeline() { return {name(), tensors(), tensors(), block(1)}; }

  std::mt19937_64 engine_;
};

}  // namespace tilevm::frontend
