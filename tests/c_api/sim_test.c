// libtilevm from C99, on host memory and the simulator.
#define _POSIX_C_SOURCE 200809L  // mkdtemp
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "check.h"

static const char* const add =
    "const N = 6\n"
    "\n"
    "def add<1>(f32* a_ptr, f32* c_ptr, f32 s):\n"
    "    ga = ViewGlobal(a_ptr, shape=[N])\n"
    "    gc = ViewGlobal(c_ptr, shape=[N])\n"
    "    a = LoadGlobal(ga, layout=local(N))\n"
    "    b = AllocateRegister(f32, layout=local(N), init=s)\n"
    "    StoreGlobal(Add(a, b), gc)\n"
    "\n"
    "pipeline twice(a: f32[N]) -> (c: f32[N]):\n"
    "    t = AllocateGlobal(f32, shape=[N])\n"
    "    add(a, t, 1.0)\n"
    "    add(t, c, 2.0)\n";

static void test_entries(void) {
  tilevm_program* program = NULL;
  CHECK(tilevm_open(add, "add.tile", NULL, NULL, &program) == TILEVM_OK);
  CHECK(strcmp(tilevm_warnings(program), "") == 0);
  size_t count = 0;
  const tilevm_entry* entries = tilevm_entries(program, &count);
  CHECK(count == 2);
  if (count != 2) return;
  CHECK(strcmp(entries[0].name, "twice") == 0 && entries[0].is_pipeline);
  CHECK(entries[0].parameter_count == 2);
  const tilevm_parameter* c = &entries[0].parameters[1];
  CHECK(strcmp(c->name, "c") == 0 && strcmp(c->type, "f32") == 0 && c->role == TILEVM_OUTPUT);
  CHECK(c->rank == 1 && c->shape[0] == 6 && c->bytes == 24);
  CHECK(strcmp(entries[1].name, "add") == 0 && !entries[1].is_pipeline);
  CHECK(entries[1].parameter_count == 3);
  CHECK(entries[1].parameters[0].role == TILEVM_INPUT);
  const tilevm_parameter* s = &entries[1].parameters[2];
  CHECK(s->role == TILEVM_SCALAR && strcmp(s->type, "f32") == 0 && s->rank == -1 && s->bytes == 4);
  tilevm_close(program);
}

static const char* const sized =
    "def scale<(n + 31) / 32>(f32* x_ptr, f32* y_ptr, i32 n, f32 factor):\n"
    "    b = BlockIndices()\n"
    "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[n]), layout=spatial(32), offset=[b * 32:])\n"
    "    StoreGlobal(x * factor, ViewGlobal(y_ptr, shape=[n]), offset=[b * 32:])\n"
    "\n"
    "pipeline twice(n: i32, inout x: f32[n], factor: f32):\n"
    "    t = AllocateGlobal(f32, shape=[n])\n"
    "    scale(x, t, n, factor)\n"
    "    scale(t, x, n, factor)\n";

static void test_sizes(void) {
  tilevm_program* program = NULL;
  CHECK(tilevm_open(sized, NULL, NULL, NULL, &program) == TILEVM_OK);
  size_t count = 0;
  const tilevm_entry* entry = tilevm_entries(program, &count);
  CHECK(count == 2 && entry->parameter_count == 3);
  CHECK(entry->parameters[0].role == TILEVM_SCALAR && entry->parameters[2].role == TILEVM_SCALAR);
  const tilevm_parameter* x = &entry->parameters[1];
  CHECK(x->role == (TILEVM_INPUT | TILEVM_OUTPUT) && x->rank == -1 && x->bytes == 0);
  float data[3] = {1, 2, 3}, factor = 3;
  int32_t n = 3;
  tilevm_argument arguments[] = {{&n, sizeof n}, {data, sizeof data}, {&factor, sizeof factor}};
  CHECK(tilevm_run(program, NULL, "sim", arguments, 3) == TILEVM_OK);
  CHECK(data[0] == 9 && data[1] == 18 && data[2] == 27);
  n = 4;
  CHECK(tilevm_run(program, NULL, "sim", arguments, 3) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "`x` of `twice` is f32[4] of 16 bytes; 12 were given") != NULL);
  n = 0;
  CHECK(tilevm_run(program, NULL, "sim", arguments, 3) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "extent `n` of `x` is 0; extents are 1 to 2^40") != NULL);
  tilevm_close(program);
}

