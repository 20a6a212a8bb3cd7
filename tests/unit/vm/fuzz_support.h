// Engines and programs for the tests of vm/fuzz.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isa/inst/instruction_set.h"
#include "vm/fuzz/campaign.h"
#include "vm/fuzz/judge.h"
#include "vm/fuzz/text_oracles.h"
#include "vm/naive/naive_engine.h"
#include "vm/run/load.h"

namespace tilevm::vm::fuzz {

inline isa::Target target_named(const std::string& name) { return *isa::parse_target(name); }

inline std::string replaced(std::string text, const std::string& old, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size()) {
    text.replace(at, old.size(), by);
  }
  return text;
}

/// The naive interpreter with mistakes: it runs each program with other instructions in the place
/// of some.
class WrongEngine final : public Engine {
 public:
  using Mistakes = std::vector<std::pair<std::string, std::string>>;
  explicit WrongEngine(Mistakes mistakes) : mistakes_(std::move(mistakes)) {}

  [[nodiscard]] std::string_view name() const override { return "wrong"; }
  [[nodiscard]] std::string device() const override { return "naive interpreter with mistakes"; }
  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    return naive_->run(changed(program), entry, tensors, report);
  }
  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                  const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    return naive_->run_probed(changed(program), entry, tensors, probes);
  }

 private:
  isa::VerifiedProgram changed(const isa::VerifiedProgram& program) const {
    std::string text = program.source().text();
    for (const auto& [old, by] : mistakes_) text = replaced(text, old, by);
    const auto source = std::make_shared<const SourceFile>("changed.tile", text);
    const Loaded loaded = load(source, {}, program.target());
    return loaded.program ? *loaded.program : program;
  }

  Mistakes mistakes_;
  std::unique_ptr<Engine> naive_ = naive::make_naive_engine();
};

/// The first seed that favours an instruction.
inline std::uint64_t seed_of(std::string_view mnemonic) {
  std::uint64_t number = 0, found = 0;
  isa::for_each_instruction([&]<class Inst>() {
    if (Inst::schema.description.mnemonic == mnemonic) found = number;
    ++number;
  });
  return found;
}

inline FuzzCase case_of(const std::string& text, std::vector<std::string> inputs = {}) {
  return {7, target_named("sm_90"), text, std::move(inputs)};
}

/// The case, which must pass the checks of its text.
inline ReadyCase ready(const FuzzCase& each) {
  auto made = make_ready(each);
  if (const auto* finding = std::get_if<Finding>(&made)) {
    throw std::runtime_error(finding->signature + "\n" + finding->detail);
  }
  return std::get<ReadyCase>(std::move(made));
}

/// A Max in the middle of other statements, and an And that follows.
inline const std::string max_program = R"(@threads(32)
def k0<2>(f32* k0_in0, f32* k0_out1, i32* k0_out2):
    p0 = BlockIndices()
    g1 = ViewGlobal(k0_in0, shape=[64])
    g2 = ViewGlobal(k0_out1, shape=[2, 64])
    g3 = ViewGlobal(k0_out2, shape=[2, 64])
    t4 = LoadGlobal(g1, layout=local(2).spatial(32), offset=[0:])
    t5 = AllocateRegister(f32, layout=local(2).spatial(32), init=[0.25, -1.5])
    t6 = Add(t4, t5)
    for k7 in range(0, 3, 1):
        Max(t6, t5, out=t6)
        t6 = Mul(t6, t5)
    t8 = Cast(t6, i32)
    t9 = And(t8, t8)
    StoreGlobal(t6, g2, offset=[p0, 0:])
    StoreGlobal(t9, g3, offset=[p0, 0:])

pipeline main(k0_in0: f32[64]) -> (k0_out1: f32[2, 64], k0_out2: i32[2, 64]):
    k0(k0_in0, k0_out1, k0_out2)
)";

}  // namespace tilevm::vm::fuzz
