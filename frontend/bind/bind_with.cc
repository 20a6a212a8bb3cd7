// Groups of warps: `with warps(begin, end, registers=n):`, `with single_warp():` and
// `with single_thread():`.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frontend/bind/bind_body.h"
#include "frontend/bind/expressions.h"
#include "isa/base/suggest.h"

namespace tilevm::frontend {
namespace {

constexpr std::string_view warps_word = "warps", single_warp_word = "single_warp",
                           single_thread_word = "single_thread";

/// Which warps a group is, without its statements; nothing after a report.
class GroupHeader {
 public:
  GroupHeader(const ast::With& tree, Span span, const BindScope& scope)
      : tree_(tree), span_(span), scope_(scope) {}

  std::optional<isa::WarpGroup> bind() {
    isa::WarpGroup group;
    group.span = span_;
    const std::string& word = tree_.group.text;
    if (word == warps_word) return bind_warps(group);
    if (word != single_warp_word && word != single_thread_word) return unknown();
    group.elects = word == single_thread_word;
    if (tree_.args.empty()) return group;
    error(Code::too_many_operands, tree_.args[0].span, fmt::format("`{}()` takes none", word));
    return std::nullopt;
  }

 private:
  std::optional<isa::WarpGroup> bind_warps(isa::WarpGroup group) {
    std::array<std::optional<std::int64_t>, 2> bounds;
    for (const ast::Argument& argument : tree_.args) {
      const std::string name = argument.name ? argument.name->text : "";
      std::optional<std::int64_t>* const slot = slot_of(name, bounds, group.registers);
      if (slot == nullptr) {
        error(name.empty() ? Code::too_many_operands : Code::unknown_operand, argument.span,
              "`warps` takes the first warp, the one past the last, and `registers=` of each "
              "thread");
        return std::nullopt;
      }
      if (slot->has_value()) {
        error(Code::duplicate_operand, argument.span, fmt::format("`{}` is given twice", name));
        return std::nullopt;
      }
      *slot = bind_integer(argument.value, scope_);
      if (!slot->has_value()) return std::nullopt;
    }
    if (!bounds[0] || !bounds[1]) {
      error(Code::missing_operand, span_, "a group needs its warps: `warps(begin, end)`");
      return std::nullopt;
    }
    if (*bounds[0] < 0 || *bounds[1] <= *bounds[0]) {
      error(Code::bad_group, span_,
            fmt::format("`warps({}, {})` is not a group: it begins with a warp from 0 on and "
                        "ends before a later one",
                        *bounds[0], *bounds[1]));
      return std::nullopt;
    }
    group.first_warp = *bounds[0];
    group.warps = *bounds[1] - *bounds[0];
    return group;
  }

  static std::optional<std::int64_t>* slot_of(const std::string& name,
                                              std::array<std::optional<std::int64_t>, 2>& bounds,
                                              std::optional<std::int64_t>& registers) {
    if (name == "begin") return &bounds[0];
    if (name == "end") return &bounds[1];
    if (name == "registers") return &registers;
    if (!name.empty()) return nullptr;
    return !bounds[0] ? &bounds[0] : !bounds[1] ? &bounds[1] : nullptr;
  }

  std::optional<isa::WarpGroup> unknown() {
    const std::vector<std::string> known{std::string(warps_word), std::string(single_warp_word),
                                         std::string(single_thread_word)};
    error(Code::bad_group, tree_.group.span,
          fmt::format("`{}` is not a group of warps; there are `warps(begin, end)`, "
                      "`single_warp()` and `single_thread()`",
                      tree_.group.text))
        .fix = nearest(tree_.group.text, known);
    return std::nullopt;
  }

  Diagnostic& error(Code code, Span span, std::string message) const {
    return scope_.diagnostics.error(code, span, std::move(message));
  }

  const ast::With& tree_;
  Span span_;
  const BindScope& scope_;
};

bool share_warps(const isa::WarpGroup& a, const isa::WarpGroup& b) {
  return a.first_warp < b.first_warp + b.warps && b.first_warp < a.first_warp + a.warps;
}

/// The fork that the last statement of a block is, if a group may run beside its groups.
isa::ForkStmt* fork_beside(isa::Block& block, const isa::WarpGroup& group) {
  auto* const fork = block.empty() ? nullptr : std::get_if<isa::ForkStmt>(&block.back().node);
  if (fork == nullptr) return nullptr;
  const bool apart = std::none_of(fork->groups.begin(), fork->groups.end(),
                                  [&](const auto& each) { return share_warps(each, group); });
  return apart ? fork : nullptr;
}

}  // namespace

/// Groups that follow one another and have no warp in common run at the same time.
void BodyBinder::bind_stmt(const ast::With& stmt, Span span) {
  auto group = GroupHeader(stmt, span, scope_).bind();
  std::vector<bool> outside;
  std::swap(loops_, outside);
  isa::Block body = nested_block(stmt.body);
  std::swap(loops_, outside);
  if (!group) return;
  group->body = std::move(body);
  if (isa::ForkStmt* const fork = fork_beside(*builder_.block, *group)) {
    fork->groups.push_back(*std::move(group));
    return;
  }
  isa::ForkStmt fork;
  fork.groups.push_back(*std::move(group));
  builder_.emit(std::move(fork), span);
}

}  // namespace tilevm::frontend
