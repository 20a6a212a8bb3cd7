// Emission of one kernel: what the emit overloads of the instructions share.
//
// One overload of emit_instruction per instruction (emit_indexing.cc, emit_creation.cc,
// emit_transfer.cc, emit_compute.cc); an instruction without one stops the build with its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/emit/code_writer.h"
#include "backend/emit/cuda_source.h"
#include "backend/emit/emit_names.h"
#include "backend/select/bit_chains.h"
#include "backend/select/bulk_copies.h"
#include "backend/select/cast_adjustments.h"
#include "backend/select/gates.h"
#include "isa/dot/dot.h"
#include "isa/inst/instruction_set.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// What the kernels of a program use and its text must declare: element types, by name, and
/// tensor-core instructions, by the names of their functions.
struct UsedDefinitions {
  std::map<std::string, isa::DType> types;
  std::map<std::string, const isa::MmaShape*> mma;
};

/// The kernel that is being written.
class KernelEmission {
 public:
  KernelEmission(const isa::VerifiedProgram& program, int kernel, NameTable& entries,
                 CodeWriter& writer, UsedDefinitions& used);

  /// Writes the kernel.
  void run();
  [[nodiscard]] const CudaKernel& kernel() const { return result_; }

  CodeWriter& out;

  [[nodiscard]] const isa::VerifiedProgram& program() const { return program_; }
  [[nodiscard]] std::int64_t threads() const { return result_.threads; }
  [[nodiscard]] const isa::KernelInfo& info() const { return program_.info(result_.kernel); }
  [[nodiscard]] const isa::Kernel& definition() const { return kernel_; }
  [[nodiscard]] const BitChains& chains() const { return chains_; }
  [[nodiscard]] const CastAdjustments& adjustments() const { return adjustments_; }
  [[nodiscard]] const BulkCopies& bulk_copies() const { return bulk_copies_; }
  /// Whether only warps that copy wait at a Synchronize.
  [[nodiscard]] bool is_gate(const isa::InstStmt& stmt) const { return gates_.contains(&stmt); }
  [[nodiscard]] const std::string& name(isa::VarId var) const {
    return names_[static_cast<std::size_t>(var.index)];
  }
  template <class T>
  [[nodiscard]] const T& type(isa::VarId var) const {
    return *std::get_if<T>(&kernel_.variable(var).type);
  }
  [[nodiscard]] std::string scalar(const isa::Expr& expr) const;
  [[nodiscard]] std::string index(const isa::Expr& expr) const;
  /// The same in 32 bits, for tensors that are small enough.
  [[nodiscard]] std::string short_index(const isa::Expr& expr) const;
  /// In parentheses.
  [[nodiscard]] std::string condition(const isa::Expr& expr) const;
  /// The C++ type of an element type: "tile::i6".
  std::string element_type(const isa::DType& dtype);
  /// The function of a tensor-core instruction.
  std::string mma_function(const isa::MmaShape& shape);
  /// The parameter with the memory of a workspace.
  [[nodiscard]] const std::string& workspace(isa::VarId var) const;

  /// Keeps what became of a statement, for CudaKernel::choices.
  void chose(const isa::InstStmt& stmt, std::string text, std::string obstacle = {});

  /// A pointer to a distance of bytes, a text of thread(), in a shared tensor, which is computed
  /// once, before the kernel's first statement. Nothing outside of longer loops, and where enough
  /// registers are spent on these.
  std::optional<std::string> keep(isa::VarId tensor, const std::string& distance);
  /// Writes the fence behind a statement that stores, where bulk copies need one.
  void fence_for_bulk(const isa::InstStmt& stmt);
  /// Writes what must be done before the block ends.
  void end_block();

  /// Declares the register tile that a statement makes, unless it exists already.
  void declare_tile(const isa::InstStmt& stmt);
  /// "tv::i32 x = " or "x = " for the result of a statement.
  [[nodiscard]] std::string target(isa::VarId var, bool declares, std::string_view type) const;

 private:
  void name_variables();
  void add_parameters();
  [[nodiscard]] std::string parameter_name(const CudaParameter& parameter) const;
  [[nodiscard]] std::string signature() const;
  void declare_kept(const CodeWriter::Mark& mark);
  void quote_source(Span span, int max_lines);
  void write(const isa::Block& block);
  void write(const isa::InstStmt& stmt);
  void write(const isa::ScalarStmt& stmt);
  void write(const isa::ForStmt& loop);
  void write(const isa::WhileStmt& loop);
  void write_loop(const isa::Block& body, std::int64_t turns);
  void write(const isa::IfStmt& branch);
  void write(const isa::BreakStmt&);
  void write(const isa::ContinueStmt&);

  const isa::VerifiedProgram& program_;
  const isa::Kernel& kernel_;
  UsedDefinitions& used_;
  BitChains chains_;
  CastAdjustments adjustments_;
  BulkCopies bulk_copies_;
  std::set<const isa::InstStmt*> gates_;
  CudaKernel result_;
  Span statement_{};        // that is being written
  std::int64_t turns_ = 1;  // of the loops around it
  std::vector<std::string> kept_;
  NameTable locals_;
  std::vector<std::string> names_;       // by variable
  std::vector<std::string> workspaces_;  // by position in KernelInfo::workspaces
};

/// Writes the cast of a tile, plus a constant, by a recipe.
void emit_cast(const AdjustedCast& cast, const isa::InstStmt&, KernelEmission&);

/// Words of 32 bits that hold a thread's share of a tile.
[[nodiscard]] std::int64_t tile_words(const isa::RegisterType& type);

void emit_instruction(const isa::BlockIndices&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::AllocateGlobal&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::AllocateShared&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::AllocateRegister&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::ViewGlobal&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::LoadGlobal&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::LoadShared&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::StoreGlobal&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::StoreShared&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::CopyAsync&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::CopyAsyncCommitGroup&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::CopyAsyncWaitGroup&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Fma&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Where&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Cast&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::View&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::ConvertLayout&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Dot&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Synchronize&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::LockSemaphore&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::ReleaseSemaphore&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::AtomicAdd&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Exit&, const isa::InstStmt&, KernelEmission&);
void emit_instruction(const isa::Print&, const isa::InstStmt&, KernelEmission&);

// Families.
void emit_binary(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                 const isa::InstStmt&, KernelEmission&);
void emit_unary(isa::UnaryOp op, isa::RegisterOperand a, const isa::InstStmt&, KernelEmission&);
template <isa::BinaryOp op>
void emit_instruction(const isa::Binary<op>& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  emit_binary(op, inst.a, inst.b, stmt, kernel);
}
template <isa::UnaryOp op>
void emit_instruction(const isa::Unary<op>& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  emit_unary(op, inst.a, stmt, kernel);
}

}  // namespace tilevm::backend
