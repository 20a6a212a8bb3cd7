// libtilevm: programs for GPU thread blocks, for every language that can call C.
//
//   tilevm_program* program;
//   tilevm_open_file("add.tile", NULL, NULL, &program);
//   tilevm_argument arguments[] = {{a, sizeof a}, {b, sizeof b}, {c, sizeof c}};
//   tilevm_run(program, NULL, "sim", arguments, 3);
//   tilevm_close(program);
//
// Every function may be called from any thread, and from several at a time on one program. What a
// function returns by pointer belongs to the library: that of a program lives as long as the
// program, a message until the thread's next call. No exception leaves the library. The caller's
// floating-point mode (rounding, subnormals flushed to zero) neither changes a result nor is
// changed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TILEVM_API __attribute__((visibility("default")))
#else
#define TILEVM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif
// Names and types as C has them. NOLINTBEGIN(modernize-use-using,readability-identifier-naming)

/// How a call ended; the numbers are the exit statuses of the command `tilevm`.
typedef enum tilevm_status {
  TILEVM_OK = 0,
  TILEVM_FAULT = 1,        ///< the program or its data is wrong
  TILEVM_USAGE = 2,        ///< the call is wrong
  TILEVM_UNAVAILABLE = 3,  ///< a driver, a compiler or a device is missing
  TILEVM_LIMIT = 4,        ///< a limit was reached, or memory is short
  TILEVM_INTERNAL = 70     ///< a fault of the library
} tilevm_status;

/// "0.2.0".
TILEVM_API const char* tilevm_version(void);

/// Why the thread's last call failed: one line, or the diagnostics of a program with their
/// locations. Empty after success.
TILEVM_API const char* tilevm_message(void);

/// The message for a terminal: diagnostics have escapes for colours, as the command shows them.
TILEVM_API const char* tilevm_message_in_color(void);

/// What the thread's last call said of the program, as a JSON array of diagnostics with their
/// places (docs/reference/data.md): the errors that it failed with, else the warnings of
/// tilevm_open or the notes of a run. "[]" if it said nothing.
TILEVM_API const char* tilevm_diagnostics(void);

/// A verified program.
typedef struct tilevm_program tilevm_program;

/// Reads, verifies and keeps a program. `defines` are texts "NAME=VALUE" that end with NULL; it may
/// be NULL, as may `target`, for sm_90. `name` is for messages. After a failure `*program` is NULL.
TILEVM_API tilevm_status tilevm_open(const char* text, const char* name, const char* const* defines,
                                     const char* target, tilevm_program** program);
TILEVM_API tilevm_status tilevm_open_file(const char* path, const char* const* defines,
                                          const char* target, tilevm_program** program);
/// As tilevm_open_file; the program may also include files from `folders`, which end with NULL or
/// are NULL, as the command's `-I`.
TILEVM_API tilevm_status tilevm_open_file_in(const char* path, const char* const* folders,
                                             const char* const* defines, const char* target,
                                             tilevm_program** program);
TILEVM_API void tilevm_close(tilevm_program* program);

/// The warnings of a program, as text; usually empty.
TILEVM_API const char* tilevm_warnings(const tilevm_program* program);

/// What a parameter is: a scalar, or a tensor that is read, written, or both. One that is neither
/// counts as read.
enum { TILEVM_SCALAR = 0, TILEVM_INPUT = 1, TILEVM_OUTPUT = 2 };

/// A parameter of an entry. Tensors are dense, in row-major order; an element of n bits follows
/// another after n bits, the low bits of a byte first.
typedef struct tilevm_parameter {
  const char* name;
  const char* type;      ///< "f16", "u4" ...; of a scalar "i32", "f32", "bool" ...
  int role;              ///< TILEVM_SCALAR, or TILEVM_INPUT and TILEVM_OUTPUT added up
  int rank;              ///< extents; -1 if they are not constant, or if it is a scalar
  const int64_t* shape;  ///< `rank` of them
  size_t bytes;          ///< bytes of the data; 0 if the extents are not constant
} tilevm_parameter;

/// A pipeline with its inputs and outputs, or a kernel with its parameters.
typedef struct tilevm_entry {
  const char* name;
  int is_pipeline;
  size_t parameter_count;
  const tilevm_parameter* parameters;
} tilevm_entry;

/// All entries of a program, pipelines first.
TILEVM_API const tilevm_entry* tilevm_entries(const tilevm_program* program, size_t* count);

/// What a parameter is given: a tensor's memory, or the address of a scalar's value.
typedef struct tilevm_argument {
  void* data;
  size_t bytes;
} tilevm_argument;

/// Runs an entry on host memory, one argument for each parameter; `bytes` must be the parameter's.
/// Elements of an output that no launch stores keep what the memory held, as on a device. Tensors
/// of one address and size are one memory there, too: a kernel may work in place, and races are
/// found; other overlaps with a tensor that is written are refused (TILEVM_USAGE). `entry` may be
/// NULL: the only pipeline, else `main`, else the only kernel. `engine` is "sim", "emu" or "cuda";
/// for "cuda" the program must have been opened for the device's target.
TILEVM_API tilevm_status tilevm_run(tilevm_program* program, const char* entry, const char* engine,
                                    const tilevm_argument* arguments, size_t count);

/// A wish that runs end early, which any thread may utter.
typedef struct tilevm_control tilevm_control;

/// NULL if memory is short.
TILEVM_API tilevm_control* tilevm_control_new(void);
/// Ends the runs of the simulator and of emu that have this control: no block begins, and those
/// that run end at the next iteration of a loop. They give TILEVM_LIMIT and change no argument.
/// Runs that begin later end at once.
TILEVM_API void tilevm_control_stop(tilevm_control* control);
/// After the last run with this control has ended.
TILEVM_API void tilevm_control_free(tilevm_control* control);

