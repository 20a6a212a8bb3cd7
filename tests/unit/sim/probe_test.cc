// The simulator's probes: sums that follow from what was written, whatever runs it and how.
#include <doctest/doctest.h>

#include <numeric>

#include "isa/analysis/statements.h"
#include "tests/unit/sim/running.h"

namespace tilevm::sim {
namespace {

using testing::buffer;
using testing::load;

constexpr const char* program_text = R"(def probed<3>(i32* x_ptr, i32* y_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[3, 64]), layout=spatial(32).local(2), offset=[b, 0:])
    for i in range(2):
        x = Add(x, x)
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[3, 64]), offset=[b, 0:])
)";

/// Every statement that has a value, every loop, and the store.
isa::ProbePlan plan_for(const isa::VerifiedProgram& program) {
  isa::ProbePlan plan(isa::Statements(program.kernel(0)).size());
  isa::for_each_statement(program.kernel(0).body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    const bool view = inst != nullptr && std::holds_alternative<isa::ViewGlobal>(inst->inst);
    if (!view) plan[stmt.id()] = isa::ProbeMode::records;
  });
  return plan;
}

isa::ProbeLog run_with(const isa::VerifiedProgram& program, const isa::ProbePlan& plan,
                       const isa::ProbeWindow& window, Options options = {.threads = 1}) {
  std::vector<std::int32_t> values(192);
  std::iota(values.begin(), values.end(), 0);
  std::vector<Buffer> memory = {buffer("x", values), buffer("y", std::vector<std::int32_t>(192))};
  isa::ProbeLog log;
  log.window = window;
  options.probes = {&plan, &log};
  testing::run_well(program, {0, 1}, memory, options);
  return log;
}

constexpr isa::ProbeWindow everything{.first_block = 0, .blocks = 100, .records = 100};

}  // namespace

TEST_CASE("sums are those of the elements, the scalars and the words of memory") {
  const auto program = load(program_text);
  const isa::ProbePlan plan = plan_for(program);
  const isa::ProbeLog log = run_with(program, plan, everything);
  REQUIRE(log.blocks.size() == 3);
  const std::vector<isa::ProbeRecord>& records = log.blocks[1].records;
  REQUIRE(records.size() == 7);  // b, x, (i, x) twice, the store
  std::uint64_t scalar = 0, tile = 0, stored = 0;
  for (std::uint64_t t = 0; t < 32; ++t) scalar += isa::probe_scalar(t, 1);
  for (std::uint64_t k = 0; k < 64; ++k) {
    tile += isa::probe_element(k, 64 + k);
    stored += isa::probe_word(isa::probe_address(1, (64 + k) * 4), ~0U,
                              static_cast<std::uint32_t>(4 * (64 + k)));
  }
  CHECK(records[0].sum == scalar);
  CHECK(records[1].sum == tile);
  CHECK(records[3].sum == 2 * tile);
  CHECK(records[5].sum == 4 * tile);
  CHECK(records[6].sum == stored);
  CHECK(records[2].statement == records[4].statement);
}

TEST_CASE("host threads and the order of blocks change no record") {
  const auto program = load(program_text);
  const isa::ProbePlan plan = plan_for(program);
  const isa::ProbeLog one = run_with(program, plan, everything);
  Options options{.threads = 3};
  options.block_order = {BlockOrder::Kind::random, 5};
  const isa::ProbeLog other = run_with(program, plan, everything, options);
  for (std::size_t b = 0; b < 3; ++b) {
    REQUIRE(one.blocks[b].records.size() == other.blocks[b].records.size());
    for (std::size_t i = 0; i < one.blocks[b].records.size(); ++i) {
      CHECK(one.blocks[b].records[i].sum == other.blocks[b].records[i].sum);
    }
  }
}

