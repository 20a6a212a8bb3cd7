// Instructions that make tensors (the paper's Table 1, "Tensor Creation").
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct AllocateGlobal {
  DType dtype;
  TileShape shape;
  std::optional<ViewLayout> layout;
  std::optional<ScalarOperand> init;

  static constexpr auto schema = define<AllocateGlobal>(
      {.mnemonic = "AllocateGlobal",
       .category = Category::creation,
       .sync = Sync::none,
       .result = ResultKind::global_view,
       .summary = "Allocates a tensor in global memory.",
       .detail = "In a pipeline: a temporary tensor between kernels. In a kernel: a workspace that "
                 "all blocks of the launch share; it must stand outside of loops and branches. Its "
                 "contents are unspecified until they are written; with `init=0` every launch "
                 "begins with zeros, which semaphores and counters need.",
       .in_pipeline = true},
      slot("dtype", &AllocateGlobal::dtype, "the element type"),
      slot("shape", &AllocateGlobal::shape, "constant extents"),
      slot("layout", &AllocateGlobal::layout,
           "`row_major` (default), `column_major`, `strides(..)` or a memory layout"),
      slot("init", &AllocateGlobal::init, "the constant 0; of workspaces only"));
  friend bool operator==(const AllocateGlobal&, const AllocateGlobal&) = default;
};

struct AllocateShared {
  DType dtype;
  TileShape shape;
  std::optional<ViewLayout> layout;

  static constexpr auto schema = define<AllocateShared>(
      {.mnemonic = "AllocateShared",
       .category = Category::creation,
       .sync = Sync::none,
       .result = ResultKind::shared_tile,
       .summary = "Allocates a tensor in shared memory.",
       .detail = "It must stand outside of loops and branches. Strides are constants. The contents "
                 "are unspecified until they are written. Each tensor begins at a multiple of 128 "
                 "bytes; together they must fit what the target gives a block."},
      slot("dtype", &AllocateShared::dtype, "the element type"),
      slot("shape", &AllocateShared::shape, "constant extents"),
      slot("layout", &AllocateShared::layout,
           "`row_major` (default), `column_major`, `strides(..)` or a memory layout, which may "
           "have a swizzle"));
  friend bool operator==(const AllocateShared&, const AllocateShared&) = default;
};

struct AllocateRegister {
  DType dtype;
  std::optional<TileShape> shape;
  std::optional<RegisterLayout> layout;
  std::optional<ElementValues> init;

  static constexpr auto schema = define<AllocateRegister>(
      {.mnemonic = "AllocateRegister",
       .category = Category::creation,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Allocates a tile in registers.",
       .detail =
           "Either `shape` or `layout` must be given. Without `layout`, neighbours in the last "
           "dimension go to neighbouring threads; the kernel's thread count must then be given by "
           "`@threads`. Without `init` the elements are uninitialized. `init` is converted "
           "to the element type as Cast does. The values of a list, `init=[1.0, 0.5]`, go to the "
           "elements in row-major order in turn, again and again."},
      slot("dtype", &AllocateRegister::dtype, "the element type"),
      slot("shape", &AllocateRegister::shape, "constant extents; must agree with the layout"),
      slot("layout", &AllocateRegister::layout, "the register layout"),
      slot("init", &AllocateRegister::init, "the value of every element, or a list of values"));
  friend bool operator==(const AllocateRegister&, const AllocateRegister&) = default;
};

struct Iota {
  DType dtype;
  std::optional<RegisterLayout> layout;
  std::optional<DimList> dim;
  std::optional<ScalarOperand> start;

  static constexpr auto schema = define<Iota>(
      {.mnemonic = "Iota",
       .category = Category::creation,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Makes a tile of indices: each element is `start` plus its own index along a "
                  "dimension.",
       .detail = "On integers, which wrap. For masks and positions: `Iota(i32, layout=L, dim=1)` "
                 "numbers the columns. It is arithmetic on the thread's number, no memory."},
      slot("dtype", &Iota::dtype, "the element type, an integer"),
      slot("layout", &Iota::layout, "the register layout; `out`'s if left out"),
      slot("dim", &Iota::dim, "the dimension that is numbered; 0 if left out"),
      slot("start", &Iota::start, "the first number, an integer scalar; 0 if left out"));
  friend bool operator==(const Iota&, const Iota&) = default;
};

struct ViewGlobal {
  PointerOperand ptr;
  std::optional<DType> dtype;
  ExtentList shape;
  std::optional<ViewLayout> layout;

  static constexpr auto schema = define<ViewGlobal>(
      {.mnemonic = "ViewGlobal",
       .category = Category::creation,
       .sync = Sync::none,
       .result = ResultKind::global_view,
       .summary = "Makes a tensor view of global memory.",
       .detail = "Costs nothing. Extents and strides may be any scalar expressions; they are "
                 "evaluated here."},
      slot("ptr", &ViewGlobal::ptr, "a pointer parameter"),
      slot("dtype", &ViewGlobal::dtype, "the element type; the pointer's if left out"),
      slot("shape", &ViewGlobal::shape, "extents"),
      slot("layout", &ViewGlobal::layout,
           "`row_major` (default), `column_major`, `strides(..)` or a memory layout"));
  friend bool operator==(const ViewGlobal&, const ViewGlobal&) = default;
};

struct Philox {
  RegisterOperand counter;
  ScalarOperand key;
  std::optional<ScalarOperand> stream;

  static constexpr auto schema = define<Philox>(
      {.mnemonic = "Philox",
       .category = Category::creation,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Makes four random words of every counter.",
       .detail = "Philox 4x32 of 10 rounds (Random123): the same counter, stream and key give the "
                 "same words, in any order and on every engine. The result is a tile of `u32` with "
                 "one more dimension, of extent 4, in front: word w for `counter[x]` is element "
                 "[w, x]; the layout is `local(4, 1, ..).L`, L that of the counters. `Slice` takes "
                 "one of the words."},
      slot("counter", &Philox::counter, "a tile of u32: word 0 of the counter; word 1 is 0"),
      slot("key", &Philox::key, "an integer of 64 bits; narrower signed ones are extended"),
      slot("stream", &Philox::stream, "words 2 and 3 of the counter, likewise; 0 if left out"));
  friend bool operator==(const Philox&, const Philox&) = default;
};

/// Its instructions, in the order of the reference.
using CreationInstructions =
    InstructionList<AllocateGlobal, AllocateShared, AllocateRegister, Iota, Philox, ViewGlobal>;

}  // namespace tilevm::isa
