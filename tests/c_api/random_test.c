// Random calls of libtilevm: random_test COUNT [SEED]. No call may crash, write beside the memory that it
// was given, end with a fault of the library, fail without a message or succeed with one. Run it with
// sanitizers; the stand-in for the driver (TILEVM_LIBCUDA) makes loads and launches possible.
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uint64_t state = 1;

static uint64_t next(void) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dU;
}

static size_t below(size_t n) { return (size_t)(next() >> 11) % n; }
static int once_in(size_t n) { return below(n) == 0; }

static const char* const texts[] = {
    "def add<1>(f32* a_ptr, f32* c_ptr, f32 s):\n"
    "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[6]), layout=local(6))\n"
    "    StoreGlobal(a + s, ViewGlobal(c_ptr, shape=[6]))\n",
    "const N = 4\n"
    "def fill<n>(i16* p, i32 n, bool on):\n"
    "    b = BlockIndices()\n"
    "    if on:\n"
    "        StoreGlobal(AllocateRegister(i16, layout=local(1), init=b), ViewGlobal(p, shape=[n]), "
    "offset=[b:])\n",
    "def add<1>(f32* a_ptr, f32* c_ptr):\n"
    "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[32]), layout=spatial(32))\n"
    "    s = AllocateShared(f32, shape=[32])\n"
    "    StoreShared(a, s)\n"
    "    Synchronize()\n"
    "    StoreGlobal(LoadShared(s, layout=spatial(32)), ViewGlobal(c_ptr, shape=[32]))\n"
    "\n"
    "pipeline twice(a: f32[32]) -> (c: f32[32]):\n"
    "    t = AllocateGlobal(f32, shape=[32])\n"
    "    add(a, t)\n"
    "    add(t, c)\n",
    "def half<1>(f32* x_ptr, f32* y_ptr, i32 n):\n"
    "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[2 * n]), layout=local(4))\n"
    "    StoreGlobal(x, ViewGlobal(y_ptr, shape=[n]))\n"
    "\n"
    "pipeline sized(n: i32, x: f32[2 * n]) -> (y: f32[n]):\n"
    "    half(x, y, n)\n",
    "def codes<1>(u4* a_ptr, i32* n_ptr, u4* c_ptr, u64 n):\n"
    "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[8]), layout=local(8))\n"
    "    for i in range(n):\n"
    "        Print(i)\n"
    "    Assert(n < 5, \"many\")\n"
    "    StoreGlobal(a, ViewGlobal(c_ptr, shape=[8]))\n"
    "    StoreGlobal(Cast(a, i32), ViewGlobal(n_ptr, shape=[8]))\n",
};
static const char* const layouts[] = {
    "local(2, 1).spatial(8, 4).local(1, 2)", "(local(2, 1)) * (spatial(2, 2))", "i6 local(4).spatial(32)",
    "row_major(64, 64).swizzle(3, 3, 3)",    "f16 column_major(8, 8)",          "(local(4)) / (local(2))"};
static const char* const sizes[] = {"x=[8]", "n=4", "y=[2, 3]", "x=[9223372036854775807]", "s=0.5", "a=[32]"};
static const char* const names[] = {"add", "sized", "fill", "twice", "codes", "main", "", "sim"};
static const char* const backends[] = {"sim", "sim", "sim", "cuda", "smi", ""};
static const char* const targets[] = {"sm_90", "sm_90a", "sm_80", "sm_91", ""};
static const char* const forms[] = {"json", "text", "svg", "html", "pdf"};
#define ANY(list) list[below(sizeof list / sizeof *list)]

enum { slots = 8, guard = 64, most = 600 };
static tilevm_program* programs[slots];
static tilevm_kernel* kernels[slots];
static const tilevm_program* loaded[slots];  // of the kernels; a closed one is forgotten
static tilevm_control* controls[slots];
static unsigned char memory[16][guard + most + guard] __attribute__((aligned(16)));

