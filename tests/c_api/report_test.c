// libtilevm from C99: what it tells as JSON, options of runs, and runs that are asked to end.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"

static const char* const add =
    "def add<1>(f32* a_ptr, f32* c_ptr):\n"
    "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[64]), layout=spatial(32).local(2))\n"
    "    StoreGlobal(a + a, ViewGlobal(c_ptr, shape=[64]))\n";

static int says(const char* text, const char* piece) {
  if (text != NULL && strstr(text, piece) != NULL) return 1;
  printf("missing: %s\nin: %s\n", piece, text == NULL ? "NULL" : text);
  return 0;
}

static void test_diagnostics(void) {
  tilevm_program* program = NULL;
  CHECK(strcmp(tilevm_diagnostics(), "[]") == 0);
  CHECK(tilevm_open("def k<1>():\n    x = Lod()\n", "k.tile", NULL, NULL, &program) ==
        TILEVM_FAULT);
  CHECK(says(tilevm_diagnostics(),
             "[{\"code\": \"TV0102\", \"severity\": \"error\", \"file\": \"k.tile\", \"line\": 2, "
             "\"column\": 9"));
  CHECK(says(tilevm_message(), "k.tile:2:9: error: "));
  CHECK(says(tilevm_message_in_color(), "\x1b[1;31merror:\x1b[0m "));
  CHECK(tilevm_open(NULL, NULL, NULL, NULL, &program) == TILEVM_USAGE);
  CHECK(strcmp(tilevm_message_in_color(), "`text` is NULL") == 0);
  CHECK(tilevm_open(add, NULL, NULL, NULL, &program) == TILEVM_OK);
  CHECK(strcmp(tilevm_diagnostics(), "[]") == 0 && strcmp(tilevm_message_in_color(), "") == 0);
  tilevm_close(program);
  // Warnings of a program that is good otherwise, and notes of a run.
  const char* const needless =
      "def f<1>(i32* y_ptr):\n"
      "    x = 1\n"
      "    if y_ptr is y_ptr:\n"
      "        x = 2\n";
  CHECK(tilevm_open(needless, NULL, NULL, NULL, &program) == TILEVM_FAULT);
  const char* const barrier =
      "def f<1>(i32* y_ptr):\n"
      "    Synchronize()\n"
      "    StoreGlobal(AllocateRegister(i32, layout=local(1), init=1), ViewGlobal(y_ptr, "
      "shape=[1]))\n";
  CHECK(tilevm_open(barrier, "b.tile", NULL, NULL, &program) == TILEVM_OK);
  int32_t y = 0;
  const tilevm_argument arguments[] = {{&y, sizeof y}};
  CHECK(tilevm_run(program, NULL, "sim", arguments, 1) == TILEVM_OK && y == 1);
  CHECK(says(tilevm_diagnostics(), "\"severity\": \"note\", \"file\": \"b.tile\", \"line\": 2"));
  tilevm_close(program);
}

static void test_stats(void) {
  tilevm_program* program = NULL;
  const char* json = "before";
  CHECK(tilevm_open(add, NULL, NULL, NULL, &program) == TILEVM_OK);
  const char* const inputs[] = {"a_ptr=iota", NULL};
  CHECK(tilevm_stats(program, NULL, inputs, 0, NULL, &json) == TILEVM_OK);
  CHECK(says(json, "\"global_load\": {\"requests\": 1, \"bytes\": 256"));
  const char* const wrong[] = {"b_ptr=iota", NULL};
  CHECK(tilevm_stats(program, NULL, wrong, 0, NULL, &json) == TILEVM_USAGE && json == NULL);
  CHECK(says(tilevm_message(), "b_ptr"));
  CHECK(tilevm_stats(program, "f", NULL, 0, NULL, &json) == TILEVM_USAGE);
  CHECK(tilevm_stats(NULL, NULL, NULL, 0, NULL, &json) == TILEVM_USAGE);
  CHECK(tilevm_stats(program, NULL, NULL, 0, NULL, NULL) == TILEVM_USAGE);
  tilevm_close(program);
}

