// What a block does with the check of its order (order_check.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "backend/emu/block_machine.h"

namespace tilevm::backend {

void BlockMachine::check_order(emu::Lane* lane, OrderCheck::Problem problem, unsigned line) {
  if (!problem) return;
  stop(lane, EmuFault::Kind::order, std::move(problem->message), line, problem->earlier);
}

void BlockMachine::note_passing(unsigned barrier, const std::vector<unsigned>& waiting,
                                const emu::Lane* last) {
  if (!order_) return;
  std::vector<unsigned> warps;
  for (const unsigned thread : waiting) warps.push_back(thread / warp_size);
  if (last != nullptr) warps.push_back(last->thread / warp_size);
  std::sort(warps.begin(), warps.end());
  warps.erase(std::unique(warps.begin(), warps.end()), warps.end());
  order_->complete(barrier, warps);
}

BlockMachine::Outcome BlockMachine::end() {
  for (unsigned thread = 0; thread < launch_.threads; ++thread) stores_.finish(thread);
  OrderCheck::Problem problem = order_ ? order_->end() : std::nullopt;
  if (!problem) return Outcome::ended;
  fault_ = EmuFault{EmuFault::Kind::order, std::move(problem->message), 0, index_, 0};
  fault_->earlier = problem->earlier;
  return Outcome::faulted;
}

}  // namespace tilevm::backend