/// What shapes tell of a call.
static void test_told_sizes(void) {
  tilevm_program* program = NULL;
  const char* json = "before";
  CHECK(tilevm_open(sized, NULL, NULL, NULL, &program) == TILEVM_OK);
  CHECK(tilevm_sizes(program, NULL, NULL, &json) == TILEVM_OK);
  CHECK(strcmp(json,
               "{\"entry\": \"twice\", \"scalars\": [{\"name\": \"n\", \"type\": \"i32\", "
               "\"can_be_told\": true, \"value\": null}, {\"name\": \"factor\", \"type\": \"f32\", "
               "\"can_be_told\": false, \"value\": null}], \"tensors\": [{\"name\": \"x\", "
               "\"shape\": null}]}") == 0);
  const char* const shape[] = {"x=[200]", "factor=0.5", NULL};
  CHECK(tilevm_sizes(program, NULL, shape, &json) == TILEVM_OK);
  CHECK(strstr(json, "\"value\": 200}") != NULL && strstr(json, "\"shape\": [200]") != NULL);
  const char* const given[] = {"n=7", "factor=0.5", NULL};
  CHECK(tilevm_sizes(program, NULL, given, &json) == TILEVM_OK);
  CHECK(strstr(json, "\"value\": 7") == NULL && strstr(json, "\"shape\": [7]") != NULL);
  static const char* const wrong[][2] = {{"x=[2,", "it is a list as [64, 32]"},
                                         {"x=[-1]", "it is a list as [64, 32]"},
                                         {"n=x", "`x` is not a value of i32"},
                                         {"y=[2]", "`twice` has no parameter `y`"},
                                         {"n", "NAME=VALUE"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    const char* const known[] = {wrong[i][0], NULL};
    CHECK(tilevm_sizes(program, NULL, known, &json) == TILEVM_USAGE && json == NULL);
    CHECK(strstr(tilevm_message(), wrong[i][1]) != NULL);
  }
  const char* const none[] = {"x=[0]", "factor=0.5", NULL};
  CHECK(tilevm_sizes(program, NULL, none, &json) == TILEVM_USAGE);
  CHECK(tilevm_sizes(program, "scale", NULL, &json) == TILEVM_OK);
  CHECK(strstr(json, "\"can_be_told\": false") != NULL);
  tilevm_close(program);
}

static void test_run(void) {
  const char* const defines[] = {"N=3", NULL};
  tilevm_program* program = NULL;
  CHECK(tilevm_open(add, NULL, defines, "sm_80", &program) == TILEVM_OK);
  float a[3] = {1, 2, 3}, c[3] = {0, 0, 0}, s = 0.5f;
  const tilevm_argument pipeline[] = {{a, sizeof a}, {c, sizeof c}};
  CHECK(tilevm_run(program, NULL, "sim", pipeline, 2) == TILEVM_OK);
  CHECK(c[0] == 4 && c[1] == 5 && c[2] == 6 && a[0] == 1);
  const tilevm_argument kernel[] = {{a, sizeof a}, {c, sizeof c}, {&s, sizeof s}};
  CHECK(tilevm_run(program, "add", "sim", kernel, 3) == TILEVM_OK);
  CHECK(c[0] == 1.5f && c[1] == 2.5f && c[2] == 3.5f);
  CHECK(strcmp(tilevm_message(), "") == 0);
  tilevm_close(program);
}

/// One array as input and output is one memory; other overlaps are refused.
static void test_one_memory(void) {
  tilevm_program* program = NULL;
  CHECK(tilevm_open(add, NULL, NULL, NULL, &program) == TILEVM_OK);
  float a[7] = {1, 2, 3, 4, 5, 6, 7}, s = 0.5f;
  const tilevm_argument same[] = {{a, 24}, {a, 24}, {&s, sizeof s}};
  CHECK(tilevm_run(program, "add", "sim", same, 3) == TILEVM_OK);
  CHECK(a[0] == 1.5f && a[5] == 6.5f && a[6] == 7);
  CHECK(tilevm_run(program, "twice", "sim", same, 2) == TILEVM_OK);
  CHECK(a[0] == 4.5f && a[5] == 9.5f && a[6] == 7);
  const tilevm_argument shifted[] = {{a, 24}, {a + 1, 24}, {&s, sizeof s}};
  CHECK(tilevm_run(program, "add", "sim", shifted, 3) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "`a_ptr` and `c_ptr` of `add` overlap") != NULL);
  CHECK(strstr(tilevm_message(), "`inout`") != NULL && a[0] == 4.5f);
  tilevm_close(program);
}