static void test_page(void) {
  tilevm_program* program = NULL;
  const char* page = NULL;
  CHECK(tilevm_open(add, NULL, NULL, NULL, &program) == TILEVM_OK);
  CHECK(tilevm_page(program, NULL, NULL, 7, NULL, &page) == TILEVM_OK);
  CHECK(says(page, "</html>") && says(page, "LoadGlobal") && says(page, "<svg"));
  float a[64], c[64] = {0};
  for (int i = 0; i < 64; ++i) a[i] = 1234.5f;
  const tilevm_argument arguments[] = {{a, sizeof a}, {c, sizeof c}};
  CHECK(tilevm_page_with(program, NULL, arguments, 2, NULL, &page) == TILEVM_OK);
  CHECK(says(page, "</html>") && says(page, "2469") && c[0] == 0);  // on copies
  CHECK(tilevm_page_with(program, NULL, arguments, 1, NULL, &page) == TILEVM_USAGE && page == NULL);
  CHECK(tilevm_page_with(NULL, NULL, arguments, 2, NULL, &page) == TILEVM_USAGE);
  CHECK(tilevm_page_with(program, NULL, NULL, 2, NULL, &page) == TILEVM_USAGE);
  CHECK(tilevm_page_with(program, NULL, arguments, 2, NULL, NULL) == TILEVM_USAGE);
  tilevm_close(program);
  // A run with a fault has a page that shows it.
  CHECK(tilevm_open("def f<1>(f32* c_ptr):\n"
                    "    c = AllocateRegister(f32, layout=local(4), init=1.0)\n"
                    "    Assert(1 > 2, \"never\")\n"
                    "    StoreGlobal(c, ViewGlobal(c_ptr, shape=[4]))\n",
                    NULL, NULL, NULL, &program) == TILEVM_OK);
  CHECK(tilevm_page(program, NULL, NULL, 0, NULL, &page) == TILEVM_FAULT);
  CHECK(says(page, "never") && says(tilevm_message(), "never"));
  CHECK(says(tilevm_diagnostics(), "\"line\": 3"));
  CHECK(tilevm_page(program, "g", NULL, 0, NULL, &page) == TILEVM_USAGE && page == NULL);
  tilevm_close(program);
}

static void test_explain(void) {
  tilevm_program* program = NULL;
  const char* json = NULL;
  CHECK(tilevm_open(add, NULL, NULL, "sm_90a", &program) == TILEVM_OK);
  CHECK(tilevm_explain(program, &json) == TILEVM_OK);
  CHECK(says(json, "\"target\": \"sm_90a\"") && says(json, "\"LoadGlobal\""));
  CHECK(tilevm_explain(NULL, &json) == TILEVM_USAGE && json == NULL);
  CHECK(tilevm_explain(program, NULL) == TILEVM_USAGE);
  tilevm_close(program);
}

static void test_layout(void) {
  const char* text = NULL;
  CHECK(tilevm_layout("(local(2, 1)) * (spatial(2, 2))", "json", &text) == TILEVM_OK);
  CHECK(says(text, "\"text\": \"local(2, 1).spatial(2, 2)\"") && says(text, "\"threads\": 4"));
  CHECK(tilevm_layout("i6 local(2, 1).spatial(2, 2)", "text", &text) == TILEVM_OK);
  CHECK(says(text, "a cell is thread:local"));
  CHECK(tilevm_layout("row_major(4, 4)", "svg", &text) == TILEVM_OK && says(text, "<svg"));
  CHECK(tilevm_layout("row_major(4, 4)", "html", &text) == TILEVM_OK && says(text, "<html"));
  CHECK(tilevm_layout("local(2,", "json", &text) == TILEVM_FAULT && text == NULL);
  CHECK(says(tilevm_diagnostics(), "\"column\": 6"));
  CHECK(tilevm_layout("local(2)", "pdf", &text) == TILEVM_USAGE);
  CHECK(tilevm_layout(NULL, "json", &text) == TILEVM_USAGE);
  CHECK(tilevm_layout("local(2)", NULL, &text) == TILEVM_USAGE);
  CHECK(tilevm_layout("local(2)", "json", NULL) == TILEVM_USAGE);
}

