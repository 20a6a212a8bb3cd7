// Every kind of instruction: the emitted code of one statement is changed, and --bisect must name
// this statement, the element and the thread, in one run of each engine and a second one for the
// values. The programs are tests/data/seeded_differences.tile, and a kernel that is made here for
// each instruction that works element by element.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "backend/select/select.h"
#include "isa/analysis/statements.h"
#include "isa/inst/product.h"
#include "tests/unit/vm/commands_support.h"
#include "tests/unit/vm/seeded_difference.h"
#include "vm/diff/bisect_render.h"
#include "vm/diff/bundle.h"
#include "vm/run/load.h"
#include "vm/run/make_engine.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

Loaded load_text(const std::string& text) {
  const auto source = std::make_shared<const SourceFile>("seeded.tile", text);
  return load(source, {}, *isa::parse_target("sm_120a"));  // which has every instruction
}

// --- Kernels for instructions that work element by element ---------------------------------------

/// A kernel that applies an instruction to tiles of these types.
std::string elementwise_kernel(std::string_view mnemonic, const std::vector<std::string>& types,
                               const std::string& result) {
  std::string parameters, loads, operands;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const char name = static_cast<char>('a' + i);
    parameters += fmt::format("{}* {}_ptr, ", types[i], name);
    loads += fmt::format(
        "    {0} = LoadGlobal(ViewGlobal({0}_ptr, shape=[64]), layout=spatial(32).local(2))\n",
        name);
    operands += fmt::format("{}{}", i > 0 ? ", " : "", name);
  }
  // Some bit of the second element.
  const unsigned bits = result == "u1" ? 1 : 32;
  return fmt::format(
      "def each_{0}<1>({1}{2}* y_ptr):\n{3}"
      "    y = {0}({4})  # seeded: flip y bit {5} thread {6}\n"
      "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[64]))\n\n",
      mnemonic, parameters, result, loads, operands, bits + bits / 2, 3 + mnemonic.size());
}

/// A kernel with the first types that the instruction takes; empty if it takes none of these.
template <class Inst>
std::string elementwise_kernel() {
  std::size_t operands = 0;
  isa::for_each_slot<Inst>([&]<class Slot>(const isa::SlotInfo<Inst, Slot>&, std::size_t) {
    operands += std::is_same_v<Slot, isa::RegisterOperand> ? 1 : 0;
  });
  const std::string_view mnemonic = Inst::schema.description.mnemonic;
  for (const char* type : {"f32", "i32"}) {
    for (const char* first : {type, "u1"}) {
      for (const char* result : {type, "u1"}) {
        std::vector<std::string> types(operands, type);
        types.front() = first;
        std::string text = elementwise_kernel(mnemonic, types, result);
        if (load_text(text).program) return text;
      }
    }
  }
  return {};
}

std::string elementwise_kernels() {
  std::string text;
  isa::for_each_instruction([&]<class Inst>() {
    if constexpr (Inst::schema.description.elementwise) text += elementwise_kernel<Inst>();
  });
  return text;
}

/// The kernels of the file and those of all instructions that work element by element.
Loaded load_cases() {
  const std::string file = std::string(TILEVM_SOURCE_DIR) + "/tests/data/seeded_differences.tile";
  Loaded loaded = load_text(read_text(file) + "\n" + elementwise_kernels());
  REQUIRE(loaded.program);
  return loaded;
}

// --- Cases ---------------------------------------------------------------------------------------

struct SeededCase {
  std::string kernel;
  SeededDifference seeded;
};

std::vector<SeededCase> cases_of(const isa::VerifiedProgram& program) {
  std::map<int, SeededDifference> by_line;
  std::istringstream lines(std::string(program.source().text()));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (auto seeded = parse_seeded(line, ++number)) by_line[number] = *std::move(seeded);
  }
  std::vector<SeededCase> cases;
  const auto& kernels = program.program().kernels;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const int begin = program.source().locate(kernels[k].span.begin).line;
    const auto found = by_line.upper_bound(begin);
    CAPTURE(kernels[k].name);
    REQUIRE(found != by_line.end());
    if (k + 1 < kernels.size()) {
      REQUIRE(found->first < program.source().locate(kernels[k + 1].span.begin).line);
    }
    cases.push_back({kernels[k].name, found->second});
  }
  return cases;
}

/// The statement of a kernel that a case changes: the last of its line.
isa::StmtId statement_of(const isa::VerifiedProgram& program, const isa::Kernel& kernel, int line) {
  isa::StmtId id;
  isa::for_each_statement(kernel.body, [&](const isa::Stmt& stmt) {
    if (program.source().locate(stmt.span.begin).line == line) id = std::max(id, stmt.id());
  });
  return id;
}