/// What the library says names no option of the command.
static void test_words(void) {
  tilevm_program* program = NULL;
  const char* const wrong[] = {"K=3", NULL};
  CHECK(tilevm_open(add, NULL, wrong, NULL, &program) != TILEVM_OK);
  CHECK(strstr(tilevm_message(), "K: the file has no such constant") != NULL);
  CHECK(strstr(tilevm_message(), "-D") == NULL && strstr(tilevm_diagnostics(), "-D") == NULL);
}

#ifdef __SSE2__
/// A host that flushes subnormals and rounds upward gets the same bits, and keeps its mode.
static void test_float_mode(void) {
  const char* const text =
      "def f<1>(f32* a_ptr, f32* c_ptr):\n"
      "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[64]), layout=spatial(32).local(2))\n"
      "    b = AllocateRegister(f32, layout=spatial(32).local(2), init=1e-39)\n"
      "    c = Add(Div(Exp(a), AllocateRegister(f32, layout=spatial(32).local(2), init=3.0)), b)\n"
      "    StoreGlobal(Add(Mul(c, b), b), ViewGlobal(c_ptr, shape=[64]))\n";
  float a[64], usual[64], other[64];
  for (int i = 0; i < 64; ++i) a[i] = (float)i * -1.7f;
  for (int round = 0; round < 2; ++round) {
    tilevm_program* program = NULL;
    const unsigned before = _mm_getcsr();
    const unsigned mode = round == 0 ? before : 0xdfc0;  // flush, denormals are zeros, round up
    _mm_setcsr(mode);
    CHECK(tilevm_open(text, NULL, NULL, NULL, &program) == TILEVM_OK);
    float* c = round == 0 ? usual : other;
    const tilevm_argument arguments[] = {{a, sizeof a}, {c, sizeof usual}};
    CHECK(tilevm_run(program, NULL, "sim", arguments, 2) == TILEVM_OK);
    CHECK((_mm_getcsr() & 0xffc0) == (mode & 0xffc0));
    _mm_setcsr(before);
    tilevm_close(program);
  }
  CHECK(memcmp(usual, other, sizeof usual) == 0);
  CHECK(usual[63] > 0);
}
#endif

/// 250 nested calls, in a thread with a small stack.
static void* open_deep(void* unused) {
  (void)unused;
  static char text[100000];
  const char* const one = "AllocateRegister(i32, layout=local(1), init=1)";
  strcpy(text, "def f<1>(i32* y_ptr):\n    StoreGlobal(");
  for (int i = 0; i < 250; ++i) strcat(text, "Add(");
  strcat(text, one);
  for (int i = 0; i < 250; ++i) {
    strcat(text, ", ");
    strcat(text, one);
    strcat(text, ")");
  }
  strcat(text, ", ViewGlobal(y_ptr, shape=[1]))\n");
  tilevm_program* program = NULL;
  CHECK(tilevm_open(text, NULL, NULL, NULL, &program) == TILEVM_OK);
  int32_t y = 0;
  const tilevm_argument arguments[] = {{&y, sizeof y}};
  CHECK(tilevm_run(program, NULL, "sim", arguments, 1) == TILEVM_OK);
  CHECK(y == 251);
  tilevm_close(program);
  return NULL;
}

static void test_small_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  CHECK(pthread_create(&thread, &attributes, open_deep, NULL) == 0);
  pthread_join(thread, NULL);
}

