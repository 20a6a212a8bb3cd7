#include "frontend/syntax/foreign_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilevm::frontend {
namespace {

struct ForeignWord {
  std::string_view word, advice;
};

// Of CUDA, Triton, NumPy, PyTorch and C, sorted by what they are about.
constexpr ForeignWord words[] = {
    // Barriers.
    {"__syncthreads", "a barrier of the block is `Synchronize()`"},
    {"syncthreads", "a barrier of the block is `Synchronize()`"},
    {"Barrier", "a barrier of the block is `Synchronize()`"},
    {"barrier", "a barrier of the block is `Synchronize()`"},
    {"Sync", "a barrier of the block is `Synchronize()`"},
    {"sync", "a barrier of the block is `Synchronize()`"},
    {"debug_barrier", "a barrier of the block is `Synchronize()`"},
    {"__syncwarp", "the threads of a warp are in step; a barrier of the block is `Synchronize()`"},
    // Indices.
    {"program_id", "the indices of a block are `bi, bj = BlockIndices()`"},
    {"blockIdx", "the indices of a block are `bi, bj = BlockIndices()`"},
    {"threadIdx", "threads have no indices here; a layout says which thread holds an element"},
    {"arange",
     "for a tile of 0, 1, 2, .. write `AllocateRegister(i32, layout=L, init=[i for i in "
     "range(n)])`"},
    {"iota",
     "for a tile of 0, 1, 2, .. write `AllocateRegister(i32, layout=L, init=[i for i in "
     "range(n)])`"},
    // Memory.
    {"load",
     "global memory is read by `LoadGlobal(view, layout=.., offset=[..])`, shared memory by "
     "`LoadShared`"},
    {"Load",
     "global memory is read by `LoadGlobal(view, layout=.., offset=[..])`, shared memory by "
     "`LoadShared`"},
    {"store",
     "global memory is written by `StoreGlobal(tile, view, offset=[..])`, shared memory by "
     "`StoreShared`"},
    {"Store",
     "global memory is written by `StoreGlobal(tile, view, offset=[..])`, shared memory by "
     "`StoreShared`"},
    {"zeros", "a tile of zeros is `AllocateRegister(f32, layout=L, init=0)`"},
    {"full", "a tile of one value is `AllocateRegister(f32, layout=L, init=value)`"},
    {"__shared__", "shared memory is `AllocateShared(f32, shape=[..])`"},
    {"cp_async",
     "an asynchronous copy is `CopyAsync`, `CopyAsyncCommitGroup`, `CopyAsyncWaitGroup`"},
    // Arithmetic.
    {"dot", "a matrix product is `Dot(a, b, acc)`"},
    {"matmul", "a matrix product is `Dot(a, b, acc)`"},
    {"mma", "a matrix product is `Dot(a, b, acc)`"},
    {"exp", "the exponential of a tile is `Exp(x)`"},
    {"exp2", "2 to the power of a tile is `Exp2(x)`"},
    {"log", "the logarithm of a tile is `Log(x)`"},
    {"sqrt", "the square root of a tile is `Sqrt(x)`"},
    {"rsqrt", "1 / sqrt(x) of a tile is `Rsqrt(x)`"},
    {"tanh", "the hyperbolic tangent of a tile is `Tanh(x)`"},
    {"sigmoid", "1 / (1 + exp(-x)) of a tile is `Sigmoid(x)`"},
    {"where", "elements are chosen by `Where(mask, a, b)`"},
    {"select", "elements are chosen by `Where(mask, a, b)`"},
    {"maximum", "the larger of two is `max(a, b)`"},
    {"minimum", "the smaller of two is `min(a, b)`"},
    {"fmax", "the larger of two is `max(a, b)`"},
    {"fmin", "the smaller of two is `min(a, b)`"},
    {"fabs", "the absolute value is `abs(x)`"},
    {"fma", "a * b + c, rounded once, is `Fma(a, b, c)`"},
    {"Pow", "there is no power; `Exp2(Log2(x) * y)` for positive x"},
    {"pow", "there is no power; `Exp2(Log2(x) * y)` for positive x"},
    {"ceil_div", "the quotient rounded up is `cdiv(a, b)`"},
    {"ceildiv", "the quotient rounded up is `cdiv(a, b)`"},
    {"div_ceil", "the quotient rounded up is `cdiv(a, b)`"},
    // Reductions.
    {"Sum",
     "sums over a dimension are functions of the standard library: `include "
     "\"std/reduce.tile\"`, then `row_sum(x, scratch)`"},
    {"sum",
     "sums over a dimension are functions of the standard library: `include "
     "\"std/reduce.tile\"`, then `row_sum(x, scratch)`"},
    // Conversions and shapes.
    {"to", "the elements of a tile are converted by `Cast(x, f16)`"},
    {"astype", "the elements of a tile are converted by `Cast(x, f16)`"},
    {"reshape", "a tile takes another layout by `ConvertLayout` or, with its bits, by `View`"},
    {"trans", "a tile is transposed by way of shared memory (programs/transpose.tile)"},
    {"transpose", "a tile is transposed by way of shared memory (programs/transpose.tile)"},
    {"broadcast", "operators broadcast by themselves (docs/semantics.md, Broadcasting)"},
    {"printf", "values are shown by `Print(x)`, with a text: `Print(x, \"label\")`"},
    {"print", "values are shown by `Print(x)`, with a text: `Print(x, \"label\")`"},
    {"atomicAdd", "an atomic sum is `AtomicAdd(view, value)`"},
    {"atomic_add", "an atomic sum is `AtomicAdd(view, value)`"},
    // Types.
    {"half", "16-bit floats are `f16`"},
    {"__half", "16-bit floats are `f16`"},
    {"float", "32-bit floats are `f32`"},
    {"double", "64-bit floats are `f64`"},
    {"bfloat", "bfloat16 is `bf16`"},
    {"__nv_bfloat16", "bfloat16 is `bf16`"},
    {"int", "32-bit integers are `i32`"},
    {"uint", "unsigned 32-bit integers are `u32`"},
    {"long", "64-bit integers are `i64`"},
    {"char", "8-bit integers are `i8`, unsigned ones `u8`"},
    {"size_t", "unsigned 64-bit integers are `u64`"},
    {"int32_t", "32-bit integers are `i32`"},
    {"uint32_t", "unsigned 32-bit integers are `u32`"},
    {"int64_t", "64-bit integers are `i64`"},
    {"uint8_t", "unsigned 8-bit integers are `u8`"},
};

}  // namespace

std::string_view advice_for(std::string_view word) {
  const auto* const found = std::ranges::find(words, word, &ForeignWord::word);
  return found == std::end(words) ? std::string_view{} : found->advice;
}

bool report_foreign_word(const ast::Identifier& name, Diagnostics& diagnostics) {
  const std::string_view advice = advice_for(name.text);
  if (advice.empty()) return false;
  diagnostics.error(Code::unknown_name, name.span,
                    fmt::format("there is no `{}` here; {}", name.text, advice));
  return true;
}

}  // namespace tilevm::frontend