/// Changes the kernels of all cases in emitted text.
std::string seed_all(std::string text, const std::vector<SeededCase>& cases) {
  for (const SeededCase& one : cases) {
    CAPTURE(one.kernel);
    const std::size_t begin = text.find(" " + one.kernel + "_kernel(");
    REQUIRE(begin != std::string::npos);
    CHECK(one.seeded.apply(text, begin));
  }
  return text;
}

/// Counts the runs with probes of another engine.
class CountingEngine final : public Engine {
 public:
  explicit CountingEngine(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::string device() const override { return inner_->device(); }
  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    return inner_->run(program, entry, tensors, report);
  }
  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                  const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    ++runs;
    return inner_->run_probed(program, entry, tensors, probes);
  }
  int runs = 0;

 private:
  std::unique_ptr<Engine> inner_;
};

/// The simulator, and the emulated GPU with the seeded differences.
struct SeededEngines {
  Engines engines;
  std::vector<CountingEngine*> counters;

  explicit SeededEngines(const std::vector<SeededCase>& cases) {
    EngineOptions options{.threads = 1};
    add("sim", options);
    options.edit_text = [&cases](std::string text) { return seed_all(std::move(text), cases); };
    add("emu:O0", options);
  }

 private:
  void add(const char* name, const EngineOptions& options) {
    auto counting = std::make_unique<CountingEngine>(*make_engine(name, options));
    counters.push_back(counting.get());
    engines.push_back(std::move(counting));
  }
};

/// Checks what was found against what was seeded.
void check_found(const SeededCase& one, const DiffCase& what, const BisectedStatement& found) {
  const SeededDifference& seeded = one.seeded;
  const isa::Kernel& kernel = what.program.kernel(found.kernel);
  CHECK(found.statement == statement_of(what.program, kernel, seeded.line));
  CHECK(found.block == 0);
  if (!seeded.buffer.empty()) {
    const auto* write = std::get_if<WriteDifference>(&found.what);
    REQUIRE(write != nullptr);
    const auto& tensors = what.entry.tensors;
    const auto tensor = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const auto& each) { return each.name == seeded.buffer; });
    REQUIRE((seeded.buffer == "shared" || tensor != tensors.end()));
    const auto buffer = static_cast<std::uint64_t>(tensor - tensors.begin());
    const std::uint64_t address =
        seeded.buffer == "shared" ? seeded.byte : isa::probe_address(buffer, seeded.byte);
    CHECK(write->address == address);
    CHECK((write->b ? write->b : write->a)->thread == seeded.thread);
  } else if (const auto* scalar = std::get_if<ScalarDifference>(&found.what)) {
    CHECK(kernel.variable(scalar->var).name == seeded.variable);
    CHECK(scalar->thread == seeded.thread);
    CHECK((scalar->a ^ scalar->b) == std::uint64_t{1} << seeded.bit);
  } else {
    const auto* tile = std::get_if<TileDifference>(&found.what);
    REQUIRE(tile != nullptr);
    const auto& type = std::get<isa::RegisterType>(kernel.variable(tile->var).type);
    CHECK(kernel.variable(tile->var).name == seeded.variable);
    CHECK(tile->thread == seeded.thread);
    CHECK(tile->place == seeded.bit / type.dtype.bits);
    CHECK((tile->a ^ tile->b) == std::uint64_t{1} << seeded.bit % type.dtype.bits);
    CHECK(tile->different == 1);
  }
}

DiffCase case_of(const isa::VerifiedProgram& program, const std::string& kernel) {
  const Result<Entry> entry = resolve_entry(program, kernel, {});
  REQUIRE(entry);
  return {program, *entry};
}

/// Bundles a comparison, reads it back, and repeats it. `repeated` is the program of the bundles,
/// which have the same text; it stays loaded, so that it is compiled once.
void check_bundle(const DiffCase& what, const SeedRun& run, const Engines& engines,
                  std::optional<isa::VerifiedProgram>& repeated) {
  const ScratchFolder folder;
  REQUIRE(write_bundle(folder / "case", make_bundle(what, run, engines, {"1", {}, {}})));
  const Result<Bundle> bundle = read_bundle(folder / "case");
  REQUIRE(bundle);
  CHECK(bundle->verdict != "exact");
  const Result<DiffCase> loaded = load_bundle(*bundle);
  REQUIRE(loaded);
  CHECK(bundle->program == what.program.source().text());
  if (!repeated) repeated = loaded->program;
  const DiffCase again{*repeated, loaded->entry};
  const Result<SeedRun> rerun = run_on(again, engines, bundle->tensors, bundle->seed);
  REQUIRE(rerun);
  CHECK(compare_with_bundle(*bundle, again, *rerun) == "");
}