/// How a run is done; all zeros but for `size` is as tilevm_run does it.
typedef struct tilevm_run_options {
  size_t size;  ///< sizeof(tilevm_run_options): later versions may have more members
  /// Checks of the simulator: "all" (as NULL), "none", or a list as of `--check`.
  const char* checks;
  int threads;         ///< host threads; 0: all cores
  int count_accesses;  ///< whether tilevm_counters() tells afterwards what the simulator counted
  uint64_t max_steps;  ///< statements that a block may execute; 0: the usual limit
  tilevm_control* control;  ///< NULL: nothing ends the run early
} tilevm_run_options;

/// tilevm_run with options, which may be NULL.
TILEVM_API tilevm_status tilevm_run_with(tilevm_program* program, const char* entry,
                                         const char* engine, const tilevm_argument* arguments,
                                         size_t count, const tilevm_run_options* options);

/// What the thread's last run printed.
TILEVM_API const char* tilevm_prints(void);

/// What the thread's last run counted, if its options asked for it: an object of JSON, as `stats`
/// of `tilevm run --stats --json` (docs/reference/counters.md); else "".
TILEVM_API const char* tilevm_counters(void);

/// The counters of a run in the simulator on data that `inputs` name as `--in` of the command does:
/// texts "NAME=SPEC" that end with NULL; NULL for none. What they do not name is random, by `seed`.
/// `*json` is valid until the thread's next call, as in the functions below.
TILEVM_API tilevm_status tilevm_stats(const tilevm_program* program, const char* entry,
                                      const char* const* inputs, uint64_t seed,
                                      const tilevm_run_options* options, const char** json);

/// A run as a self-contained page of HTML: faults, the cost of lines, outputs, bank conflicts, a
/// timeline, as of `tilevm run --report`. There is one, too, where the run fails with TILEVM_FAULT.
TILEVM_API tilevm_status tilevm_page(const tilevm_program* program, const char* entry,
                                     const char* const* inputs, uint64_t seed,
                                     const tilevm_run_options* options, const char** html);

/// The page of a call of tilevm_run_with in the simulator, on copies of the arguments' memory.
TILEVM_API tilevm_status tilevm_page_with(tilevm_program* program, const char* entry,
                                          const tilevm_argument* arguments, size_t count,
                                          const tilevm_run_options* options, const char** html);

/// What the CUDA backend chose and why, as JSON: the object of `targets` of
/// `tilevm compile --explain --json`. What it decided is there without a compiler as well; `error`
/// says then what is missing.
TILEVM_API tilevm_status tilevm_explain(const tilevm_program* program, const char** json);

/// What the shapes of tensors tell of a call of a pipeline, as a JSON object: `scalars` with what
/// the extents of `x: f32[2 * n]` tell of n as `value`, and `tensors` with their shapes, which are
/// null if they depend on what is not known. `known` are texts that end with NULL: "n=100" of a
/// scalar, "x=[200, 3]" of a tensor. For scalars that a caller leaves out, and outputs that it
/// makes.
TILEVM_API tilevm_status tilevm_sizes(const tilevm_program* program, const char* entry,
                                      const char* const* known, const char** json);

/// A layout, or the quotient or product of layouts, with or without the type of its elements before
/// it. `form` is "json" (the object of `layouts` of `tilevm layout --json`), "text", "svg" or
/// "html".
TILEVM_API tilevm_status tilevm_layout(const char* expression, const char* form,
                                       const char** result);

/// The target of the current context's device, else of $TILEVM_DEVICE, else of device 0: "sm_90a".
/// NULL, and a message, without a device.
TILEVM_API const char* tilevm_device_target(void);

/// The target of a device by its number; -1 as tilevm_device_target.
TILEVM_API const char* tilevm_target_of(int device);

/// An entry on a device.
typedef struct tilevm_kernel tilevm_kernel;

/// Compiles an entry (or takes it from the kernel cache) and loads it in the primary context of the
/// device, chosen as above; workspaces and temporary tensors are allocated here. The program may be
/// closed afterwards. After a failure `*kernel` is NULL.
TILEVM_API tilevm_status tilevm_load(const tilevm_program* program, const char* entry,
                                     tilevm_kernel** kernel);
/// Loads on the device of a number; -1: chosen as above.
TILEVM_API tilevm_status tilevm_load_on(const tilevm_program* program, const char* entry,
                                        int device, tilevm_kernel** kernel);
/// Whether launches of this kernel may overlap, on several streams and from several threads.
TILEVM_API int tilevm_kernel_may_overlap(const tilevm_kernel* kernel);
/// The number of the device; -1 for NULL.
TILEVM_API int tilevm_kernel_device(const tilevm_kernel* kernel);
TILEVM_API void tilevm_unload(tilevm_kernel* kernel);

/// Puts an entry's launches on a stream (a CUstream or cudaStream_t of the primary context; NULL
/// for the default stream). The data of a tensor is its device address, a multiple of 16; its
/// `bytes` may be 0, and else are checked. Nothing is allocated and nothing waits, so that a CUDA
/// graph can capture it. Launches of a pipeline, or of a kernel with a workspace, must not overlap:
/// load it once for each stream.
TILEVM_API tilevm_status tilevm_launch(const tilevm_kernel* kernel,
                                       const tilevm_argument* arguments, size_t count,
                                       void* stream);

// NOLINTEND(modernize-use-using,readability-identifier-naming)
#ifdef __cplusplus
}
#endif