/// What a launch does not store keeps what the caller's memory held, of kernels and of pipelines.
static void test_unwritten(void) {
  const char* const text =
      "def f<1>(i32* y_ptr):\n"
      "    y = ViewGlobal(y_ptr, shape=[4])\n"
      "    StoreGlobal(AllocateRegister(i32, layout=local(2), init=1), y)\n"
      "\n"
      "pipeline p() -> (y: i32[4]):\n"
      "    f(y)\n";
  tilevm_program* program = NULL;
  CHECK(tilevm_open(text, NULL, NULL, NULL, &program) == TILEVM_OK);
  for (int i = 0; i < 2; ++i) {
    int32_t y[4] = {9, 9, 9, 9};
    const tilevm_argument arguments[] = {{y, sizeof y}};
    CHECK(tilevm_run(program, i == 0 ? "f" : "p", "sim", arguments, 1) == TILEVM_OK);
    CHECK(y[0] == 1 && y[1] == 1 && y[2] == 9 && y[3] == 9);
  }
  tilevm_close(program);
}

/// Shapes that a scalar gives: the memory is as large as the caller says.
static void test_dynamic(void) {
  const char* const text =
      "def fill<n>(i16* p, i32 n, bool on):\n"
      "    b = BlockIndices()\n"
      "    g = ViewGlobal(p, shape=[n])\n"
      "    if on:\n"
      "        StoreGlobal(AllocateRegister(i16, layout=local(1), init=b), g, offset=[b:])\n";
  tilevm_program* program = NULL;
  CHECK(tilevm_open(text, NULL, NULL, NULL, &program) == TILEVM_OK);
  size_t count = 0;
  const tilevm_entry* entries = tilevm_entries(program, &count);
  CHECK(count == 1);
  if (count != 1) return;
  const tilevm_parameter* p = entries[0].parameters;
  CHECK(p->rank == -1 && p->bytes == 0 && p->role == TILEVM_OUTPUT);
  int16_t data[4] = {9, 9, 9, 9};
  int32_t n = 3;
  unsigned char on = 1;
  const tilevm_argument arguments[] = {{data, sizeof data}, {&n, sizeof n}, {&on, sizeof on}};
  CHECK(tilevm_run(program, "fill", "sim", arguments, 3) == TILEVM_OK);
  CHECK(data[0] == 0 && data[1] == 1 && data[2] == 2 && data[3] == 9);
  n = 5;  // behind the memory that was given
  CHECK(tilevm_run(program, "fill", "sim", arguments, 3) == TILEVM_FAULT);
  CHECK(strstr(tilevm_message(), "error:") != NULL);
  n = 0;
  CHECK(tilevm_run(program, "fill", "sim", arguments, 3) == TILEVM_FAULT);
  const tilevm_argument endless[] = {{data, SIZE_MAX}, {&n, sizeof n}, {&on, sizeof on}};
  CHECK(tilevm_run(program, "fill", "sim", endless, 3) == TILEVM_USAGE);
  tilevm_close(program);
}

