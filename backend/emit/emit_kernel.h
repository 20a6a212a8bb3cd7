// The printer of one kernel: a walk over its machine program (backend/machine).
//
// It decides nothing. Each form is written by a specialisation of emit_form, each instruction that
// has one form only by one of emit_plain, both in the file of the instruction's category
// (emit_transfer.cc, emit_compute.cc ..), each other operation in emit_machine.cc. One that is
// forgotten is a symbol that the linker does not find, with its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/emit/code_writer.h"
#include "backend/emit/cuda_source.h"
#include "backend/machine/machine_kernel.h"
#include "backend/ptx/emit_wgmma.h"
#include "backend/select/names.h"
#include "backend/select/select.h"
#include "isa/dot/dot.h"
#include "isa/inst/instruction_set.h"
#include "isa/program/probe.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// What the kernels of a program use and its text must declare: element types, by name, and
/// tensor-core instructions, by the names of their functions.
struct UsedDefinitions {
  std::map<std::string, isa::DType> types;
  std::map<std::string, const isa::MmaShape*> mma;
  std::map<std::string, WgmmaUse> wgmma;
};

/// The kernel that is being written.
class KernelEmission {
 public:
  KernelEmission(const SelectedProgram& program, int kernel, NameTable& entries, CodeWriter& writer,
                 UsedDefinitions& used);

  /// Writes the kernel.
  void run();
  [[nodiscard]] const CudaKernel& kernel() const { return result_; }

  CodeWriter& out;

  [[nodiscard]] const isa::VerifiedProgram& program() const { return program_; }
  [[nodiscard]] const SelectedKernel& selected() const { return selected_; }
  /// How many threads run the statements that are written now.
  [[nodiscard]] std::int64_t threads() const {
    return group_ == 0 ? result_.threads : group().threads;
  }
  /// The number of the thread among them.
  [[nodiscard]] std::string_view thread() const { return group_ == 0 ? "tv::thread()" : "thread_"; }
  /// The group of warps that runs them.
  [[nodiscard]] const isa::ThreadGroup& group() const {
    return info().groups[static_cast<std::size_t>(group_)];
  }
  /// Writes a barrier of these threads.
  void synchronize();
  [[nodiscard]] const isa::KernelInfo& info() const { return program_.info(result_.kernel); }
  [[nodiscard]] const isa::Kernel& definition() const { return kernel_; }
  [[nodiscard]] const std::string& name(isa::VarId var) const {
    return selected_.names[static_cast<std::size_t>(var.index)];
  }
  template <class T>
  [[nodiscard]] const T& type(isa::VarId var) const {
    return *std::get_if<T>(&kernel_.variable(var).type);
  }
  [[nodiscard]] std::string scalar(const isa::Expr& expr) const;
  [[nodiscard]] std::string index(const isa::Expr& expr) const;
  /// The index in 32 bits, for tensors that are small enough.
  [[nodiscard]] std::string short_index(const isa::Expr& expr) const;
  /// In parentheses.
  [[nodiscard]] std::string condition(const isa::Expr& expr) const;
  /// The C++ type of an element type: "tile::i6".
  std::string element_type(const isa::DType& dtype);
  /// The function of a tensor-core instruction.
  std::string mma_function(const isa::MmaShape& shape);
  /// That of an instruction of warp groups.
  std::string wgmma_function(const WgmmaUse& use);
  /// The parameter that is a tensor map.
  [[nodiscard]] std::string tensor_map(const isa::TensorMap& map) const;
  /// The parameter with the memory of a workspace.
  [[nodiscard]] const std::string& workspace(isa::VarId var) const;

  /// What a function of the prelude that writes to memory belongs to: "tv::", or the thread's
  /// probe, which has functions of the same names.
  [[nodiscard]] std::string_view writer() const { return !probes_.empty() ? "probe_." : "tv::"; }
  /// The receiver of values, for a statement that may have no record.
  [[nodiscard]] std::string_view writer(isa::StmtId id) const {
    return !probes_.empty() && probes_[id] == isa::ProbeMode::none ? "tv::" : writer();
  }

  /// Notes that all threads store their elements of a tile.
  void note_stores_of(isa::VarId tile);
  /// Adds the value of a variable to the record of a probe: a tile or a scalar.
  void probe_value(isa::VarId var);

  /// Declares `at_`, the half of the memory for exchanges (isa::KernelInfo::exchange_bytes) that
  /// the statement takes: whoever still reads the other half has not passed the statement's
  /// barrier. Where there is one half, a barrier comes first.
  void begin_exchange();

  /// Declares the register tile that a statement makes, unless it exists already.
  void declare_tile(const isa::InstStmt& stmt);
  /// "tv::i32 x = " or "x = " for the result of a statement.
  [[nodiscard]] std::string target(isa::VarId var, bool declares, std::string_view type) const;

 private:
  void add_parameters();
  void add_tensor_maps();
  void prefetch_maps();
  [[nodiscard]] std::string parameter_name(const CudaParameter& parameter) const;
  [[nodiscard]] std::string signature() const;
  void declare_hoisted();
  void declare_results();
  [[nodiscard]] std::int64_t shared_alignment() const;
  void quote_source(Span span, int max_lines);
  void open_probe();
  void write(const MachineBlock& block);
  void write(const MachineNode& node);
  void write_form(const isa::InstStmt& stmt, const Form& form);
  void write_op(const MachineOp& op);
  void write(const MachineGuard& guard);
  void write(const MachineLoop& loop, const isa::Stmt& stmt);
  void write_loop(const SteppedLoop& form, const isa::ForStmt& loop, const MachineBlock& body);
  void write_loop(const CountedLoop& form, const isa::ForStmt& loop, const MachineBlock& body);
  void write(const MachineBranch& branch, const isa::IfStmt& stmt);
  void write(const isa::ScalarStmt& stmt);
  void write(const MachineFork& machine_fork, const isa::ForkStmt& fork);
  void write_elected(const MachineBlock& body);
  void write_groups(const std::vector<std::int32_t>& run, const MachineFork& machine_fork,
                    const isa::ForkStmt& fork);
  void set_registers(const isa::ThreadGroup& group, bool begins);
  void begin_exchanges();
  void write(const isa::BreakStmt&);
  void write(const isa::ContinueStmt&);

  const isa::VerifiedProgram& program_;
  const SelectedKernel& selected_;
  const isa::Kernel& kernel_;
  const MachineKernel machine_;
  UsedDefinitions& used_;
  std::vector<isa::VarId> async_results_;  ///< tiles that products write after their statements
  const isa::ProbePlan& probes_;           ///< empty if there are none
  CudaKernel result_;
  std::int32_t group_ = 0;  ///< index in KernelInfo::groups of the group that is written now
};

/// Writes an instruction in the form that was selected for it.
template <class Form>
void emit_form(const Form& form, const isa::InstStmt& stmt, KernelEmission& kernel);

/// Writes an instruction that has one form only.
template <class Inst>
void emit_plain(const Inst& inst, const isa::InstStmt& stmt, KernelEmission& kernel);

/// A BipolarDot's counts may be put together after a loop: declares the counts before the loop, and
/// adds them to the accumulator after it (emit_dot_bipolar.cc).
void begin_counts(const isa::InstStmt& stmt, KernelEmission& kernel);
void end_counts(const isa::InstStmt& stmt, KernelEmission& kernel);

}  // namespace tilevm::backend
