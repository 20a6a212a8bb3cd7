#include "backend/compile/ptxas_faults.h"

#include <fmt/format.h>

namespace tilevm::backend {

const std::vector<PtxasFault>& ptxas_faults() {
  static const std::vector<PtxasFault> faults = {
      {12030, 12040, "triton#2941", "all GPUs",
       "a LOP3 with a predicate becomes a PRMT, which has none"},
      {12080, 13000, "triton#9756", "sm_89", "PTX that triton#7067 brought gives wrong code"},
      {12080, 13010, "flash-linear-attention#1262", "sm_90a",
       "loops around wgmma give wrong sums or write past shared memory"},
      {12080, 13030, "triton#9433", "sm_90a",
       "registers that a wgmma still reads as its operand A are written"},
      {12090, 13030, "triton#11581", "sm_90 and newer",
       "of two packed 16-bit sums of one register the second loses its constant"},
      {12080, 0, "pytorch#190973", "sm_100 and newer",
       "max(abs(x), y) of integers loses the abs when three become one VIMNMX3"},
      {13000, 0, "llama.cpp#19168", "sm_120 and sm_121", "kernels of MXFP4 products crash"},
      {13020, 13030, "llama.cpp#28784", "all GPUs",
       "a byte of a word that is read through a pointer to bytes keeps the word's other bits",
       13020},
      {13030, 0, "cccl#10958", "all GPUs",
       "a comparison of 16-bit values that came by shuffles is merged with its neighbour"},
  };
  return faults;
}

std::vector<PtxasFault> ptxas_faults_of(int version) {
  std::vector<PtxasFault> own;
  for (const PtxasFault& fault : ptxas_faults()) {
    const bool is_fixed = fault.fixed != 0 && version >= fault.fixed;
    const bool is_older = version < fault.brought || (fault.fixed == 0 && version < fault.seen);
    if (!is_fixed && !is_older) own.push_back(fault);
  }
  return own;
}

std::string describe_faults(const std::vector<PtxasFault>& faults) {
  std::string text;
  for (const PtxasFault& fault : faults) {
    text += fmt::format("{}{} ({}): {}", text.empty() ? "" : "; ", fault.report, fault.code,
                        fault.what);
  }
  return text;
}

}  // namespace tilevm::backend