/// A text as it is, or with bytes changed, left out or repeated.
static char* changed(const char* text) {
  const size_t size = strlen(text);
  char* copy = malloc(2 * size + 2);
  memcpy(copy, text, size + 1);
  if (!once_in(4)) return copy;
  for (size_t i = 0, n = 1 + below(3); i < n && *copy != '\0'; ++i) {
    const size_t place = below(strlen(copy));
    switch (below(3)) {
      case 0:
        copy[place] = (char)(once_in(4) ? 1 + below(255) : (size_t) "(),.:=*/0129 \nab<>[]"[below(20)]);
        break;
      case 1:
        memmove(copy + place, copy + place + 1, strlen(copy + place));
        break;
      default:
        copy[place] = copy[below(strlen(copy))];
    }
  }
  return copy;
}

/// A name: none, one that there may be, or another one.
static const char* some_name(void) { return !once_in(4) ? NULL : ANY(names); }

/// Arguments that fit an entry, or nearly; none is larger than the memory that it names. `*name` is
/// mostly that of the entry.
static size_t fill_arguments(const tilevm_program* program, tilevm_argument* arguments,
                             const char** name) {
  size_t count = 0;
  const tilevm_entry* entries = tilevm_entries(program, &count);
  const tilevm_entry* entry = count == 0 ? NULL : &entries[below(count)];
  size_t wanted = below(5);
  *name = entry == NULL || once_in(10) ? some_name() : entry->name;
  for (size_t i = 0; i < 16; ++i) {
    for (size_t k = 0; k < sizeof memory[i]; ++k) memory[i][k] = 0xa5;
    const tilevm_parameter* parameter =
        entry != NULL && i < entry->parameter_count ? &entry->parameters[i] : NULL;
    size_t bytes = parameter != NULL && parameter->bytes != 0 ? parameter->bytes : below(64);
    if (once_in(60)) bytes = below(most);
    if (bytes > most) bytes = most;
    memset(memory[i] + guard, 0, most);
    if (parameter != NULL && parameter->role == TILEVM_SCALAR) memory[i][guard] = (unsigned char)below(8);
    arguments[i].data = once_in(100) ? NULL : memory[i] + guard + (once_in(100) ? 1 : 0);
    arguments[i].bytes = bytes;
  }
  if (entry != NULL && !once_in(20)) wanted = entry->parameter_count;
  return wanted;
}

static void check_guards(void) {
  for (size_t i = 0; i < 16; ++i) {
    for (size_t k = 0; k < guard; ++k) {
      if (memory[i][k] == 0xa5 && memory[i][guard + most + k] == 0xa5) continue;
      CHECK(!"memory beside an argument was written");
      return;
    }
  }
}

static long done_well = 0;

static void check_status(tilevm_status status) {
  done_well += status == TILEVM_OK ? 1 : 0;
  const int known = status == TILEVM_OK || (status >= TILEVM_FAULT && status <= TILEVM_LIMIT);
  CHECK(known);
  const int said = *tilevm_message() != '\0';
  CHECK(said == (status != TILEVM_OK));
  CHECK(*tilevm_diagnostics() == '[');
}

static void call_open(void) {
  const size_t slot = below(slots);
  for (size_t i = 0; i < slots; ++i) {
    if (loaded[i] == programs[slot]) loaded[i] = NULL;
  }
  tilevm_close(programs[slot]);
  char* text = changed(ANY(texts));
  const char* const defines[] = {once_in(4) ? "N=3" : NULL, NULL};
  check_status(tilevm_open(once_in(50) ? NULL : text, once_in(2) ? NULL : "random.tile", defines,
                           !once_in(6) ? NULL : ANY(targets), &programs[slot]));
  free(text);
}

static void call_run(tilevm_program* program) {
  tilevm_argument arguments[16];
  const char* name = NULL;
  const size_t count = fill_arguments(program, arguments, &name);
  tilevm_control* control = !once_in(4) ? NULL : controls[below(slots)];
  const tilevm_run_options options = {.size = once_in(20) ? below(200) : sizeof options,
                                      .checks = once_in(2) ? NULL : once_in(9) ? "race" : "all",
                                      .threads = once_in(20) ? -1 : 1,
                                      .count_accesses = (int)below(2),
                                      .max_steps = once_in(2) ? 0 : below(100),
                                      .control = control};
  if (once_in(20)) arguments[below(3)].data = arguments[below(3)].data;  // one memory, perhaps
  if (once_in(10)) {
    const char* page = NULL;
    const tilevm_status status = tilevm_page_with(program, name, arguments, count, once_in(3) ? NULL : &options, &page);
    check_status(status);
    CHECK(status != TILEVM_OK || page != NULL);
  }
  check_status(tilevm_run_with(program, name, once_in(50) ? NULL : ANY(backends),
                               once_in(50) ? NULL : arguments, count, once_in(3) ? NULL : &options));
  check_guards();
  CHECK(tilevm_prints() != NULL && tilevm_counters() != NULL);
}

