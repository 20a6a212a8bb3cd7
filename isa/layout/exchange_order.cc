#include "isa/layout/exchange_order.h"

#include "isa/base/check.h"

namespace tilevm::isa {

ExchangeOrder exchange_order(const RegisterLayout& to) {
  ExchangeOrder order;
  order.holders = to.num_threads() / to.num_replicas();
  std::vector<std::int64_t> strides(to.mode_shape().size());
  std::int64_t stride = 1;
  for (const auto* modes : {&to.spatial_modes(), &to.local_modes()}) {
    for (auto mode = modes->rbegin(); mode != modes->rend(); ++mode) {
      if (*mode < 0) continue;
      const auto at = static_cast<std::size_t>(*mode);
      strides[at] = stride;
      stride *= to.mode_shape()[at];
    }
  }
  const auto layout = MemoryLayout::make(to.shape(), to.mode_shape(), strides);
  TILEVM_CHECK(layout.ok(), "the modes of a layout with other strides");
  order.elements = *layout;
  order.threads = to.thread_terms();
  stride = 1;
  for (auto term = order.threads.rbegin(); term != order.threads.rend(); ++term) {
    term->dim = 0;
    term->stride = stride;
    stride *= term->size;
  }
  return order;
}

}  // namespace tilevm::isa