static void test_messages(void) {
  tilevm_program* program = NULL;
  CHECK(tilevm_open("def k<1>():\n    x = Lod()\n", "k.tile", NULL, NULL, &program) ==
        TILEVM_FAULT);
  CHECK(program == NULL);
  CHECK(strstr(tilevm_message(), "k.tile:2:9: error:") != NULL);
  program = (tilevm_program*)&program;  // whatever it was
  CHECK(tilevm_open("def", NULL, NULL, NULL, &program) == TILEVM_FAULT);
  CHECK(program == NULL);
  CHECK(tilevm_open(add, NULL, NULL, "sm_91", &program) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "did you mean `sm_90`") != NULL);
  const char* const bad[] = {"N", NULL};
  CHECK(tilevm_open(add, NULL, bad, NULL, &program) == TILEVM_USAGE);
  CHECK(tilevm_open(NULL, NULL, NULL, NULL, &program) == TILEVM_USAGE);
  CHECK(tilevm_open(add, NULL, NULL, NULL, NULL) == TILEVM_USAGE);
  CHECK(tilevm_open_file("/nowhere/x.tile", NULL, NULL, &program) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "No such file") != NULL);

  CHECK(tilevm_open(add, NULL, NULL, NULL, &program) == TILEVM_OK);
  float a[6] = {0}, c[6] = {0};
  const tilevm_argument good[] = {{a, sizeof a}, {c, sizeof c}};
  const tilevm_argument small[] = {{a, sizeof a - 1}, {c, sizeof c}};
  const tilevm_argument nothing[] = {{NULL, sizeof a}, {c, sizeof c}};
  CHECK(tilevm_run(program, NULL, "sim", small, 2) == TILEVM_USAGE);
  CHECK(strcmp(tilevm_message(), "`a` of `twice` is f32[6] of 24 bytes; 23 were given") == 0);
  CHECK(tilevm_run(program, NULL, "sim", nothing, 2) == TILEVM_USAGE);
  CHECK(tilevm_run(program, NULL, "sim", good, 1) == TILEVM_USAGE);
  CHECK(tilevm_run(program, "twize", "sim", good, 2) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "did you mean `twice`") != NULL);
  CHECK(tilevm_run(program, NULL, "smi", good, 2) == TILEVM_USAGE);
  CHECK(tilevm_run(program, NULL, NULL, good, 2) == TILEVM_USAGE);
  CHECK(tilevm_run(program, NULL, "sim", NULL, 2) == TILEVM_USAGE);
  CHECK(tilevm_launch(NULL, NULL, 0, NULL) == TILEVM_USAGE);
  CHECK(tilevm_run(program, NULL, "sim", good, 2) == TILEVM_OK);
  CHECK(strcmp(tilevm_message(), "") == 0);
  tilevm_close(program);
  tilevm_close(NULL);
  tilevm_unload(NULL);
  CHECK(tilevm_entries(NULL, NULL) == NULL);
}

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/// A program includes files from folders that its caller names.
static void test_includes(void) {
  char folder[] = "/tmp/tilevm-test-XXXXXX";
  char own[64], lib[64], path[64], included[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(own, sizeof own, "%s/own", folder);
  snprintf(lib, sizeof lib, "%s/lib", folder);
  snprintf(path, sizeof path, "%s/own/p.tile", folder);
  snprintf(included, sizeof included, "%s/lib/sizes.tile", folder);
  CHECK(mkdir(own, 0700) == 0 && mkdir(lib, 0700) == 0);
  write_file(included, "const N = 6\n");
  write_file(
      path,
      "include \"sizes.tile\"\ndef f<1>(f32* y_ptr):\n    y = ViewGlobal(y_ptr, shape=[N])\n");

  tilevm_program* program = NULL;
  CHECK(tilevm_open_file(path, NULL, NULL, &program) == TILEVM_FAULT);
  CHECK(strstr(tilevm_message(), "there is no file") != NULL);
  CHECK(tilevm_open_file_in(path, NULL, NULL, NULL, &program) == TILEVM_FAULT);
  const char* const folders[] = {"/nowhere", lib, NULL};
  CHECK(tilevm_open_file_in(path, folders, NULL, NULL, &program) == TILEVM_OK);
  tilevm_close(program);
  CHECK(tilevm_open_file_in(NULL, folders, NULL, NULL, &program) == TILEVM_USAGE);
  unlink(included);
  unlink(path);
  rmdir(own);
  rmdir(lib);
  rmdir(folder);
}

static void test_prints(void) {
  tilevm_program* program = NULL;
  CHECK(tilevm_open("def k<1>():\n    Print(AllocateRegister(i32, layout=local(2), init=7))\n",
                    NULL, NULL, NULL, &program) == TILEVM_OK);
  CHECK(tilevm_run(program, NULL, "sim", NULL, 0) == TILEVM_OK);
  CHECK(strstr(tilevm_prints(), "7") != NULL);
  tilevm_close(program);
}

int main(void) {
  test_sizes();
  test_told_sizes();
  CHECK(strlen(tilevm_version()) >= 5);
  test_entries();
  test_run();
  test_one_memory();
  test_words();
  test_dynamic();
#ifdef __SSE2__
  test_float_mode();
#endif
  test_unwritten();
  test_small_stack();
  test_messages();
  test_includes();
  test_prints();
  return report();
}
