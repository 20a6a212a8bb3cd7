// Title and explanation of every code. The switch has no default, so that a code without them is a
// warning, which is an error here. More than 400 lines: it is a table of texts in the order of the
// codes.
#include "isa/base/codes.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace tilevm {

namespace {

// Codes have at most four digits.
constexpr int code_end = 10000;

}  // namespace

std::optional<CodeInfo> code_info(Code code) {
  switch (code) {
    // Reading text.
    case Code::syntax_error:
      return CodeInfo{
          "this is not the language's grammar",
          R"(The line cannot be read. The message says what was expected and what was found
instead; the rest of the file is still read.
    x = LoadGlobal(ga layout=L)      # a comma is missing
Write one statement a line, commas between arguments, and `:` after the line that
opens a block.)"};
    case Code::bad_character:
      return CodeInfo{
          "a character has no meaning outside strings and comments",
          R"(Programs are written in ASCII; other characters may stand in strings and comments.
Typical causes are typographic quotes or a non-breaking space pasted from a page.
    x = a × b                        # write a * b
Replace the character; where there is an obvious substitute, the message shows it.)"};
    case Code::bad_indentation:
      return CodeInfo{
          "the indentation does not fit",
          R"(The body of a line that ends with `:` is indented further than that line, all its
statements alike; nothing else is. Tabs and spaces must not be mixed.
    for i in range(4):
    x = f(i)                         # must be indented
Indent each body by four spaces; an empty body is written `pass`. The rest of a line is free.)"};
    case Code::nesting_too_deep:
      return CodeInfo{
          "brackets, blocks or operators nest too deep",
          R"(Brackets, blocks and the tree of an expression may be 256 levels deep. A chain of
binary operators counts one level for each operator.
    x = 1 + 1 + 1 + ...              # 300 terms
Give parts of the expression a name, or compute them in a loop.)"};
    case Code::file_too_large:
      return CodeInfo{
          "the file is too large",
          R"(A program file may have 4 MiB. Larger files are usually data given by mistake.
    tilevm check weights.npy
Programs read their data through `--in NAME=FILE.npy`.)"};
    case Code::bad_number:
      return CodeInfo{
          "this is not a number that can be represented",
          R"(Integers are decimal, 0x.., 0o.. or 0b.. and less than 2^64; `_` may stand between
digits. Other numbers are decimal with a point or an exponent and must be finite.
    const A = 12ab
    const B = 1e999
Write the number in one of these forms; there are no suffixes.)"};
    case Code::not_text:
      return CodeInfo{
          "the file is not UTF-8 text",
          R"(The file has a zero byte or bytes that are not UTF-8, so it is not a program, or it
was saved in another encoding (UTF-16, Latin-1). Control characters, which would act on the terminal
that shows a line, are not text either; in a string they are written as escapes, `\x1b`.
    iconv -f UTF-16 -t UTF-8 old.tile > new.tile
Save it as UTF-8. A byte-order mark and Windows line ends are fine.)"};
    case Code::unclosed_bracket:
      return CodeInfo{
          "a bracket is never closed",
          R"(A line goes on as long as a bracket is open, so a bracket that is never closed would
swallow the rest of the file. The message points at the bracket.
    x = f(a, (b + c)
    y = 1
Close it where its expression ends.)"};

    // Names and operands.
    case Code::cannot_include:
      return CodeInfo{
          "a file cannot be included",
          R"(`include "layouts.tile"` names a file by its path from the file that includes it;
paths that begin with std/ name the standard library. No file includes itself, not even by way of
others. A text without a file, from standard input or through the C interface, has no folder to look
in and includes only std/.
    include "layout.tile"   # the file is called layouts.tile
Correct the path, or give the program as a file.)"};
    case Code::unknown_name:
      return CodeInfo{
          "a name stands for nothing",
          R"(A name must be a constant, a parameter, a variable assigned above, a type or a
layout. Names are case-sensitive.
    const BM = 16
    x = bm * 2                       # BM was meant
Correct the name, or define it before its first use.)"};
    case Code::unknown_instruction:
      return CodeInfo{"there is no such instruction",
                      R"(A call in a kernel must name an instruction, a scalar function or a layout.
    a = LoadGlobl(ga, layout=L, offset=[0:, 0:])
`tilevm isa` lists the instructions; `tilevm isa LoadGlobal` explains one.)"};
    case Code::unknown_operand:
      return CodeInfo{
          "the instruction has no operand of this name",
          R"(Operands may be given by name, and the name must be one that the instruction has.
    acc = AllocateRegister(f32, layout=L, value=0.0)   # init was meant
`tilevm isa NAME` lists the operands of an instruction.)"};
    case Code::unknown_layout:
      return CodeInfo{
          "there is no layout of this name",
          R"(Register layouts are products of local, spatial, column_local, column_spatial and
replicated. Memory layouts are row_major, column_major and strides, with a swizzle.
    layout=column(2, 2).spatial(8, 4)      # column_local was meant
A constant can hold a layout: const L = local(2, 1).spatial(8, 4).)"};
    case Code::unknown_type:
      return CodeInfo{
          "there is no type of this name",
          R"(Types are i1..i8 i16 i32 i64, u1..u8 u16 u32 u64, f16 bf16 tf32 f32 f64, bipolar
b1..b8, small floats f{n}e{E}m{M} with n = 1 + E + M and 3 <= n <= 8, and f8e8m0 and f7e4m3u.
    b = View(a, dtype=f6e3m3)        # 1 + 3 + 3 is 7: f7e3m3
A constant can hold a type: const WT = i6.)"};
    case Code::unknown_decorator:
      return CodeInfo{
          "there is no such decorator",
          R"(A line that begins with `@` says something about the `def` after it; there is
@threads(n), the number of threads of a block.
    @thread(128)
    def f<1>(f16* a):
Correct its name, or remove the line.)"};
    case Code::missing_operand:
      return CodeInfo{"an operand without a default is not given",
                      R"(Operands without a default must be given, in order or by name.
    Dot(a, b)                        # what is the sum added to?
    Dot(a, b, acc, out=acc)
`tilevm isa NAME` shows which operands have a default.)"};
    case Code::duplicate_operand:
      return CodeInfo{"an operand is given twice",
                      R"(An operand may be given by place or by name, once.
    c = Cast(x, f16, dtype=f16)
Remove one of the two.)"};
    case Code::too_many_operands:
      return CodeInfo{
          "more operands than the instruction has",
          R"(A call gives more operands by place than the instruction, layout or function takes.
    x = Cast(a, f16, L)
`tilevm isa NAME` lists the operands in order.)"};
    case Code::duplicate_name:
      return CodeInfo{
          "a name is defined twice",
          R"(Constants, kernels, pipelines and the parameters of one of them each need a name of
their own.
    const M = 64
    const M = 128
Rename or remove one; to change a constant for one run, use -D M=128.)"};
    case Code::wrong_operand_kind:
      return CodeInfo{
          "an operand is of another kind",
          R"(Each operand takes one kind of thing: a register, shared or global tensor, a scalar,
a type, a layout, a list of integers.
    a = LoadGlobal(a_ptr, layout=L, offset=[0:])   # a pointer, not a view
A pointer becomes a global tensor by ViewGlobal.)"};
    case Code::not_a_constant:
      return CodeInfo{
          "a constant is needed here",
          R"(Shapes of tiles, layouts, types and values of `const` must be known before the
program runs: numbers, constants and operators on them.
    const N = n + 1                  # n is a parameter
Use a `const`, which -D overrides for a run.)"};
    case Code::no_result:
      return CodeInfo{"the call gives no value",
                      R"(The instruction gives nothing that could be assigned or passed on.
    x = StoreGlobal(a, gc, offset=[0:, 0:])
Write the call as a statement of its own.)"};
    case Code::result_count:
      return CodeInfo{
          "the number of names differs from the number of results",
          R"(An assignment needs as many names on the left as the right side gives results.
    def f<4, 4>(f16* a):
        i = BlockIndices()           # two extents give two indices
Write one name for each: i, j = BlockIndices().)"};
    case Code::misplaced:
      return CodeInfo{
          "this cannot stand here",
          R"(Constants, `def` and `pipeline` stand at the top level, statements in a body;
`break` and `continue` stand in a loop, `elif` and `else` after an `if`.
    x = 3                            # at the top level: const x = 3
Move the line to where it has a meaning.

As a note of `tilevm check`: a statement that never runs, behind a loop without an end or an Exit.
    while true:                      # and no `break` and no Exit in the loop
        i = i + 1
    StoreGlobal(x, gy)               # never runs
Let the loop end, or remove what follows.)"};
    case Code::unknown_define:
      return CodeInfo{"-D names a constant that the file does not have",
                      R"(-D NAME=VALUE replaces the value of a constant that the file declares.
    tilevm run matmul.tile -D m=64   # the file declares M
The declared constants are the names after `const`.)"};
    case Code::bad_define:
      return CodeInfo{
          "the value of -D does not fit",
          R"(-D NAME=VALUE takes an expression of the language: a number, a type, a layout. It
must be of the kind that the constant is declared with, and one of its choices.
    tilevm run f.tile -D BM=f16      # BM is an integer
Quote values that the shell would read: -D 'L=local(2, 1).spatial(8, 4)'.)"};
    case Code::unknown_kernel:
      return CodeInfo{"there is no kernel of this name",
                      R"(A statement of a pipeline calls a kernel of the same file.
    pipeline main(a: f16[M, K]) -> (c: f16[M, K]):
        matmull(a, c)
Correct the name, or add the `def`.)"};
    case Code::out_not_allowed:
      return CodeInfo{
          "out= is not possible here",
          R"(`out=` names an existing register tile that takes the result. Only instructions that
make a register tile have it, and only where the call is a statement of its own.
    y = Cast(x, f16, out=z)          # y or z?
Assign the result, or write it with out=, not both.)"};
    case Code::unused_result:
      return CodeInfo{"a result is dropped",
                      R"(The call computes a value, does nothing else, and nobody takes the value.
    Cast(x, f16)
Assign it, write it into a tile with out=, or remove the line.

As a note of `tilevm check`: nothing that the kernel writes or shows depends on a tile, a scalar, a
view, a shared tensor or a parameter.
    z = Exp(x)                       # and z is in nothing that is stored
Use it or remove it; a name that begins with `_` may be unused.)"};

    // Types, shapes and layouts.
    case Code::bad_call:
      return CodeInfo{
          "a function is called otherwise than it is defined",
          R"(A call gives each parameter of a function one value, of the kind that the parameter
asks for, and takes as many results as the function returns.
    def scaled(x: tile, factor) -> tile:
        return x * factor
    y = scaled(x)   # without `factor`
Give every parameter a value, in order or by name.)"};
    case Code::recursive_call:
      return CodeInfo{
          "a function calls itself",
          R"(Functions are inlined where they are called, so none may call itself, not even by way
of others.
    def halve(x) -> tile:
        return halve(x) * 0.5
Write a loop.)"};
    case Code::index_out_of_range:
      return CodeInfo{
          "an index is outside of its list",
          R"(Lists and arrays of tiles are indexed by constants, from 0 to their length - 1.
    const SIZES = [16, 32]
    const LARGEST = SIZES[2]   # the last is SIZES[1]
len(SIZES) is the length.)"};
    case Code::type_mismatch:
      return CodeInfo{
          "the element types differ",
          R"(The instruction needs operands of one element type, or of the type of the tensor it
writes. Nothing is converted silently.
    StoreGlobal(acc, gc, offset=[0:, 0:])     # acc is f32, gc is f16
Convert first: Cast(acc, f16).)"};
    case Code::shape_mismatch:
      return CodeInfo{
          "the shapes differ",
          R"(The tiles of an elementwise instruction, and a tile and the place it is written to,
must have equal shapes.
    c = Add(a, b)                    # f16[16, 8] and f16[8, 16]
Choose layouts that cover the same shape.)"};
    case Code::layout_mismatch:
      return CodeInfo{
          "the layouts differ",
          R"(The elements of two tiles that are combined must lie in the same threads and places;
nothing is moved between threads silently.
    c = Add(a, b)                    # one local(4).spatial(32), one spatial(32).local(4)
Load or create both with the same layout.)"};
    case Code::bad_shape:
      return CodeInfo{"this is not a shape",
                      R"(Extents are positive integers, and their product must be within the limits.
    g = ViewGlobal(p, dtype=f16, shape=[M, 0])
Check the constants the extents are made of; integer division truncates.)"};
    case Code::rank_mismatch:
      return CodeInfo{
          "the number of dimensions does not fit",
          R"(Offsets have one entry for each dimension of the tensor, and as many colons as the
tile has dimensions. `e:` starts the tile at e, `e` alone fixes the index.
    b = LoadGlobal(gb, layout=local(3).spatial(32), offset=[bk, bj, 0])
A tile of one dimension needs one colon: offset=[bk, bj, 0:].)"};
    case Code::bad_layout:
      return CodeInfo{
          "this layout cannot be made",
          R"(The factors of a layout are positive integers, all factors have the same rank, and
the whole must be within the limits. Some operations have further conditions.
    local(2, 1).spatial(8)           # ranks 2 and 1
Give every factor the same number of extents; 1 fills up.)"};
    case Code::layout_not_divisible:
      return CodeInfo{
          "the layout does not divide",
          R"(A layout can be divided by another one only if it is a product that ends (or begins)
with it; a shape can be cut only into equal parts.
    local(3).spatial(32)             # divided by spatial(5)
`tilevm layout EXPR` draws a layout and its factors.)"};
    case Code::thread_count_mismatch:
      return CodeInfo{
          "layouts of one kernel use different numbers of threads",
          R"(All register tiles of a kernel are spread over all threads of its block, so all their
layouts have the same number of threads, or that of @threads(n).
    a = AllocateRegister(f32, layout=spatial(32).local(4))
    b = AllocateRegister(f32, layout=spatial(64).local(2))
Let threads hold copies by replicated(n), or choose another layout.)"};
    case Code::out_type_mismatch:
      return CodeInfo{
          "the result does not fit the tile of out=",
          R"(A result that goes into an existing tile must have its element type and layout.
    acc = AllocateRegister(f32, layout=L, init=0.0)
    Cast(x, f16, out=acc)            # f16 into f32
Make the tile with the type of the result, or convert.)"};
    case Code::scalar_type:
      return CodeInfo{
          "a scalar has the wrong type",
          R"(Offsets, extents and ranges are integers, conditions are bool, and operators take
operands that they are defined on. Scalars convert by i32(x), f32(x) and so on.
    if n:                            # n is an i32: write n != 0
Compare or convert explicitly.)"};
    case Code::view_bits_differ:
      return CodeInfo{
          "View would change the number of bits in a thread",
          R"(View reinterprets the registers of each thread, so both types must have the same
number of bits in each thread: elements a thread times bits an element.
    b = View(a, dtype=u8, layout=local(3).spatial(32))   # a: 8 x i6 = 48 bits, not 24
Change the layout on either side until both products agree.)"};
    case Code::view_threads_differ:
      return CodeInfo{"View would change the number of threads",
                      R"(View moves nothing between threads, so both layouts have the same threads.
    b = View(a, dtype=u8, layout=local(3).spatial(32))   # a is over 64 threads
Choose a layout with the number of threads of the source.)"};
    case Code::convert_crosses_threads:
      return CodeInfo{
          "ConvertLayout changes the number of threads",
          R"(All tiles of a kernel are spread over the same threads. A layout with fewer threads than
the kernel has becomes one of all threads by replicas.
    y = ConvertLayout(x, layout=replicated(2).spatial(16))    # x: spatial(32).local(..) of 32 threads)"};
    case Code::bad_tensor_map:
      return CodeInfo{
          "no tensor map for a copy",
          R"(A tensor map (cuTensorMapEncodeTiled) describes a view of rank 1 to 5 of which one dimension is
contiguous and whose other strides are multiples of 16 bytes, and a box of it that lies in shared
memory in rows, plain or with a swizzle of 32, 64 or 128 bytes. Launches make the map, so the view's
extents and strides are made of constants and of parameters.
    x = ViewGlobal(p, shape=[M, 36])             # f16: rows of 72 bytes, no multiple of 16
    s = AllocateShared(f16, shape=[64, 64], layout=column_major)
Pad the rows to a multiple of 16 bytes (`layout=strides(40, 1)`), take a layout of
std/warp_groups.tile, or copy by CopyAsync, which needs no map.)"};
    case Code::no_dot_instruction:
      return CodeInfo{
          "no tensor-core instruction fits this Dot",
          R"(Dot runs on the tensor-core instruction that its operands' types and layouts match;
the target decides which there are. Other layouts work if each thread already has
all the operands of its results.
    Dot(a, b, acc, out=acc)
The message lists the nearest layouts that would fit.)"};
    case Code::dot_shapes:
      return CodeInfo{"the shapes of a Dot do not fit",
                      R"(Dot(a, b, c) takes a[m, k], b[k, n] and c[m, n].
    Dot(a, b, acc, out=acc)          # f16[16, 16], f16[8, 16], f32[16, 8]
Transpose the layout that one of them is loaded with.)"};
    case Code::constant_overflow:
      return CodeInfo{
          "a constant expression overflows",
          R"(Constant expressions are computed in 64 bits, and a constant with an annotation must
fit its type. Overflow is an error, not a wrap.
    const A: i32 = 1 << 40
Use smaller constants or a wider type.)"};
    case Code::division_by_zero:
      return CodeInfo{"a constant is divided by zero",
                      R"(The divisor of a constant `/` or `%` is 0.
    const BN = 0
    const T = N / BN
Check the constant, and values given with -D.)"};
    case Code::value_not_representable:
      return CodeInfo{
          "the type cannot hold this value",
          R"(A literal or constant must be exactly what its type can hold, or round to it for the
wide floats; it is never silently changed.
    acc = AllocateRegister(i6, layout=L, init=40)   # i6 holds -32..31
Choose another value or type.)"};
    case Code::not_supported:
      return CodeInfo{
          "this is not supported",
          R"(The program has a meaning, but this version does not execute it. The message says
what is missing and what can be written instead.
    pipeline p(n: i32) -> (c: f16[M]):
Follow the message's way out.)"};

    // The whole program.
    case Code::require_failed:
      return CodeInfo{
          "a requirement of the program does not hold",
          R"(`require` states what the constants of a program must satisfy; it is checked before
anything runs.
    require K % BK == 0, "K must be a multiple of BK"
Choose constants that satisfy it; -D NAME=VALUE sets them.)"};
    case Code::bad_grid:
      return CodeInfo{
          "the grid is not possible",
          R"(A grid has one to three integer extents, each at least 1 and within what a GPU
launches.
    def f<M / BM>(f16* a):           # M = 8, BM = 16 gives 0 blocks
Check the constants; integer division truncates.)"};
    case Code::too_many_threads:
      return CodeInfo{"a block has too many threads",
                      R"(A block has at most 1024 threads.
    a = AllocateRegister(f32, layout=spatial(64, 64))
Use fewer threads with more elements each: local(..) instead of spatial(..).)"};
    case Code::program_too_large:
      return CodeInfo{
          "the program exceeds a limit",
          R"(The number of elements of a tile, of bytes of a tensor or of statements is limited so
that no program can exhaust the machine that checks it.
    a = AllocateRegister(f32, layout=local(1 << 40).spatial(32))
Use smaller tiles and a loop.)"};
    case Code::offset_out_of_range:
      return CodeInfo{
          "an offset reaches beyond the tensor",
          R"(For some block or iteration the tile begins outside the view. Loads give zeros and
stores are skipped there, so this is a warning; usually a factor is mistaken.
    b = LoadGlobal(g, layout=L, offset=[bk * BK:, bj * BM:])   # BN was meant
Compare the offset's factors with the shape of the view.)"};
    case Code::assigned_in_block:
      return CodeInfo{
          "a name is defined only inside a block",
          R"(The name is assigned first inside the body of a loop or branch, and such a name ends
with that body.
    for i in range(4):
        x = f(i)
    g(x)
Assign it before the block.)"};
    case Code::shadowed_in_block:
      return CodeInfo{
          "an assignment in a block makes a new variable",
          R"(Inside a body a name of an outer variable is assigned a tile of another type. That
makes a new variable that ends with the body; the outer one keeps its value.
    for i in range(4):
        acc = Cast(acc, f16)         # acc is f32 outside
Use another name, or move the line after the block if that was meant.)"};
    case Code::no_entry:
      return CodeInfo{
          "there is nothing to run, or no clear choice",
          R"(A run starts at the pipeline or kernel that --entry names, else at the pipeline
`main`, else at the only one.
    tilevm run two_kernels.tile
Choose one with --entry NAME.)"};
    case Code::argument_mismatch:
      return CodeInfo{"the arguments of a kernel do not fit",
                      R"(A pipeline passes a kernel one argument for each parameter: a tensor of the
pointer's type, or a scalar.
    def f<1>(f16* a, u8* b):
        ...
    pipeline main(a: f16[16]) -> (c: u8[16]):
        f(a)
Give each parameter its argument, in order.)"};
    case Code::unset_output:
      return CodeInfo{
          "an output is never written",
          R"(No statement of the pipeline passes this output to a kernel that stores to it, so its
contents would be undefined.
    pipeline main(a: f16[16]) -> (c: f16[16]):
        f(a, a)
Pass it to the kernel that computes it.)"};
    case Code::never_written:
      return CodeInfo{
          "a tensor is read before anything writes it",
          R"(A tensor that the pipeline allocates has no contents until a kernel has stored to it.
    t = AllocateGlobal(u8, shape=[64])
    consume(t, c)
Call the kernel that fills it first, or swap the calls.)"};

    case Code::shared_memory_too_large:
      return CodeInfo{
          "the shared tensors do not fit",
          R"(The shared tensors of a kernel take more bytes than the target gives a block: 163 KB on
sm_80, 99 KB on sm_86, sm_89 and sm_120, 227 KB on sm_90 and sm_100.
    s = AllocateShared(f32, shape=[256, 256])      # 256 KB
Use smaller tiles, fewer stages or a narrower type.)"};

    // Faults of a run.
    case Code::out_of_bounds:
      return CodeInfo{
          "memory outside a buffer is accessed",
          R"(An access inside the extents of its view touches memory outside the buffer of
the view: the view is larger than the buffer. Shared tensors are checked by their shape.
    g = ViewGlobal(p, dtype=f16, shape=[64, 64])   # p has 64 * 32 elements
Correct the view's shape or strides, or give a larger buffer.)"};
    case Code::step_limit:
      return CodeInfo{
          "the run takes too many steps",
          R"(A block executed more instructions than a run may take; probably a loop never ends.
    while i < n:                     # and i never changes
Check the loop's condition.)"};
    case Code::run_division_by_zero:
      return CodeInfo{
          "an integer is divided by zero",
          R"(At run time the divisor of an integer `/` or `%`, or an element of the divisor of Div
or Mod, is 0.
    q = Div(a, b)                    # b holds a 0
Check the data, or guard the division by a condition.)"};
    case Code::uninitialized_read:
      return CodeInfo{
          "an element is used that was never written",
          R"(A register or shared element reaches a store, a branch or a print, but nothing has
written it in this block.
    acc = AllocateRegister(f32, layout=L)          # no init
    StoreGlobal(acc, gc, offset=[0:, 0:])
Give AllocateRegister an init, or write every element before.)"};

    case Code::in_flight_access:
      return CodeInfo{
          "an asynchronous copy is still in flight",
          R"(A CopyAsync may arrive at any time until a CopyAsyncWaitGroup retires its group and a
Synchronize follows. Before that its destination must not be read or written, nor its source written.
    CopyAsync(s, g, offset=[0:, 0:])
    CopyAsyncCommitGroup()
    x = LoadShared(s, layout=L)                    # too early
Wait for the group, then synchronize. CopyAsyncWaitGroup(n) leaves the n latest groups in flight.)"};
    case Code::race:
      return CodeInfo{
          "two accesses to memory race",
          R"(Two accesses touch the same byte, one of them writes it, and nothing orders them: which
comes first is left to chance. The report names the two; what orders them depends on whose they are.

Threads of a block ("what thread 5 wrote"), in shared or in global memory: a Synchronize orders them.
    StoreShared(x, s)
    y = LoadShared(s, layout=other)                # reads what another thread wrote
Put a Synchronize() between the two; in a loop also between the end and the next begin.

Blocks ("races with another block"), in global memory: no barrier holds between blocks.
    StoreGlobal(x, y, offset=[i * 16:])            # tiles of 32 elements overlap
Let each block write elements of its own, or combine elements by Scatter with `op=`, or hand them on
by ReleaseSemaphore and LockSemaphore, or split the work over two kernels.

Copies ("any thread"): the threads make a CopyAsync together, so any of them may touch any element.
    y = LoadShared(s, layout=L)
    CopyAsync(s, g, offset=[0:, 0:])               # overwrites what others may still read
Put a Synchronize() between the two. What a copy wrote is read after CopyAsyncWaitGroup and a
Synchronize.

Elements of one tile ("different elements of the tile"): strides, a layout or indices give two of
them one address, and different threads store them.
    Scatter(x, s, index, dim=0)                    # an index occurs twice
Keep the elements apart, or combine them with `op=`.)"};
    case Code::replicas_differ:
      return CodeInfo{
          "replicas of an element differ",
          R"(A layout with replicated(n) says that n threads hold the same element, so they must hold
the same bits. A View gave such a layout to a tile whose threads hold different bits.
    a = LoadGlobal(g, layout=spatial(32).local(2))
    b = View(a, layout=replicated(32).local(2))    # 32 threads with different bits
Load the tile in the replicated layout, or view it in one without replicas.)"};
    case Code::bad_group:
      return CodeInfo{
          "a group of warps or a barrier is not as it must be",
          R"(Groups of warps that run at the same time share no warp, lie within the group around, and
write only what they declare themselves: a name from around would have one value in some threads and
another in the rest.
    with warps(0, 1):
      n = n + 1                                  # n is declared outside of the group
    with warps(1, 5):
      ..

A block has 16 named barriers; each group that synchronizes takes one. Counts of arrivals, stages and
warps are constants.)"};
    case Code::registers_do_not_fit:
      return CodeInfo{
          "the registers of groups of warps do not add up",
          R"(A launch gives every thread the same number of registers; groups may then give some back or
take more (setmaxnreg), in whole warp groups of 4 warps and steps of 8. What groups that run at the
same time take together is at most what the launch has allocated: a group would else wait for ever.
    with warps(0, 4, registers=40):              # 128 x 40
    with warps(4, 12, registers=232):            # + 256 x 232 = 64512 of 384 x 168
`@resident(n)` leaves each of n blocks a share of the 65536 registers of a multiprocessor.)"};
    case Code::barrier_phase:
      return CodeInfo{
          "an arrival or a wait means another phase of a barrier",
          R"(Phases of a barrier have no numbers, only a parity, so a program must make sure that an
arrival counts for the phase that it is meant for, whatever the timing.
    WaitBarrier(full, parity=0, stage=s)         # in a loop: passes at once the second time
    WaitBarrier(full, parity=(k / STAGES) % 2, stage=s)
A fault is: a wait that passes for a phase for which its group has waited already; a wait that the
barrier may overtake, so that it waits for a later phase; more arrivals than a phase takes; an
arrival by threads that do not know that the phase before is complete. The rings of `std/stages.tile`
count phases.)"};
    case Code::barrier_not_ready:
      return CodeInfo{
          "a barrier is used before its initialisation is visible",
          R"(One thread initialises a barrier. Other threads may use it once they have synchronized
with that thread.
    full = AllocateBarrier(arrivals=1)
    Synchronize()                                # then every thread sees the barrier
    WaitBarrier(full, parity=0))"};
    case Code::proxy_not_fenced:
      return CodeInfo{
          "an asynchronous access does not see what was stored before",
          R"(Products that read shared memory, tensor-map and bulk copies reach memory through the async
proxy. A store through the generic proxy is visible to them only after a proxy fence, even if a barrier
came in between; on a GPU it mostly works, and fails now and then.
    StoreShared(x, s)
    FenceProxy()                                 # by the threads that stored ..
    Synchronize()                                # .. before the barrier
What CopyAsync filled needs no fence.)"};
    case Code::named_barrier:
      return CodeInfo{
          "a named barrier is used with different numbers of warps",
          R"(All warps that come to a phase of a named barrier say the same number, and as many come.
    SyncNamedBarrier(1, warps=8)                 # one group of 4 warps ..
    ArriveNamedBarrier(1, warps=4)               # .. and another one say different numbers
A warp comes once to each phase, and again only when it knows that the phase is over.)"};
    case Code::exit_in_flight:
      return CodeInfo{
          "a block ends while asynchronous accesses are under way",
          R"(The shared memory of a block that has ended belongs to the next one, and a copy into it or a
product that reads it would go on. Wait for everything that was begun: for the phase of the barrier
that counts a copy's bytes, or for the last commit group.
    WaitBarrier(full, parity=p, stage=s)         # before the end of the block)"};
    case Code::bad_tensor_box:
      return CodeInfo{
          "a copy by a tensor map that hardware refuses",
          R"(A copy begins along the contiguous dimension at a multiple of 16 bytes, and a store never below
zero: otherwise the launch ends with an illegal instruction. A store clips a box that reaches past
the end of the contiguous dimension to the next multiple of 16 bytes, so the extent there must be one:
otherwise the padding of a row, or what stands behind the tensor, is overwritten.
    CopyAsyncTensorGlobalToShared(s, x, barrier=full, offset=[i:, 4:])   # f16: 8 bytes
Begin at a multiple of 16 bytes; pad the last extent, or store the edge by StoreGlobal.)"};
    case Code::redundant_barrier:
      return CodeInfo{
          "a barrier or a wait that this run does not need",
          R"(A note, not an error: nothing in this run would have been wrong without this
Synchronize or CopyAsyncWaitGroup alone. It may be needed for other sizes, or together with another
one that is as redundant.
    StoreShared(x, s)
    Synchronize()
    Synchronize()                                  # separates nothing more
A barrier costs time on a GPU: remove it, run again, and compare.

`tilevm check` says it of every Synchronize of a kernel whose threads share no memory.)"};
    case Code::modelled_instruction:
      return CodeInfo{
          "an approximate instruction whose bits were not compared on this architecture",
          R"(A note, not an error: instructions such as Ex2Approx have the bits of a GPU's special
function unit. All arguments were compared on a GPU of sm_90; that other architectures give
the same bits is a model. `tilevm record` on such a GPU says in seconds whether they do.
    p = Ex2Approx(x)                               # --target sm_90a: bits that were compared
docs/reference/approximations.md has the functions, their errors and what was compared where.)"};
    case Code::products_in_flight:
      return CodeInfo{
          "a block or a group of warps ends, or divides, while products are in flight",
          R"(The results of a DotAsync arrive when its group is waited for. A block that ends before
loses them, and its shared memory goes to another block while tensor cores still read it.
    DotAsyncCommitGroup()
    DotAsyncWaitGroup(0)
Wait for all groups before the end of the kernel. Each warp counts its products, so a group of warps
waits before its own end, and before a group inside of it multiplies.)"};
    case Code::deadlock:
      return CodeInfo{
          "blocks wait for one another, or for a block that cannot begin",
          R"(Every block that runs waits at a LockSemaphore for a value that nobody is left to
release. On a GPU the launch would never end.
    LockSemaphore(turn, b)                         # block b takes its turn ..
    StoreGlobal(x, y)
                                               # .. and must let the next one in:
    ReleaseSemaphore(turn, b + 1)
A GPU begins blocks in ascending order, as many as fit it; the others begin when those end. So a
block must not wait for one that begins much later.)"};
    case Code::emulated_fault:
      return CodeInfo{
          "a compiled kernel did what a GPU stops for",
          R"(The engine emu runs the code that would run on a GPU, thread by thread. A thread divided
by zero, touched memory that is not there or not at a multiple of the access, or threads that must
meet at one instruction came to different ones.
    tilevm run FILE --engine sim          # finds the program's own fault, and says more
If the simulator finds none, the code is wrong, not the program: please report it with the folder
that `tilevm diff FILE --engines sim,emu --bundle DIR` writes.)"};

    case Code::assertion_failed:
      return CodeInfo{"an assertion does not hold",
                      R"(The condition of an Assert is false, or an element of its tile is 0.
    Assert(Lt(index, limit), "the index is in the table")
The report names the block and the element; `tilevm debug` stops there and tells by `why` where the
values come from.)"};

    // Input and output data.
    case Code::range_step:
      return CodeInfo{
          "the step of a range is 0",
          R"(A range counts from its begin to its end by its step. At run time the step is 0, so that
the loop would never end.
    for k in range(0, n, step):      # and step is 0
Pass a step that is positive or negative.)"};
    case Code::unwritten_output:
      return CodeInfo{
          "elements of an output are never written",
          R"(The run stored nothing to these elements, so they hold what memory held before the launch.
    def scale<M / BM>(f32* x, f32* y):   # M = 100, BM = 64: one block, 36 elements are left
Often the grid is one block short: (M + BM - 1) / BM rounds up, and what a block stores outside of
a view is skipped. `tilevm run --require-written` makes it an error.)"};
    case Code::store_outside:
      return CodeInfo{
          "a store never meets its view",
          R"(Each time this store ran, its whole tile was outside of the view, where nothing is stored.
    StoreGlobal(x, y, offset=[b * 64 - 6400:])     # before the first element, in every block
Check the offset; negative indices are outside too.)"};
    case Code::unordered_places:
      return CodeInfo{
          "places of a sparse matrix do not ascend",
          R"(DotSparse takes two stored elements of each group of four, with their places. In each
pair the first place must be less than the second; what a GPU computes otherwise is undefined.
    d = DotSparse(a, p, b, c)        # p has pairs like (2, 1) or (3, 3)
Sort the two elements of a group by their places. Where a group has fewer than two elements that
are not zero, store zeros at two places that differ.)"};
    case Code::address_wraps:
      return CodeInfo{
          "an address wraps around",
          R"(An offset, an extent or a stride, or a scalar that it is computed from, has a value that its
type does not hold, so another element than the one that is meant is touched.
    x = LoadGlobal(g, layout=L, offset=[b * stride:])          # i32: 65536 * 65536 is 0
    x = LoadGlobal(g, layout=L, offset=[i64(b) * stride:])     # 64 bits hold it
It is a warning before the run where the ranges of block indices and loops prove it, and a fault when
it happens (the check `wraps`). What is below a remainder or an operation on bits may wrap, as hashes
do.)"};
    case Code::index_outside:
      return CodeInfo{
          "an index that data chose is outside of its view",
          R"(An offset without a colon names an index that the view does not have. Loads give zeros there
and stores nothing, so a wrong page number looks like a page of zeros.
    page = LoadScalar(table, offset=[s, n])
    k = LoadGlobal(cache, layout=L, offset=[page, 0:])         # page is 9, the cache has 4
With `--check all,outside` the elements of the index tiles of Gather, Scatter and CopyAsync count as
well. A kernel that means it tests the index (`if page < PAGES:`), or gives it a colon and the tile a
dimension of extent 1: a colon says that the tile may reach outside of the view.)"};
    case Code::padding_used:
      return CodeInfo{
          "an output depends on elements outside of a view",
          R"(A load gave zeros for elements outside of its view, and the value of a stored element was
computed from them (the check `padding`, which `all` does not include).
    x = LoadGlobal(view_of_100, layout=spatial(128))           # 28 elements are zeros
    s = Reduce(Exp(x), add, dims=0)                            # exp(0) is 1: 28 too much
    s = Reduce(Where(inside, Exp(x), 0), add, dims=0)          # 0 changes no sum
Elements that are neutral for what combines them change nothing: zeros in a sum, in a matrix product
or as a term that is added to an accumulator, -inf in a maximum.)"};
    case Code::bad_specification:
      return CodeInfo{
          "an input or output is specified wrongly",
          R"(--in NAME=SPEC takes FILE.npy, rand[:SEED], wild[:SEED], corner[:SEED], zeros, iota,
full:VALUE, codes:FILE.npy or packed:FILE.npy; --out NAME=DEST takes FILE.npy or codes:FILE.npy.
    tilevm run f.tile --in a=random
A kernel's pointer can be given a type: --in 'a=f16[64, 64]=rand:1'.)"};
    case Code::bad_file:
      return CodeInfo{
          "a data file cannot be read",
          R"(The file is not an .npy, .npz or .safetensors file, is cut short or damaged, or holds what
this program does not read (objects, structures).
    tilevm run f.tile --in a=notes.txt
Write it with numpy.save, numpy.savez or safetensors, and a number type.)"};
    case Code::wrong_data_shape:
      return CodeInfo{
          "data has another shape than its tensor",
          R"(The array's shape must be that of the tensor; packed data must have its number of
bytes.
    tilevm run f.tile --in a=a.npy   # (64, 32) for f16[64, 64]
Reshape the array, or set the constants with -D.)"};
    case Code::wrong_data_type:
      return CodeInfo{
          "data has another type than its tensor",
          R"(The array's element type cannot hold values of the tensor's type, for example complex
numbers, or codes that are not unsigned integers.
    tilevm run f.tile --in b=codes:b.npy   # b.npy holds float32
Convert the array; `codes:` wants the raw bits as unsigned integers.)"};
    case Code::data_not_representable:
      return CodeInfo{
          "a number in the data does not fit the type",
          R"(Integers are never changed, and no number saturates: each must be a value of the tensor's
type, up to the rounding of floats. With --exact floats are not rounded either. The message names
the first number that does not fit.
    tilevm run f.tile --in b=b.npy   # holds 40, b is i6: -32..31
Quantise the data first, or give raw bits by codes:FILE.npy.)"};
    case Code::unknown_tensor:
      return CodeInfo{"there is no tensor of this name",
                      R"(--in and --out name a parameter of the kernel or pipeline that runs.
    tilevm run f.tile --in x=zeros   # the parameter is called a
The message lists the names.)"};
    case Code::cannot_infer_tensor:
      return CodeInfo{"the type or size of a pointer's buffer is not known",
                      R"(For a kernel that runs without a pipeline, the buffers of its pointers are
inferred from the constant views made of them; here there is none, or they disagree.
    def f<1>(f16* p, i32 n):
        g = ViewGlobal(p, dtype=f16, shape=[n])
Say it: --in 'p=f16[64]=rand:1', or write a pipeline.)"};
    case Code::data_rounded:
      return CodeInfo{
          "numbers of a data file were rounded to the type",
          R"(Floats that the tensor's type does not hold are rounded to the nearest that it holds, ties
to even, as astype of NumPy does. The note says how many, the largest error and the first.
    tilevm run f.tile --in a=a.npy   # holds 0.1 as float32, a is f16: 0.099976
Give --exact to refuse such data, or convert it before it is saved.)"};
  }
  return std::nullopt;
}

std::vector<Code> all_codes() {
  std::vector<Code> codes;
  for (int number = 0; number < code_end; ++number) {
    const auto code = static_cast<Code>(number);
    if (code_info(code)) codes.push_back(code);
  }
  return codes;
}

std::string to_string(Code code) { return fmt::format("TV{:04}", static_cast<int>(code)); }

std::optional<Code> parse_code(std::string_view text) {
  const auto is = [](char c, char letter) { return c == letter || c == letter + 'a' - 'A'; };
  if (text.size() > 2 && is(text[0], 'T') && is(text[1], 'V')) text.remove_prefix(2);
  unsigned number = 0;
  const char* const begin = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || stop != end || number >= code_end) return std::nullopt;
  const auto code = static_cast<Code>(number);
  return code_info(code) ? std::optional(code) : std::nullopt;
}

}  // namespace tilevm