TEST_CASE("a window holds its blocks and records; the rest is one sum") {
  const auto program = load(program_text);
  const isa::ProbePlan plan = plan_for(program);
  const isa::ProbeLog all = run_with(program, plan, everything);
  const isa::ProbeLog log = run_with(program, plan, {.first_block = 2, .blocks = 5, .records = 4});
  REQUIRE(log.blocks.size() == 1);
  CHECK(log.blocks[0].records.size() == 4);
  CHECK(log.blocks[0].count == 7);
  const auto& records = all.blocks[2].records;
  CHECK(log.blocks[0].rest == records[4].sum + records[5].sum + records[6].sum);
}

TEST_CASE("a loop ends with the records of what it adds up, however it ends") {
  const auto program = load(R"(def probed<3>(i32* x_ptr, i32* y_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[3, 64]), layout=spatial(32).local(2), offset=[b, 0:])
    for i in range(2):
        if i + b > 2:
            break
        x = Add(x, x)
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[3, 64]), offset=[b, 0:])
)");
  isa::ProbePlan each = plan_for(program), at_end = each;
  isa::StmtId loop, sum;
  isa::for_each_statement(program.kernel(0).body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (std::holds_alternative<isa::ForStmt>(stmt.node)) loop = stmt.id();
    if (inst != nullptr && std::holds_alternative<isa::Add>(inst->inst)) sum = stmt.id();
  });
  at_end.record_after({loop, sum});
  const isa::ProbeLog a = run_with(program, each, everything),
                      b = run_with(program, at_end, everything);
  for (std::size_t block = 0; block < 3; ++block) {
    std::vector<std::uint64_t> sums, after;
    for (const auto& record : a.blocks[block].records) {
      if (record.statement == static_cast<std::uint32_t>(sum.index)) sums.push_back(record.sum);
    }
    for (const auto& record : b.blocks[block].records) {
      if (record.statement == static_cast<std::uint32_t>(sum.index)) after.push_back(record.sum);
    }
    CHECK(sums.size() == (block == 2 ? 1 : 2));
    REQUIRE(after.size() == 1);
    CHECK(after[0] == sums.back());
    // The store is the last record of both.
    CHECK(a.blocks[block].records.back().sum == b.blocks[block].records.back().sum);
  }
}

TEST_CASE("of a target the values, the operands and the scalars are kept") {
  const auto program = load(program_text);
  const isa::ProbePlan plan = plan_for(program);
  isa::ProbeWindow window = everything;
  window.target = {2, 5};
  const isa::ProbeLog log = run_with(program, plan, window);
  REQUIRE(log.dump.words.size() == 32);
  CHECK(log.dump.words[3] == std::vector<std::uint32_t>{4 * 134, 4 * 135});
  CHECK(log.dump.operands[3] == std::vector<std::uint32_t>{2 * 134, 2 * 135, 2 * 134, 2 * 135});
  window.target = {2, 6};
  const isa::ProbeLog store = run_with(program, plan, window);
  REQUIRE(store.dump.writes[3].size() == 2);
  CHECK(store.dump.writes[3][0] == isa::ProbeWrite{isa::probe_address(1, 134 * 4), ~0U, 4 * 134});
}

TEST_CASE("elements without a defined value mark their record") {
  const auto program = load(R"(def undefined<1>(i32* y_ptr):
    x = AllocateRegister(i32, layout=spatial(32))
    y = AllocateRegister(i32, layout=spatial(32), init=1)
    StoreGlobal(y, ViewGlobal(y_ptr, shape=[32]))
)");
  const isa::ProbePlan plan = plan_for(program);
  std::vector<Buffer> memory = {buffer("y", std::vector<std::int32_t>(32))};
  isa::ProbeLog log;
  log.window = everything;
  Options options{.threads = 1};
  options.probes = {&plan, &log};
  testing::run_well(program, {0}, memory, options);
  REQUIRE(log.blocks[0].records.size() == 3);
  CHECK(log.blocks[0].records[0].undefined);
  CHECK_FALSE(log.blocks[0].records[1].undefined);
}

}  // namespace tilevm::sim
