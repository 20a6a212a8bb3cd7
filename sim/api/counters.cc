#include "sim/api/counters.h"

#include "isa/base/check.h"

namespace tilevm::sim {

AccessCount& AccessCount::operator+=(const AccessCount& other) {
  requests += other.requests;
  bytes += other.bytes;
  transfers += other.transfers;
  lookups += other.lookups;
  ideal += other.ideal;
  atomics += other.atomics;
  return *this;
}

AccessCounts& operator+=(AccessCounts& counts, const AccessCounts& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other[i];
  return counts;
}

Counters& Counters::operator+=(const Counters& other) {
  TILEVM_CHECK(statements.size() == other.statements.size(),
               "counters of different kernels are added");
  blocks += other.blocks;
  steps += other.steps;
  for (std::size_t i = 0; i < instructions.size(); ++i) instructions[i] += other.instructions[i];
  for (std::size_t i = 0; i < statements.size(); ++i) {
    statements[i].executions += other.statements[i].executions;
    statements[i].accesses += other.statements[i].accesses;
    statements[i].mma_instructions += other.statements[i].mma_instructions;
    statements[i].special_functions += other.statements[i].special_functions;
  }
  return *this;
}

}  // namespace tilevm::sim
