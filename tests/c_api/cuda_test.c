// libtilevm on a GPU: a pipeline and a kernel on device memory and a stream, directly and as a CUDA
// graph. Ends with 77 where there is no GPU. The driver is opened here as a caller would link it.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef unsigned long long address;

// The part of the driver that the test calls, with its exported names.
static int (*init)(unsigned);
static int (*retain)(void**, int);
static int (*set_current)(void*);
static int (*allocate)(address*, size_t);
static int (*release)(address);
static int (*get_free)(size_t*, size_t*);
static int (*to_device)(address, const void*, size_t);
static int (*to_host)(void*, address, size_t);
static int (*make_stream)(void**, unsigned);
static int (*begin_capture)(void*, int);
static int (*end_capture)(void*, void**);
static int (*instantiate)(void**, void*, unsigned long long);
static int (*launch_graph)(void*, void*);
static int (*wait)(void*);

/// 0 if the driver and a device are there.
static int open_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return 1;
  const struct {
    void* function;
    const char* name;
  } all[] = {{&init, "cuInit"},
             {&retain, "cuDevicePrimaryCtxRetain"},
             {&set_current, "cuCtxSetCurrent"},
             {&allocate, "cuMemAlloc_v2"},
             {&release, "cuMemFree_v2"},
             {&get_free, "cuMemGetInfo_v2"},
             {&to_device, "cuMemcpyHtoD_v2"},
             {&to_host, "cuMemcpyDtoH_v2"},
             {&make_stream, "cuStreamCreate"},
             {&begin_capture, "cuStreamBeginCapture_v2"},
             {&end_capture, "cuStreamEndCapture"},
             {&instantiate, "cuGraphInstantiateWithFlags"},
             {&launch_graph, "cuGraphLaunch"},
             {&wait, "cuStreamSynchronize"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    void* found = dlsym(library, all[i].name);
    if (found == NULL) return 1;
    memcpy(all[i].function, &found, sizeof found);  // C has no cast from data to functions
  }
  void* context = NULL;
  return init(0) != 0 || retain(&context, 0) != 0 || set_current(context) != 0;
}

enum { rows = 1000 };

static const char* const text =
    "const N = 1000\n"
    "\n"
    "def add<(n + 31) / 32>(f32* a_ptr, f32* c_ptr, f32 s, i32 n):\n"
    "    b = BlockIndices()\n"
    "    ga = ViewGlobal(a_ptr, shape=[n])\n"
    "    gc = ViewGlobal(c_ptr, shape=[n])\n"
    "    gw = AllocateGlobal(f32, shape=[32 * 1024])\n"
    "    a = LoadGlobal(ga, layout=spatial(32), offset=[b * 32:])\n"
    "    StoreGlobal(Add(a, AllocateRegister(f32, layout=spatial(32), init=s)), gw, offset=[b * "
    "32:])\n"
    "    c = LoadGlobal(gw, layout=spatial(32), offset=[b * 32:])\n"
    "    StoreGlobal(c, gc, offset=[b * 32:])\n"
    "\n"
    "pipeline twice(a: f32[N]) -> (c: f32[N]):\n"
    "    t = AllocateGlobal(f32, shape=[N])\n"
    "    add(a, t, 1.0, N)\n"
    "    add(t, c, 2.0, N)\n";

static float a[rows], c[rows];

/// Whether c is a + difference, and puts zeros there.
static int is_sum(address device_c, float difference) {
  int good = to_host(c, device_c, sizeof c) == 0;
  for (int i = 0; i < rows; ++i) good = good && c[i] == a[i] + difference;
  memset(c, 0, sizeof c);
  return good && to_device(device_c, c, sizeof c) == 0;
}

static void test_launch(tilevm_program* program, void* stream, address da, address dc) {
  tilevm_kernel* kernel = NULL;
  CHECK(tilevm_load(program, "add", &kernel) == TILEVM_OK);
  float s = 0.25f;
  int32_t n = rows;
  tilevm_argument arguments[] = {{(void*)da, 0}, {(void*)dc, 0}, {&s, sizeof s}, {&n, sizeof n}};
  CHECK(tilevm_launch(kernel, arguments, 4, stream) == TILEVM_OK);
  CHECK(wait(stream) == 0 && is_sum(dc, 0.25f));
  n = 0;
  CHECK(tilevm_launch(kernel, arguments, 4, stream) == TILEVM_FAULT);
  arguments[0].data = (void*)(da + 4);
  CHECK(tilevm_launch(kernel, arguments, 4, stream) == TILEVM_USAGE);
  CHECK(strstr(tilevm_message(), "must be a multiple of 16") != NULL);
  tilevm_unload(kernel);
}

static void test_graph(tilevm_program* program, void* stream, address da, address dc) {
  tilevm_kernel* kernel = NULL;
  void *graph = NULL, *executable = NULL;
  CHECK(tilevm_load(program, NULL, &kernel) == TILEVM_OK);
  const tilevm_argument arguments[] = {{(void*)da, sizeof a}, {(void*)dc, sizeof c}};
  size_t before = 0, after = 0, total = 0;
  CHECK(tilevm_launch(kernel, arguments, 2, stream) == TILEVM_OK);
  CHECK(wait(stream) == 0 && is_sum(dc, 3.0f));
  CHECK(get_free(&before, &total) == 0);
  CHECK(begin_capture(stream, 0) == 0);  // the strictest mode: no call may allocate
  CHECK(tilevm_launch(kernel, arguments, 2, stream) == TILEVM_OK);
  CHECK(end_capture(stream, &graph) == 0 && instantiate(&executable, graph, 0) == 0);
  CHECK(!is_sum(dc, 3.0f));  // capturing runs nothing
  for (int round = 0; round < 3; ++round) {
    CHECK(launch_graph(executable, stream) == 0 && wait(stream) == 0 && is_sum(dc, 3.0f));
  }
  CHECK(get_free(&after, &total) == 0);
  printf("device memory before and after: %zu %zu\n", before, after);
  tilevm_unload(kernel);
}

int main(void) {
  if (open_driver() != 0) {
    const char* target = tilevm_device_target();
    CHECK(target == NULL && strlen(tilevm_message()) > 0);
    printf("SKIP: %s\n", tilevm_message());
    return failures == 0 ? 77 : 1;
  }
  const char* target = tilevm_device_target();
  CHECK(target != NULL);
  if (target == NULL) return report();
  tilevm_program* program = NULL;
  CHECK(tilevm_open(text, "cuda_test.tile", NULL, target, &program) == TILEVM_OK);
  if (program == NULL) return report();
  for (int i = 0; i < rows; ++i) a[i] = (float)i;
  const tilevm_argument host[] = {{a, sizeof a}, {c, sizeof c}};
  CHECK(tilevm_run(program, NULL, "cuda", host, 2) == TILEVM_OK);
  CHECK(c[0] == 3.0f && c[999] == 1002.0f);
  address da = 0, dc = 0;
  void* stream = NULL;
  CHECK(allocate(&da, sizeof a) == 0 && allocate(&dc, sizeof c) == 0);
  CHECK(to_device(da, a, sizeof a) == 0 && make_stream(&stream, 0) == 0);
  test_launch(program, stream, da, dc);
  test_graph(program, stream, da, dc);
  CHECK(release(da) == 0 && release(dc) == 0);
  tilevm_close(program);
  return report();
}