static void test_options(void) {
  const char* const text =
      "def f<1>(f32* a_ptr, f32* c_ptr, i32 n):\n"
      "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[32]), layout=spatial(32))\n"
      "    for i in range(n):\n"
      "        a = a + 1\n"
      "    StoreGlobal(a, ViewGlobal(c_ptr, shape=[32]))\n";
  tilevm_program* program = NULL;
  CHECK(tilevm_open(text, NULL, NULL, NULL, &program) == TILEVM_OK);
  float a[32] = {0}, c[32] = {0};
  int32_t n = 100;
  const tilevm_argument arguments[] = {{a, sizeof a}, {c, sizeof c}, {&n, sizeof n}};
  tilevm_run_options options = {.size = sizeof options, .count_accesses = 1};
  CHECK(tilevm_run_with(program, NULL, "sim", arguments, 3, &options) == TILEVM_OK && c[0] == 100);
  CHECK(says(tilevm_counters(), "\"steps\": "));
  options = (tilevm_run_options){.size = sizeof options, .max_steps = 50};
  CHECK(tilevm_run_with(program, NULL, "sim", arguments, 3, &options) == TILEVM_LIMIT);
  CHECK(says(tilevm_diagnostics(), "TV0402") && strcmp(tilevm_counters(), "") == 0);
  options.max_steps = 0;
  options.size += 8;  // a newer caller
  CHECK(tilevm_run_with(program, NULL, "sim", arguments, 3, &options) == TILEVM_OK);
  options.size = 8;
  CHECK(tilevm_run_with(program, NULL, "sim", arguments, 3, &options) == TILEVM_USAGE);
  CHECK(says(tilevm_message(), "sizeof(tilevm_run_options)"));
  options = (tilevm_run_options){.size = sizeof options, .checks = "race"};
  CHECK(tilevm_run_with(program, NULL, "sim", arguments, 3, &options) == TILEVM_USAGE);
  CHECK(says(tilevm_message(), "did you mean `races`"));
  options = (tilevm_run_options){.size = sizeof options, .threads = -1};
  CHECK(tilevm_run_with(program, NULL, "sim", arguments, 3, &options) == TILEVM_USAGE);
  tilevm_close(program);
}

static void* stop_soon(void* control) {
  const struct timespec pause = {0, 100 * 1000 * 1000};
  nanosleep(&pause, NULL);
  tilevm_control_stop(control);
  return NULL;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// Ends a run that would take minutes or for ever; the next one is as ever.
static void stop_run(const char* text, const char* backend) {
  tilevm_program* program = NULL;
  CHECK(tilevm_open(text, NULL, NULL, NULL, &program) == TILEVM_OK);
  tilevm_control* control = tilevm_control_new();
  const tilevm_run_options options = {
      .size = sizeof options, .control = control, .max_steps = (uint64_t)1 << 60};
  int32_t y[2] = {7, 7}, n = 2000000000;
  const tilevm_argument arguments[] = {{y, sizeof y}, {&n, sizeof n}};
  // The first run of emu waits for a compiler.
  int32_t few = 1;
  const tilevm_argument short_run[] = {{y, sizeof y}, {&few, sizeof few}};
  const tilevm_status ready = tilevm_run(program, NULL, backend, short_run, 2);
  if (ready == TILEVM_UNAVAILABLE) {
    printf("%s is not here: %s\n", backend, tilevm_message());
  } else {
    CHECK(ready == TILEVM_OK && y[0] == 1);
    y[0] = 7;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stop_soon, control) == 0);
    const double before = now();
    CHECK(tilevm_run_with(program, NULL, backend, arguments, 2, &options) == TILEVM_LIMIT);
    const double took = now() - before;
    printf("%s ended %.3f s after its beginning, 0.1 s after that it was to\n", backend, took);
    CHECK(took < 20);  // compiling again, on a busy machine; else it is a tenth of a second
    CHECK(says(tilevm_message(), "was stopped") && y[0] == 7);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(tilevm_run_with(program, NULL, backend, short_run, 2, &options) == TILEVM_LIMIT);
    CHECK(tilevm_run(program, NULL, backend, short_run, 2) == TILEVM_OK && y[0] == 1);
  }
  tilevm_control_free(control);
  tilevm_close(program);
}

static void test_stop(void) {
  const char* const loop =
      "def f<2>(i32* y_ptr, i32 n):\n"
      "    b = BlockIndices()\n"
      "    y = AllocateRegister(i32, layout=local(1), init=0)\n"
      "    for i in range(n):\n"
      "        y = y + 1\n"
      "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[2]), offset=[b:])\n";
  stop_run(loop, "sim");
  stop_run(loop, "emu:O0");
  const char* const blocks =
      "def f<n>(i32* y_ptr, i32 n):\n"
      "    b = BlockIndices()\n"
      "    if b == 0:\n"
      "        StoreGlobal(AllocateRegister(i32, layout=local(1), init=1), ViewGlobal(y_ptr, "
      "shape=[2]))\n";
  stop_run(blocks, "sim");
  stop_run(blocks, "emu:O0");
  tilevm_control_stop(NULL);
  tilevm_control_free(NULL);
}

int main(void) {
  test_diagnostics();
  test_stats();
  test_page();
  test_explain();
  test_layout();
  test_options();
  test_stop();
  return report();
}
