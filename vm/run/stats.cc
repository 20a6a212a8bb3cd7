#include "vm/run/stats.h"
#include "isa/base/origin.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "vm/text/table.h"

namespace tilevm::vm {
namespace {

using sim::AccessCount;
using sim::StatementCount;
using sim::Traffic;

std::string ratio(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  return fmt::format("{:.2f}", static_cast<double>(part) / static_cast<double>(whole));
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

bool is_empty(const AccessCount& count) { return count == AccessCount{}; }

bool has_atomics(const sim::Counters& counters, bool global) {
  for (const StatementCount& statement : counters.statements) {
    for (std::size_t t = 0; t < sim::traffic_count; ++t) {
      const bool here = sim::is_global(static_cast<Traffic>(t)) == global;
      if (here && statement.accesses[t].atomics > 0) return true;
    }
  }
  return false;
}

/// One table of the accesses to global or to shared memory.
std::string access_table(const isa::VerifiedProgram& program, const sim::Counters& counters,
                         bool global) {
  Table table;
  table.add({global ? "global memory" : "shared memory", "at", "executed", "bytes", "requests",
             global ? "sectors" : "wavefronts", "per request", "ideal",
             global ? "used" : "conflicts"});
  const bool atomics = has_atomics(counters, global);
  if (atomics) table.extend("atomics");
  for (const StatementCount& statement : counters.statements) {
    for (std::size_t t = 0; t < sim::traffic_count; ++t) {
      const AccessCount& count = statement.accesses[t];
      if (is_empty(count) || sim::is_global(static_cast<Traffic>(t)) != global) continue;
      table.add({std::string(mnemonic(statement.instruction)), location_of(program, statement.span),
                 grouped(statement.executions), grouped(count.bytes), grouped(count.requests),
                 grouped(count.transfers), ratio(count.transfers, count.requests),
                 grouped(count.ideal),
                 global ? percent(count.ideal, count.transfers)
                        : grouped(count.transfers - count.ideal)});
      if (atomics) table.extend(grouped(count.atomics));
    }
  }
  return table.has_rows() ? table.text() : "";
}

std::string mma_table(const isa::VerifiedProgram& program, const sim::Counters& counters) {
  Table table;
  table.add({"tensor cores", "at", "executed", "shape and types (D.A.B.C)", "instructions"});
  for (const StatementCount& statement : counters.statements) {
    if (statement.mma.empty()) continue;
    table.add({std::string(mnemonic(statement.instruction)), location_of(program, statement.span),
               grouped(statement.executions), statement.mma, grouped(statement.mma_instructions)});
  }
  return table.has_rows() ? table.text() : "";
}

std::string special_function_table(const isa::VerifiedProgram& program,
                                   const sim::Counters& counters) {
  Table table;
  table.add({"special function unit", "at", "executed", "instructions"});
  for (const StatementCount& statement : counters.statements) {
    if (statement.special_functions == 0) continue;
    table.add({std::string(mnemonic(statement.instruction)), location_of(program, statement.span),
               grouped(statement.executions), grouped(statement.special_functions)});
  }
  return table.has_rows() ? table.text() : "";
}

std::string instruction_mix(const sim::Counters& counters) {
  std::string text;
  for (std::size_t i = 0; i < counters.instructions.size(); ++i) {
    if (counters.instructions[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", mnemonic(i),
                        grouped(counters.instructions[i]));
  }
  return text;
}

/// The statement that moves most beyond what it needs.
std::string waste(const isa::VerifiedProgram& program, const sim::Counters& counters, bool global) {
  const StatementCount* worst = nullptr;
  AccessCount worst_count;
  for (const StatementCount& statement : counters.statements) {
    for (std::size_t t = 0; t < sim::traffic_count; ++t) {
      const AccessCount& count = statement.accesses[t];
      if (sim::is_global(static_cast<Traffic>(t)) != global || count.transfers <= count.ideal) {
        continue;
      }
      if (worst != nullptr &&
          count.transfers - count.ideal <= worst_count.transfers - worst_count.ideal) {
        continue;
      }
      worst = &statement;
      worst_count = count;
    }
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "  most wasted in {} memory: {} at {} takes {} times the {} it needs\n",
      global ? "global" : "shared", mnemonic(worst->instruction), location_of(program, worst->span),
      ratio(worst_count.transfers, worst_count.ideal), global ? "sectors" : "wavefronts");
}

Json count_json(Traffic traffic, const AccessCount& count) {
  Json object = Json::object();
  object.set("requests", count.requests).set("bytes", count.bytes);
  object.set(sim::is_global(traffic) ? "sectors" : "wavefronts", count.transfers);
  object.set(sim::is_global(traffic) ? "ideal_sectors" : "ideal_wavefronts", count.ideal);
  if (traffic == Traffic::global_copy) object.set("looked_up_sectors", count.lookups);
  if (!sim::is_global(traffic)) object.set("bank_conflicts", count.transfers - count.ideal);
  object.set("atomics", count.atomics);
  return object;
}

/// One member for each kind of traffic; only those that there are if `all` is false.
Json accesses_json(const sim::AccessCounts& accesses, bool all) {
  Json object = Json::object();
  for (std::size_t t = 0; t < sim::traffic_count; ++t) {
    if (!all && is_empty(accesses[t])) continue;
    object.set(std::string(to_string(static_cast<Traffic>(t))),
               count_json(static_cast<Traffic>(t), accesses[t]));
  }
  return object;
}

Json statements_json(const isa::VerifiedProgram& program, const sim::Counters& counters) {
  Json array = Json::array();
  for (const StatementCount& statement : counters.statements) {
    const LineColumn at = program.source().locate(statement.span.begin);
    Json object = Json::object();
    object.set("line", at.line).set("column", at.column);
    if (const auto origin = origin_at(program.source(), statement.span.begin)) {
      object.set("origin", fmt::format("{}:{}", origin->file, origin->line));
    }
    object.set("instruction", mnemonic(statement.instruction));
    object.set("executions", statement.executions);
    object.set("accesses", accesses_json(statement.accesses, false));
    if (!statement.mma.empty()) {
      object.set("mma", statement.mma).set("mma_instructions", statement.mma_instructions);
    }
    if (statement.special_functions > 0) {
      object.set("special_functions", statement.special_functions);
    }
    array.push(std::move(object));
  }
  return array;
}

}  // namespace

void add_launch(std::vector<KernelStats>& kernels, int kernel, const sim::Counters& counters) {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelStats& stats) { return stats.kernel == kernel; });
  if (found == kernels.end()) {
    kernels.push_back({kernel, 1, counters});
    return;
  }
  ++found->launches;
  found->counters += counters;
}

sim::AccessCounts total_accesses(const sim::Counters& counters) {
  sim::AccessCounts total{};
  for (const StatementCount& statement : counters.statements) total += statement.accesses;
  return total;
}

std::string stats_table(const isa::VerifiedProgram& program, const KernelStats& stats) {
  const sim::Counters& counters = stats.counters;
  std::string text =
      fmt::format("{}: {} block{} of {} thread{} in {} launch{}\n",
                  program.kernel(stats.kernel).name, grouped(counters.blocks),
                  counters.blocks == 1 ? "" : "s", program.info(stats.kernel).num_threads,
                  program.info(stats.kernel).num_threads == 1 ? "" : "s", stats.launches,
                  stats.launches == 1 ? "" : "es");
  for (const bool global : {true, false}) text += access_table(program, counters, global);
  text += mma_table(program, counters);
  text += special_function_table(program, counters);
  text += fmt::format("  executed by blocks: {}\n", instruction_mix(counters));
  for (const bool global : {true, false}) text += waste(program, counters, global);
  return text;
}

Json stats_json(const isa::VerifiedProgram& program, const KernelStats& stats) {
  const sim::Counters& counters = stats.counters;
  Json mix = Json::object();
  for (std::size_t i = 0; i < counters.instructions.size(); ++i) {
    if (counters.instructions[i] == 0) continue;
    mix.set(std::string(mnemonic(i)), counters.instructions[i]);
  }
  std::map<std::string, std::uint64_t> by_shape;
  std::uint64_t special_functions = 0;
  for (const StatementCount& statement : counters.statements) {
    if (!statement.mma.empty()) by_shape[statement.mma] += statement.mma_instructions;
    special_functions += statement.special_functions;
  }
  Json tensor_cores = Json::object();
  for (const auto& [shape, count] : by_shape) tensor_cores.set(shape, count);
  Json object = Json::object();
  object.set("kernel", program.kernel(stats.kernel).name).set("launches", stats.launches);
  object.set("blocks", counters.blocks).set("threads", program.info(stats.kernel).num_threads);
  object.set("steps", counters.steps).set("instructions", std::move(mix));
  object.set("tensor_cores", std::move(tensor_cores));
  object.set("special_functions", special_functions);
  object.set("totals", accesses_json(total_accesses(counters), true));
  object.set("statements", statements_json(program, counters));
  return object;
}

Json run_stats_json(const isa::VerifiedProgram& program, const Engine& engine,
                    const RunReport& report) {
  Json stats = Json::object();
  stats.set("device", engine.device()).set("compiler", engine.compiler());
  stats.set("prepare_ms", report.prepare_milliseconds);
  stats.set("blocks", report.blocks).set("steps", report.steps);
  Json kernels = Json::array();
  for (const KernelStats& kernel : report.kernels) kernels.push(stats_json(program, kernel));
  return std::move(stats.set("kernels", std::move(kernels)));
}

}  // namespace tilevm::vm