static void call_report(tilevm_program* program) {
  const char* text = NULL;
  tilevm_status status = TILEVM_OK;
  char* layout = NULL;
  char* input = NULL;
  switch (below(4)) {
    case 0:
      layout = changed(ANY(layouts));
      status = tilevm_layout(layout, ANY(forms), &text);
      break;
    case 1:
      input = changed("a_ptr=iota");
      const char* const inputs[] = {input, once_in(2) ? "s=1" : "n=2", NULL};
      if (once_in(4)) {
        status = tilevm_page(program, some_name(), once_in(3) ? NULL : inputs, next(), NULL, &text);
        // A run that failed has a page.
        if (status == TILEVM_FAULT) text = NULL;
      } else {
        status = tilevm_stats(program, some_name(), once_in(3) ? NULL : inputs, next(), NULL, &text);
      }
      break;
    case 2:
      input = changed(ANY(sizes));
      const char* const known[] = {input, once_in(2) ? ANY(sizes) : NULL, NULL};
      status = tilevm_sizes(program, some_name(), once_in(9) ? NULL : known, &text);
      break;
    default:
      if (once_in(10)) status = tilevm_explain(program, &text);
      else text = "";
  }
  CHECK((status == TILEVM_OK) == (text != NULL));
  if (text == NULL || *text != '\0') check_status(status);
  free(layout);
  free(input);
}

static void call_device(tilevm_program* program) {
  const size_t slot = below(slots);
  if (once_in(30)) {
    tilevm_unload(kernels[slot]);
    const tilevm_status status =
        tilevm_load_on(program, some_name(), (int)below(3) - 1, &kernels[slot]);
    check_status(status);
    loaded[slot] = status == TILEVM_OK ? program : NULL;
  } else {
    tilevm_argument arguments[16];
    const char* name = NULL;
    const size_t count = fill_arguments(loaded[slot], arguments, &name);
    check_status(tilevm_launch(kernels[slot], arguments, count, NULL));
    check_guards();
    CHECK(tilevm_kernel_device(kernels[slot]) >= -1 && tilevm_kernel_may_overlap(kernels[slot]) <= 1);
  }
}

static void call_control(void) {
  const size_t slot = below(slots);
  if (once_in(2)) {
    tilevm_control_stop(controls[slot]);
  } else {
    tilevm_control_free(controls[slot]);
    controls[slot] = once_in(2) ? NULL : tilevm_control_new();
  }
}

int main(int argc, char** argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1000;
  state = 2 * (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) + 1;
  long kinds[5] = {0};
  for (long i = 0; i < count && failures == 0; ++i) {
    tilevm_program* program = programs[below(slots)];
    const size_t kind = below(100);
    const int which = kind < 3 ? 0 : kind < 60 ? 1 : kind < 75 ? 2 : kind < 97 ? 3 : 4;
    ++kinds[which];
    if (which == 0) call_open();
    if (which == 1) call_run(program);
    if (which == 2) call_report(program);
    if (which == 3) call_device(program);
    if (which == 4) call_control();
    if (failures != 0) printf("in call %ld of seed %s\n", i, argc > 2 ? argv[2] : "0");
  }
  for (size_t i = 0; i < slots; ++i) {
    tilevm_unload(kernels[i]);
    tilevm_close(programs[i]);
    tilevm_control_free(controls[i]);
  }
  printf("%ld calls: %ld opens, %ld runs, %ld reports, %ld loads and launches, %ld controls; %ld ended "
         "well\n",
         count, kinds[0], kinds[1], kinds[2], kinds[3], kinds[4], done_well);
  return report();
}
