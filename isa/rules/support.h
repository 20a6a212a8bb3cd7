// What several type rules share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "isa/inst/limits.h"
#include "isa/rules/rules.h"

namespace tilevm::isa {

/// The position of a slot in its instruction's schema, from the data member.
template <class Inst, class Slot>
constexpr std::size_t position_of(Slot Inst::* member) {
  std::size_t position = 0;
  for_each_slot<Inst>([&](const auto& info, std::size_t i) {
    if constexpr (std::is_same_v<decltype(info.member), Slot Inst::*>) {
      if (info.member == member) position = i;
    }
  });
  return position;
}

/// Extents are positive and within the limits of a tensor; reports otherwise.
[[nodiscard]] bool check_extents(const Shape& extents, std::size_t slot,
                                 const RuleContext& context);

/// A register type within the limits of a tile.
[[nodiscard]] std::optional<RegisterType> make_tile(const DType& dtype,
                                                    const RegisterLayout& layout, std::size_t slot,
                                                    const RuleContext& context);

/// Adds "`x` is f16[..]" with the location where x was made.
void note_operand(Diagnostic& diagnostic, RegisterOperand operand, const RuleContext& context);

/// A shape that was given beside a layout agrees with it.
[[nodiscard]] bool check_shape_agrees(const std::optional<TileShape>& shape,
                                      const RegisterLayout& layout, std::size_t slot,
                                      const RuleContext& context);

/// The placement of a tile of `tile_rank` dimensions in a tensor is well formed.
[[nodiscard]] bool check_offset(const std::optional<OffsetList>& offset, int tensor_rank,
                                int tile_rank, std::size_t slot, const RuleContext& context);

/// The one dimension that a list names, of a tensor of this rank; nothing after a report.
[[nodiscard]] std::optional<int> one_dimension(const DimList& list, int rank, std::size_t slot,
                                               const RuleContext& context);

/// A tile that says where elements are has a type that may index.
[[nodiscard]] bool check_index_type(RegisterOperand index, std::size_t slot,
                                    const RuleContext& context);

/// Checks the offset of a tile that an index places, as check_offset does. Where the tensor has
/// rank 1 the tile may have any shape, since no dimension of the tensor is left.
[[nodiscard]] bool check_indexed_offset(const std::optional<OffsetList>& offset, int tensor_rank,
                                        int tile_rank, std::size_t slot,
                                        const RuleContext& context);

/// Strides of a view from the layout slot; nothing after a report.
[[nodiscard]] std::optional<GlobalLayout> view_layout(const std::optional<ViewLayout>& layout,
                                                      const std::vector<Expr>& extents,
                                                      std::size_t slot, const RuleContext& context);

/// The value of a constant condition, false if it is left out; nothing after a report.
[[nodiscard]] std::optional<bool> constant_flag(const std::optional<ScalarOperand>& flag,
                                                std::string_view name, std::size_t slot,
                                                const RuleContext& context);

/// The number of groups that a wait leaves in flight is a constant within limits; reports
/// otherwise.
[[nodiscard]] bool check_pending(const ScalarOperand& pending, std::size_t slot,
                                 const RuleContext& context);

/// An instruction that reaches other blocks of a cluster is in a kernel with a `@cluster(..)`, and
/// the target has clusters; reports otherwise.
[[nodiscard]] bool has_cluster(std::string_view what, const RuleContext& context);

/// The rank of a block of the cluster, if one is given: an integer, and a constant one is that of a
/// block.
[[nodiscard]] bool check_block_rank(const std::optional<ScalarOperand>& block, std::size_t slot,
                                    const RuleContext& context);

}  // namespace tilevm::isa
