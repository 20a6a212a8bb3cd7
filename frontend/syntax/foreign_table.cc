#include "frontend/syntax/foreign_table.h"

#include <fmt/format.h>

#include "isa/inst/instruction_set.h"
#include "isa/type/dtype.h"

namespace tilevm::frontend {
namespace {

/// "`Reduce($x, add, dims=$d)`": the call of an instruction, by the name that its schema has.
template <class Inst>
std::string call(std::string_view operands) {
  return fmt::format("`{}({})`", Inst::schema.description.mnemonic, operands);
}

template <class Inst>
std::string name() {
  return fmt::format("`{}`", Inst::schema.description.mnemonic);
}

using Words = std::vector<ForeignWord>;

void add(Words& table, std::initializer_list<std::string_view> words, const std::string& advice) {
  for (const std::string_view word : words) table.push_back({word, advice});
}

void add_barriers(Words& table) {
  const std::string barrier =
      fmt::format("a barrier of the block is {}", call<isa::Synchronize>(""));
  add(table,
      {"__syncthreads", "syncthreads", "Barrier", "barrier", "Sync", "sync", "debug_barrier",
       "bar_sync", "sync_threads"},
      barrier);
  add(table, {"__syncwarp", "syncwarp", "syncWarp"},
      fmt::format("the smallest barrier is that of the block, {}; {} and {} move values between "
                  "threads without one",
                  call<isa::Synchronize>(""), name<isa::ConvertLayout>(), name<isa::Reduce>()));
  add(table, {"__threadfence", "threadfence", "__threadfence_block"},
      fmt::format("what a block did before {} is seen by blocks that wait with {}",
                  call<isa::ReleaseSemaphore>("view, value"),
                  call<isa::LockSemaphore>("view, value")));
  add(table,
      {"__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__shfl", "shfl",
       "shfl_sync", "warp_reduce", "__reduce_add_sync", "__reduce_max_sync"},
      fmt::format("values move between threads by {} and {}, which take shuffles where they can",
                  call<isa::ConvertLayout>("x, L"), call<isa::Reduce>("x, add, dims=0")));
}

void add_indices(Words& table) {
  const std::string blocks = fmt::format("the indices of a block are `bi, bj = {}()`",
                                         isa::BlockIndices::schema.description.mnemonic);
  add(table, {"program_id", "blockIdx", "block_id", "get_group_id"}, blocks);
  add(table, {"num_programs", "gridDim"},
      "the extents of the grid are those in the kernel's header, `def name<M / BM, N / BN>(..)`");
  add(table, {"threadIdx", "tid", "get_local_id", "lane_id", "laneId", "warp_id", "warpId"},
      fmt::format("threads have no indices here; a layout says which thread holds an element, and "
                  "an element's own index is {}",
                  call<isa::Iota>("i32, layout=L")));
  add(table, {"blockDim"}, "the threads of a block are `num_threads(L)` of any of its layouts");
  add(table, {"arange"},
      fmt::format("a tile of 0, 1, 2, .. is {}", call<isa::Iota>("i32, layout=L")));
  add(table, {"enumerate", "static_range", "xrange", "zip"},
      "a loop is `for i in range(n):`, a list `[f(i) for i in range(4)]`");
  add(table, {"linspace", "eye", "tril", "triu"},
      fmt::format("tiles of such values are made of indices, {}",
                  call<isa::Iota>("i32, layout=L, dim=0")));
  add(table, {"rand", "randn", "randint", "random"},
      fmt::format("random words are {} of a tile of u32", call<isa::Philox>("counter, key")));
}

void add_memory(Words& table) {
  add(table, {"load", "Load", "ld", "__ldg", "read"},
      fmt::format("global memory is read by {}, shared memory by {}",
                  call<isa::LoadGlobal>("view, layout=L, offset=[i:]"),
                  call<isa::LoadShared>("s, layout=L")));
  add(table, {"store", "Store", "st", "write"},
      fmt::format("global memory is written by {}, shared memory by {}",
                  call<isa::StoreGlobal>("$x, view, offset=[i:]"),
                  call<isa::StoreShared>("$x, s")));
  add(table, {"zeros", "zeros_like"},
      fmt::format("a tile of zeros is {}", call<isa::AllocateRegister>("f32, layout=L, init=0.0")));
  add(table, {"ones", "ones_like"},
      fmt::format("a tile of ones is {}", call<isa::AllocateRegister>("f32, layout=L, init=1.0")));
  add(table, {"full", "full_like", "splat", "fill"},
      fmt::format("a tile of one value is {}",
                  call<isa::AllocateRegister>("f32, layout=L, init=value")));
  add(table, {"empty", "empty_like", "tensor", "array"},
      fmt::format("a tile in registers is {}, with values `init=[1, 2]`",
                  call<isa::AllocateRegister>("f32, layout=L")));
  add(table, {"__shared__", "shared_array", "smem"},
      fmt::format("shared memory is {}", call<isa::AllocateShared>("f32, shape=[64]")));
  add(table, {"make_tensor", "make_block_ptr", "make_tensor_descriptor", "as_strided"},
      fmt::format("memory has a shape and strides by {}",
                  call<isa::ViewGlobal>("ptr, shape=[M, N], layout=strides(N, 1)")));
  add(table, {"cp_async", "memcpy_async", "async_copy", "__pipeline_memcpy_async"},
      fmt::format("an asynchronous copy is {}, {}, {}", name<isa::CopyAsync>(),
                  name<isa::CopyAsyncCommitGroup>(), name<isa::CopyAsyncWaitGroup>()));
  add(table, {"tma_load", "tma_copy", "tma_store", "cp_async_bulk_tensor"},
      fmt::format("a copy by a tensor map is {} or {}", name<isa::CopyAsyncTensorGlobalToShared>(),
                  name<isa::CopyAsyncTensorSharedToGlobal>()));
  add(table, {"ldmatrix", "stmatrix", "movmatrix", "load_matrix_sync", "store_matrix_sync"},
      fmt::format("{}, {} and {} take instructions on matrices where layouts let them",
                  name<isa::LoadShared>(), name<isa::StoreShared>(), name<isa::ConvertLayout>()));
  add(table, {"index_select", "take", "embedding"},
      fmt::format("elements whose index is data are loaded by {}",
                  call<isa::Gather>("view, index, dim=0")));
  add(table,
      {"atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor",
       "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor", "index_add", "scatter_add"},
      fmt::format("a tile is combined with memory by {}, or `op=max` and others; one counter of "
                  "blocks is {}",
                  call<isa::Scatter>("x, view, index, dim=0, op=add"),
                  call<isa::AtomicAdd>("view, 1")));
  add(table, {"atomicCAS", "atomic_cas", "atomicExch", "atomic_xchg"},
      fmt::format("no instruction compares and swaps; blocks take turns by {} and {}",
                  call<isa::LockSemaphore>("view, value"),
                  call<isa::ReleaseSemaphore>("view, value")));
}

void add_arithmetic(Words& table) {
  add(table, {"matmul", "mma", "mm", "bmm", "gemm", "wmma", "mma_sync", "einsum"},
      fmt::format("a matrix product is {}", call<isa::Dot>("a, b, acc")));
  add(table, {"wgmma", "warpgroup_mma", "wgmma_mma_async"},
      fmt::format("a product of warp groups that completes later is {}, with {} and {}",
                  call<isa::DotAsync>("a, b, acc"), name<isa::DotAsyncCommitGroup>(),
                  name<isa::DotAsyncWaitGroup>()));
  add(table, {"fence_proxy_async", "fence_view_async_shared"},
      fmt::format("it is {}", call<isa::FenceProxy>("")));
  add(table, {"dot_scaled"},
      fmt::format("a product of scaled tiles is {}", name<isa::DotScaled>()));
  add(table, {"expf", "__expf"},
      fmt::format("the exponential of a tile is {}", call<isa::Exp>("$x")));
  add(table, {"exp2f"}, fmt::format("2 to the power of a tile is {}", call<isa::Exp2>("$x")));
  add(table, {"expm1"}, fmt::format("it is {} less 1", call<isa::Exp>("$x")));
  add(table, {"log1p"}, fmt::format("it is {}", call<isa::Log>("1.0 + $x")));
  add(table, {"log10"}, "it is `Log($x) * 0.4342944819`");
  add(table, {"logf", "__logf", "ln"},
      fmt::format("the natural logarithm of a tile is {}", call<isa::Log>("$x")));
  add(table, {"log2f"},
      fmt::format("the logarithm to the base 2 of a tile is {}", call<isa::Log2>("$x")));
  add(table, {"powf", "power"}, fmt::format("x to the power of y is {}", call<isa::Pow>("$x, y")));
  add(table, {"square"}, "the square of a tile is `$x * $x`");
  add(table, {"sqrtf", "sqrt_rn"},
      fmt::format("the square root of a tile is {}", call<isa::Sqrt>("$x")));
  add(table, {"rsqrtf"}, fmt::format("1 / sqrt(x) of a tile is {}", call<isa::Rsqrt>("$x")));
  add(table, {"reciprocal"}, fmt::format("1 / x of a tile is {}", call<isa::Rcp>("$x")));
  add(table, {"sinf", "__sinf"}, fmt::format("the sine of a tile is {}", call<isa::Sin>("$x")));
  add(table, {"cosf", "__cosf"}, fmt::format("the cosine of a tile is {}", call<isa::Cos>("$x")));
  add(table, {"tanhf"},
      fmt::format("the hyperbolic tangent of a tile is {}", call<isa::Tanh>("$x")));
  add(table, {"erff"}, fmt::format("the error function of a tile is {}", call<isa::Erf>("$x")));
  add(table, {"floorf"}, fmt::format("the integer below is {}", call<isa::Floor>("$x")));
  add(table, {"rint", "nearbyint"},
      fmt::format("the nearest integer is {}", call<isa::Round>("$x")));
  add(table, {"select", "choose"},
      fmt::format("elements are chosen by {}, or `a if mask else b`",
                  call<isa::Where>("mask, a, b")));
  add(table, {"maximum", "fmax", "fmaxf"}, "the larger of two is `max(a, b)`");
  add(table, {"minimum", "fmin", "fminf"}, "the smaller of two is `min(a, b)`");
  add(table, {"clamp", "clip"}, "values between two bounds are `max(low, min($x, high))`");
  add(table, {"relu", "ReLU"}, "values that are not negative are `max($x, 0.0)`");
  add(table, {"fabs", "fabsf", "absolute"}, "the absolute value is `abs($x)`");
  add(table, {"fmaf", "__fmaf_rn", "addcmul"},
      fmt::format("a * b + c, rounded once, is {}", call<isa::Fma>("a, b, c")));
  add(table, {"fdiv", "__fdividef", "divide_rn", "true_divide"}, "a quotient is `a / b`");
  add(table, {"fmod", "remainder"}, "a remainder is `a % b`");
  add(table, {"ceil_div", "ceildiv", "div_ceil", "ceilDiv"},
      "the quotient rounded up is `cdiv(a, b)`");
  add(table, {"softmax"},
      fmt::format("a row's softmax is `e = Exp(x - {0}(x, max, dims=1, keep_dims=true))`, then "
                  "`e / {0}(e, add, dims=1, keep_dims=true)`",
                  isa::Reduce::schema.description.mnemonic));
  add(table, {"logical_and"}, "masks are combined by `a & b`");
  add(table, {"logical_or"}, "masks are combined by `a | b`");
  add(table, {"logical_not"}, "the complement of a mask is `~$x`");
}

void add_reductions(Words& table) {
  const auto reduction = [](std::string_view operation) {
    return fmt::format("{0}`{1}($x, {2}, dims=$d)`", "along a dimension it is ",
                       isa::Reduce::schema.description.mnemonic, operation);
  };
  add(table, {"sum", "Sum", "reduce_sum", "row_add"}, reduction("add"));
  add(table, {"prod", "product"}, reduction("mul"));
  add(table, {"amax", "reduce_max"}, reduction("max"));
  add(table, {"amin", "reduce_min"}, reduction("min"));
  add(table, {"any"}, reduction("bit_or"));
  add(table, {"all"}, reduction("bit_and"));
  add(table, {"xor_sum"}, reduction("bit_xor"));
  add(table, {"mean", "average"},
      fmt::format("a mean is {} over the extent, `/ n`", call<isa::Reduce>("$x, add, dims=$d")));
  add(table, {"cumsum"}, fmt::format("running sums are {}", call<isa::Scan>("$x, add, dim=$d")));
  add(table, {"cumprod"},
      fmt::format("running products are {}", call<isa::Scan>("$x, mul, dim=$d")));
  add(table, {"cummax"}, fmt::format("running maxima are {}", call<isa::Scan>("$x, max, dim=$d")));
  add(table, {"associative_scan"},
      fmt::format("running results of add, mul, max, min and of bits are {}; those of a function "
                  "of one's own are not",
                  call<isa::Scan>("$x, add, dim=$d")));
  add(table, {"sort", "topk", "argsort"},
      fmt::format("nothing sorts a tile; the largest element and its index are `v, i = {}($x, "
                  "argmax, dims=$d)`",
                  isa::Reduce::schema.description.mnemonic));
  add(table, {"histogram", "bincount"},
      fmt::format("elements are counted by {} with a tile of ones",
                  call<isa::Scatter>("ones, counts, $x, dim=0, op=add")));
}

void add_conversions(Words& table) {
  add(table, {"to", "astype", "static_cast", "convert", "convert_element_type"},
      fmt::format("the elements of a tile are converted by {}", call<isa::Cast>("$x, $t")));
  add(table, {"bitcast", "reinterpret_cast", "view_as", "__float_as_int", "__int_as_float"},
      fmt::format("the bits of a tile are another type by {}", call<isa::View>("$x, dtype=u32")));
  add(table, {"item"},
      fmt::format("one element of memory is a scalar by {}",
                  call<isa::LoadScalar>("view, offset=[i]")));
  add(table, {"trans", "transpose", "swapaxes", "t_"},
      fmt::format("a tile with its dimensions exchanged is {}, at no cost; {} then gives it any "
                  "layout",
                  call<isa::View>("$x, layout=layout_of($x).permute(1, 0)"),
                  name<isa::ConvertLayout>()));
  add(table, {"flatten", "ravel", "resize"},
      fmt::format("a tile has another shape by {}",
                  call<isa::View>("$x, layout=layout_of($x).reshape(64)")));
  add(table, {"expand_dims"},
      fmt::format("a tile has one more dimension by {}",
                  call<isa::View>("$x, layout=layout_of($x).unsqueeze(0)")));
  add(table, {"broadcast", "broadcast_to", "expand", "repeat"},
      "operators broadcast by themselves (docs/reference/arithmetic.md, Broadcasting)");
  add(table, {"cat", "concatenate", "stack", "join", "hstack", "vstack"},
      fmt::format("tiles side by side are {}", call<isa::Concat>("a, b, dim=0")));
  add(table, {"split", "chunk", "narrow", "tensor_split"},
      fmt::format("a part of a tile is {}", call<isa::Slice>("$x, 0, 0, 8")));
  add(table, {"None", "null", "NULL", "nullptr", "undefined", "Ellipsis"},
      "an operand that is optional is left out, and a scalar has a value from its first line on");
  add(table, {"printf", "device_print", "static_print", "println", "echo"},
      fmt::format("values are shown by {}, with a text: `{}($x, \"label\")`",
                  call<isa::Print>("$x"), isa::Print::schema.description.mnemonic));
  add(table, {"device_assert"},
      fmt::format("what must hold is {}", call<isa::Assert>("condition, \"text\"")));
  add(table, {"static_assert"},
      "what must hold of constants is a line `require N % 8 == 0, \"text\"`");
  add(table, {"numel"}, "a tile's elements are `num_locals(layout_of($x))` in each thread");
}

std::vector<ForeignType> make_types() {
  std::vector<ForeignType> types;
  const auto add = [&](std::initializer_list<std::string_view> words, std::string_view ours,
                       std::string_view what) {
    for (const std::string_view word : words) {
      // Long names of types, as NumPy has them, are known here.
      if (!isa::parse_dtype(word)) types.push_back({word, ours, what});
    }
  };
  add({"half", "__half", "float16", "fp16", "half_t"}, "f16", "16-bit floats are");
  add({"float", "float32", "fp32", "float32_t", "single"}, "f32", "32-bit floats are");
  add({"double", "float64", "fp64"}, "f64", "64-bit floats are");
  add({"bfloat", "__nv_bfloat16", "bfloat16"}, "bf16", "bfloat16 is");
  add({"fp8", "float8", "float8_e4m3", "float8_e4m3fn", "float8e4nv", "__nv_fp8_e4m3"}, "f8e4m3",
      "8-bit floats with a mantissa of 3 bits are");
  add({"float8_e5m2", "float8e5", "__nv_fp8_e5m2"}, "f8e5m2",
      "8-bit floats with a mantissa of 2 bits are");
  add({"int", "int32", "int32_t", "signed"}, "i32", "32-bit integers are");
  add({"uint", "unsigned", "uint32", "uint32_t"}, "u32", "unsigned 32-bit integers are");
  add({"long", "int64", "int64_t", "ptrdiff_t"}, "i64", "64-bit integers are");
  add({"size_t", "uint64", "uint64_t"}, "u64", "unsigned 64-bit integers are");
  add({"short", "int16", "int16_t"}, "i16", "16-bit integers are");
  add({"ushort", "uint16", "uint16_t"}, "u16", "unsigned 16-bit integers are");
  add({"int8", "int8_t", "char"}, "i8", "8-bit integers are");
  add({"uint8", "uint8_t", "byte", "uchar"}, "u8", "unsigned 8-bit integers are");
  add({"int4"}, "i4", "4-bit integers are");
  add({"uint4"}, "u4", "unsigned 4-bit integers are");
  add({"int1", "bool_"}, "u1", "bits are");
  return types;
}

void add_types(Words& table) {
  for (const ForeignType& type : foreign_types()) {
    table.push_back(
        {type.word, fmt::format("{} `{}`; a tile is converted by {}", type.what, type.ours,
                                call<isa::Cast>(fmt::format("$x, {}", type.ours)))});
  }
}

Words make_table() {
  Words table;
  add_barriers(table);
  add_indices(table);
  add_memory(table);
  add_arithmetic(table);
  add_reductions(table);
  add_conversions(table);
  add_types(table);
  return table;
}

}  // namespace

const std::vector<ForeignType>& foreign_types() {
  static const std::vector<ForeignType> types = make_types();
  return types;
}

const std::vector<ForeignWord>& foreign_table() {
  static const Words table = make_table();
  return table;
}

const std::vector<ForeignWord>& foreign_attributes() {
  static const Words table{
      {"shape", "the extents of a tile are the list `shape_of($x)`"},
      {"size", "the extents of a tile are the list `shape_of($x)`"},
      {"ndim", "the rank of a tile is `len(shape_of($x))`"},
      {"dtype", "the element type of a tile is `dtype_of($x)`"},
      {"type", "the element type of a tile is `dtype_of($x)`"},
      {"layout", "the layout of a tile is `layout_of($x)`"},
      {"T", fmt::format("a tile with its dimensions exchanged is {}",
                        call<isa::View>("$x, layout=layout_of($x).permute(1, 0)"))},
      {"mT", fmt::format("a tile with its dimensions exchanged is {}",
                         call<isa::View>("$x, layout=layout_of($x).permute(1, 0)"))}};
  return table;
}

const std::vector<ForeignWord>& foreign_lines() {
  static const Words table = [] {
    Words words;
    add(words, {"import", "from", "using"},
        "nothing is imported: instructions are known by their names (`tilevm isa`), and functions "
        "of other files come by `include \"std/reduce.tile\"`");
    add(words, {"kernel", "fn", "func", "function", "void", "__global__", "__kernel", "proc"},
        "a kernel is `def name<extent>(f32* x_ptr, i32 n):`");
    add(words, {"__device__", "inline", "lambda"},
        "a function is `def name(x: tile, n) -> tile:`, with `return`");
    add(words, {"let", "var", "auto", "mut", "constexpr"},
        "a name takes a value by `name = value`; a constant of the file is `const NAME = value`");
    add(words, {"class", "struct", "enum", "typedef", "namespace", "template"},
        "a file has constants, functions, kernels and pipelines; several values together are a "
        "list, `[a, b]`");
    add(words, {"assert"},
        fmt::format("what must hold is {}, of constants `require N % 8 == 0`",
                    call<isa::Assert>("condition, \"text\"")));
    add(words, {"raise", "throw", "try", "except", "catch"},
        fmt::format("a run ends with a report by {}", call<isa::Assert>("false, \"text\"")));
    add(words, {"print"}, fmt::format("values are shown by {}", call<isa::Print>("x, \"label\"")));
    add(words, {"do", "loop", "repeat", "until", "switch", "match", "goto"},
        "loops are `for i in range(n):` and `while condition:`, choices `if`, `elif` and `else`");
    add(words, {"del", "global", "nonlocal", "with", "yield", "async", "await"},
        "names of a kernel need no such line: they end with their block");
    return words;
  }();
  return table;
}

const std::vector<ForeignWord>& instruction_usages() {
  static const Words table{
      {isa::Iota::schema.description.mnemonic,
       fmt::format("a tile of 0, 1, 2, .. is {}", call<isa::Iota>("i32, layout=L"))},
      {isa::AtomicAdd::schema.description.mnemonic,
       fmt::format("{} adds once for the block and gives what was there; the elements of a tile "
                   "are added by {}",
                   call<isa::AtomicAdd>("view, 1"),
                   call<isa::Scatter>("x, view, index, dim=0, op=add"))},
      {isa::Where::schema.description.mnemonic,
       fmt::format("elements are chosen by {}, or `a if mask else b`",
                   call<isa::Where>("mask, a, b"))},
      {isa::Reduce::schema.description.mnemonic,
       fmt::format("elements are combined along a dimension by {}",
                   call<isa::Reduce>("$x, add, dims=$d"))},
      {isa::Cast::schema.description.mnemonic,
       fmt::format("elements are converted by {}", call<isa::Cast>("$x, $t"))},
      {isa::View::schema.description.mnemonic,
       fmt::format("the same bits have another type by {}, another layout by {}",
                   call<isa::View>("$x, dtype=u32"), call<isa::View>("$x, layout=L"))},
      {isa::Print::schema.description.mnemonic,
       fmt::format("values are shown by {}, with a text: `{}($x, \"label\")`",
                   call<isa::Print>("$x"), isa::Print::schema.description.mnemonic)}};
  return table;
}

}  // namespace tilevm::frontend
