#include "backend/engine/reported_faults.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tilevm::backend {
namespace {

constexpr std::array faults{
    ReportedFault{12090, 12090, 13030, 90, 90, "a second add.s16x2 loses its immediate",
                  "triton issue 11581"},
    ReportedFault{12080, 13000, 13010, 90, 90,
                  "kernels of linear attention give wrong numbers or store out of bounds",
                  "flash-linear-attention pull request 1262"},
    ReportedFault{
        13030, 13030, 0, 80, 121,
        "comparisons of two 16-bit values in one register, after shuffles of three words, "
        "are wrong for 0x8000",
        "cccl issue 10958"},
    ReportedFault{12080, 13030, 0, 100, 103,
                  "the greatest of an integer's absolute value and another loses the sign's change "
                  "(VIMNMX3)",
                  "pytorch issue 190973"},
    ReportedFault{13000, 13010, 0, 100, 103, "a product of 8-bit floats differs from run to run",
                  "pytorch issue 181248"},
    ReportedFault{12000, 12090, 13000, 89, 89, "a pipelined loop of Triton gives wrong numbers",
                  "triton pull request 9756"},
    ReportedFault{12090, 13020, 13030, 90, 90,
                  "registers of a wgmma's left operand are written before it has read them",
                  "triton issue 9433; release notes of CUDA 13.3"},
    ReportedFault{13000, 13000, 0, 120, 121, "kernels of mxfp4 products crash",
                  "llama.cpp pull request 19168"},
};

}  // namespace

std::span<const ReportedFault> reported_faults() { return faults; }

std::vector<ReportedFault> reported_faults(int version, int sm) {
  std::vector<ReportedFault> found;
  std::ranges::copy_if(faults, std::back_inserter(found), [&](const ReportedFault& each) {
    const bool is_right = each.right != 0 && version >= each.right;
    return version >= each.first_seen && !is_right && each.first_sm <= sm && sm <= each.last_sm;
  });
  return found;
}

}  // namespace tilevm::backend
