// Times the kernels of an entry on the GPU, beside what bounds them and what others reach.
//
// The whole entry runs once, so that every tensor holds what it should; then each launch is timed
// by itself (backend/engine/timing.h), in turns with a kernel that only reads as many bytes as the
// launch's tensors hold, and with cuBLAS. `tilevm bench` shows the report; `tilevm tune` compares
// reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/engine/cublas.h"
#include "backend/engine/timing.h"
#include "vm/run/engine_cuda.h"
#include "vm/run/vm.h"

namespace tilevm::vm {

/// What a number was measured with; numbers of different environments are not compared.
struct Environment {
  std::string device, target, driver, compiler;
  friend bool operator==(const Environment&, const Environment&) = default;
};
[[nodiscard]] Environment environment_of(const CudaMachine& machine);

/// The extents of the matrix product c[m, n] = a[m, k] * b[k, n] that a file is about: its integer
/// constants M, N and K.
struct MatmulSize {
  std::int64_t m = 0, n = 0, k = 0;
  /// Two for each multiply-add.
  [[nodiscard]] double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};
/// Nothing if one of the constants is missing or not positive.
[[nodiscard]] std::optional<MatmulSize> matmul_size(const SourceFile& source,
                                                    const std::vector<frontend::Define>& defines);

struct BenchSettings {
  std::string kernel;  ///< only the launches of this one; empty: all
  backend::TimingOptions timing;
  bool cublas = false;
  bool peak = true;   ///< measure reading at full size, too
  bool check = true;  ///< run the entry once more after the timing: the same bits must come out
  std::optional<MatmulSize> size;
  std::string lock;  ///< a file that is locked while the device is used; empty: none
};

/// cuBLAS on the same problem.
struct CublasTime {
  backend::Spread nn, tn;  ///< both layouts of b, in turns with each other
  backend::Spread time;    ///< the faster of both, in turns with the kernel
};

/// One launch; times in microseconds.
struct KernelTime {
  std::string name;  ///< name, with the number of the launch if the entry launches it several times
  backend::Spread time;
  std::uint64_t bytes = 0;  ///< bytes of the tensors that the launch is given, each once
  backend::Spread read;     ///< the yardstick for so many bytes
  double operations = 0;    ///< operations of MatmulSize, if the kernel has a matrix product
  std::optional<CublasTime> cublas;
  backend::KernelProperties properties;
  std::int64_t threads = 0, shared_bytes = 0;
};

/// All launches of an entry together, from the first to the last.
struct EntryTime {
  backend::Spread launched;  ///< one by one
  backend::Spread graph;     ///< times as a CUDA graph
};

/// How far an output is from the reference's: |a - b| / |b| in the Frobenius norm.
struct OutputError {
  std::string output;
  double relative = 0;
};

struct BenchReport {
  Environment environment;
  std::string entry;
  backend::TimingOptions timing;
  std::vector<KernelTime> kernels;
  std::optional<EntryTime> whole;  ///< times of entries with several launches, if all are timed
  std::uint64_t peak_bytes = 0;    ///< 0: not measured
  backend::Spread peak;
  std::string cublas;      ///< version and path; empty: not timed
  std::string cublas_why;  ///< why not, if it was asked for
  std::string reference;   ///< the other entry; empty: none
  std::vector<OutputError> errors;
  bool checked = false;            ///< the second run gave the bits of the first
  std::uint64_t device_bytes = 0;  ///< memory that was needed on the device
};

/// An entry and what its tensors hold before a run, one buffer each.
struct EntryData {
  Entry entry;
  backend::HostBuffers buffers;
};
/// Fills the inputs: random codes of the whole range, floats of more than 8 bits in [-1, 1).
[[nodiscard]] Result<EntryData> make_entry_data(Entry entry, const Seeding& seeding,
                                                DataReader& reader);

/// Another entry that computes the same outputs from the same inputs in a plainer way, on the data
/// of the first. Error (usage): its inputs or outputs have other names, types or shapes (the types
/// of outputs may differ).
[[nodiscard]] Result<EntryData> make_reference_data(Entry reference, const EntryData& data);

/// Runs, checks and times. Errors: usage (no such kernel), program (a fault; a kernel prints;
/// results that differ from run to run), unavailable (compiler, memory), limit (timeout).
[[nodiscard]] Result<BenchReport> measure(CudaMachine& machine, const isa::VerifiedProgram& program,
                                          const EntryData& data, const EntryData* reference,
                                          const BenchSettings& settings);

/// Error (program), which begins with `spill_refusal`: a launch that counts (of `kernel`, unless it
/// is empty) keeps registers of its threads in memory. Compiles the program, which the cache of
/// kernels keeps for `measure`. Other errors as there.
[[nodiscard]] Status refuse_spills(CudaMachine& machine, const isa::VerifiedProgram& program,
                                   const Entry& entry, const std::string& kernel);
inline constexpr std::string_view spill_refusal = "registers are spilled";

/// Bytes of all tensors of an entry.
[[nodiscard]] std::uint64_t entry_bytes(const Entry& entry);
/// Bytes of the tensors among a launch's arguments, each once.
[[nodiscard]] std::uint64_t launch_bytes(const Entry& entry, const isa::Launch& launch);
/// Whether a kernel has a matrix product.
[[nodiscard]] bool has_product(const isa::Kernel& kernel);

}  // namespace tilevm::vm
