// The control flow of a kernel between its statements.
//
// A loop or a branch is a node of its own, where its condition is evaluated: from a loop control
// goes to the first statement of the body or to what follows the loop, and from the end of the body
// back to the loop. `continue` goes to its loop, `break` to what follows it, `Exit` to the end of
// the kernel. Conditions are not evaluated: each has an edge for every outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/analysis/statements.h"

namespace tilevm::isa {

class FlowGraph {
 public:
  explicit FlowGraph(const Statements& statements);

  /// Statements by number, and the end of the kernel as one more node.
  [[nodiscard]] std::size_t nodes() const { return successors_.begins.size() - 1; }
  [[nodiscard]] std::int32_t end() const { return static_cast<std::int32_t>(nodes()) - 1; }
  [[nodiscard]] std::span<const std::int32_t> successors(std::int32_t node) const {
    return successors_.of(node);
  }
  [[nodiscard]] std::span<const std::int32_t> predecessors(std::int32_t node) const {
    return predecessors_.of(node);
  }

 private:
  struct Edge {
    std::int32_t from, to;
  };
  /// The targets of edges by their origin, one list after another.
  struct Lists {
    std::vector<std::size_t> begins;
    std::vector<std::int32_t> targets;
    [[nodiscard]] std::span<const std::int32_t> of(std::int32_t node) const {
      const auto n = static_cast<std::size_t>(node);
      return std::span(targets).subspan(begins[n], begins[n + 1] - begins[n]);
    }
  };
  [[nodiscard]] static Lists by_origin(std::size_t nodes, const std::vector<Edge>& edges);

  Lists successors_, predecessors_;
};

}  // namespace tilevm::isa