/// Whether a block's records have something of an instruction: values or writes to memory. The
/// result of an asynchronous product is there later, in the record of what reads it, and so is what
/// the copy engine moves.
template <class Inst>
constexpr bool needs_case() {
  if (isa::is_product<Inst>() && !isa::RegisterProduct<Inst>) return false;
  if (Inst::schema.description.by_copy_engine) return false;
  constexpr isa::ResultKind result = Inst::schema.description.result;
  bool needs = result == isa::ResultKind::register_tile || result == isa::ResultKind::scalar ||
               result == isa::ResultKind::indices;
  isa::for_each_slot<Inst>(
      [&](const auto& slot, std::size_t) { needs = needs || isa::writes(slot.access); });
  return needs;
}

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

/// Forms of machine code that write nothing of which a block has a record.
template <class Form>
constexpr bool writes_nothing =
    is_one_of<Form, backend::GroupCommit, backend::GroupWait, backend::FullBarrier,
              backend::SplitBarrier, backend::EarlyExit, backend::ElidedCast, backend::ElidedView,
              backend::AsyncDot, backend::ProductWait, backend::SteppedLoop, backend::CountedLoop>;

}  // namespace

TEST_CASE("every instruction and every form of machine code has a seeded difference") {
  const Loaded loaded = load_cases();
  const backend::SelectedProgram selected = backend::select(*loaded.program);
  std::set<std::string_view> instructions;
  std::set<std::size_t> forms;
  for (const SeededCase& one : cases_of(*loaded.program)) {
    const int index = find_entry(loaded.program->program(), one.kernel)->index;
    const isa::Kernel& kernel = loaded.program->kernel(index);
    const isa::StmtId id = statement_of(*loaded.program, kernel, one.seeded.line);
    const isa::Statements statements(kernel);
    const isa::InstStmt* stmt = statements.instruction(id);
    CAPTURE(one.kernel);
    REQUIRE(stmt != nullptr);
    instructions.insert(isa::mnemonic(stmt->inst));
    forms.insert(selected.kernels[static_cast<std::size_t>(index)].forms[id].index());
  }
  isa::for_each_instruction([&]<class Inst>() {
    const std::string_view mnemonic = Inst::schema.description.mnemonic;
    if (needs_case<Inst>()) CHECK_MESSAGE(instructions.contains(mnemonic), mnemonic);
  });
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto check = [&]<class Form>(std::size_t number, Form*) {
      if (writes_nothing<Form>) return;
      CHECK_MESSAGE(forms.contains(number), typeid(Form).name());
    };
    (check(I, static_cast<std::variant_alternative_t<I, backend::Form>*>(nullptr)), ...);
  }(std::make_index_sequence<std::variant_size_v<backend::Form>>{});
}

TEST_CASE("without the seeded differences all sums are equal") {
  if (const auto engine = make_engine("emu", {}); !engine) {
    MESSAGE("skipped: " << engine.error().message);
    return;
  }
  const Loaded loaded = load_cases();
  Engines engines;
  engines.push_back(*make_engine("sim", {.threads = 1}));
  engines.push_back(*make_engine("emu:O0", {.threads = 1}));
  for (const SeededCase& one : cases_of(*loaded.program)) {
    CAPTURE(one.kernel);
    const DiffCase what = case_of(*loaded.program, one.kernel);
    const Result<std::vector<HostTensor>> inputs = make_tensors(what.entry, {});
    REQUIRE(inputs);
    const Result<BisectResult> result =
        bisect(what, engines, 0, 1, *inputs, {.memory = 1 << 20, .threads = 1});
    REQUIRE(result);
    CHECK(result->compared > 0);
    CHECK_FALSE(result->found);
  }
}

TEST_CASE("a seeded difference is found at its statement, element and thread, and repeated") {
  if (const auto engine = make_engine("emu", {}); !engine) {
    MESSAGE("skipped: " << engine.error().message);
    return;
  }
  const Loaded loaded = load_cases();
  const std::vector<SeededCase> cases = cases_of(*loaded.program);
  SeededEngines seeded(cases);
  std::optional<isa::VerifiedProgram> repeated;
  for (const SeededCase& one : cases) {
    CAPTURE(one.kernel);
    const DiffCase what = case_of(*loaded.program, one.kernel);
    const Result<SeedRun> run = run_seed(what, seeded.engines, {});
    REQUIRE(run);
    CHECK(run->verdict.kind() == SeedVerdict::Kind::different);
    for (CountingEngine* engine : seeded.counters) engine->runs = 0;
    const Result<BisectResult> result =
        bisect(what, seeded.engines, 0, 1, run->inputs, {.memory = 1 << 20, .threads = 1});
    REQUIRE(result);
    CHECK(result->found);
    for (const CountingEngine* engine : seeded.counters) CHECK(engine->runs == 2);
    if (!result->found) continue;
    const std::string report = render_bisect(what, run->verdict, *result);
    CAPTURE(report);
    check_found(one, what, *result->found);
    CHECK(contains(report, fmt::format("seeded.tile:{}:", one.seeded.line)));
    check_bundle(what, *run, seeded.engines, repeated);
  }
}
