// The text at the top of every emitted program: functions for all that is not plain C++, and
// the arithmetic of element types. The files are backend/prelude/*.cuh and
// isa/type/function_sequences.h, embedded at build time.
#pragma once

#include <string_view>

namespace tilevm::backend {

/// What only the GPU can do: PTX, thread indices, memory.
extern const std::string_view prelude_device;
// The lane of a CPU; it contains backend/emu/lane.h.
extern const std::string_view prelude_lane;
extern const std::string_view prelude_emulated;
// Plain C++ over the above, in this order.
extern const std::string_view prelude_bulk;        ///< groups of bulk copies
extern const std::string_view prelude_memory;      ///< packed registers, views of global memory
extern const std::string_view prelude_element;     ///< element types, casts
extern const std::string_view prelude_arithmetic;  ///< functions of elements and tiles
extern const std::string_view prelude_sequences;   ///< isa/type/function_sequences.h
extern const std::string_view prelude_function;    ///< functions of elements of every type
extern const std::string_view prelude_dot;         ///< multiply-adds, bipolar operands
extern const std::string_view prelude_scalar;      ///< scalars
extern const std::string_view prelude_reduce;      ///< elements of a tile combined
extern const std::string_view prelude_lookup;      ///< tables in registers
extern const std::string_view prelude_print;       ///< records of Print, for programs that have it
extern const std::string_view prelude_assert;      ///< what a failed Assert leaves, likewise
extern const std::string_view prelude_probe;       ///< sums of what statements write, if asked for

}  // namespace tilevm::backend
