// The generated C header at work: its image is loaded, its kernel launched, directly and in a CUDA
// graph. Ends with 77 where there is no GPU: the driver is opened at run time, so that this program
// starts without one.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "scale.h"

static void* driver;

static void* find(const char* name) {
  void* found = driver == NULL ? NULL : dlsym(driver, name);
  if (found == NULL) printf("the driver has no `%s`\n", name);
  return found;
}

/// Defines a driver function that calls the driver's own; cuda.h says what it is called there.
#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)
#define FORWARD(name, parameters, arguments)        \
  CUresult name parameters {                        \
    CUresult(*function) parameters = NULL;          \
    void* const found = find(SYMBOL(name));         \
    if (found == NULL) return CUDA_ERROR_NOT_FOUND; \
    memcpy(&function, &found, sizeof found);        \
    return function arguments;                      \
  }
FORWARD(cuInit, (unsigned flags), (flags))
FORWARD(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device))
FORWARD(cuCtxSetCurrent, (CUcontext context), (context))
FORWARD(cuModuleLoadData, (CUmodule * module, const void* image), (module, image))
FORWARD(cuModuleGetFunction, (CUfunction * function_, CUmodule module, const char* name),
        (function_, module, name))
FORWARD(cuFuncSetAttribute, (CUfunction function_, CUfunction_attribute which, int value),
        (function_, which, value))
FORWARD(cuMemAlloc, (CUdeviceptr * pointer, size_t bytes), (pointer, bytes))
FORWARD(cuMemcpyHtoD, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
FORWARD(cuMemcpyDtoH, (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
FORWARD(cuMemsetD8Async, (CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream),
        (to, byte, bytes, stream))
FORWARD(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags))
FORWARD(cuStreamSynchronize, (CUstream stream), (stream))
FORWARD(cuStreamBeginCapture, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
FORWARD(cuStreamEndCapture, (CUstream stream, CUgraph* graph), (stream, graph))
FORWARD(cuGraphInstantiateWithFlags,
        (CUgraphExec * executable, CUgraph graph, unsigned long long flags),
        (executable, graph, flags))
FORWARD(cuGraphLaunch, (CUgraphExec executable, CUstream stream), (executable, stream))
FORWARD(cuLaunchKernel,
        (CUfunction function_, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
         unsigned bz, unsigned shared, CUstream stream, void** kernel_arguments, void** extra),
        (function_, x, y, z, bx, by, bz, shared, stream, kernel_arguments, extra))

enum { count = 1000 };
static float x[count], y[count];
static int failures = 0;

#define CHECK(condition)                                     \
  do {                                                       \
    if (!(condition)) {                                      \
      ++failures;                                            \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                        \
  } while (0)

/// Whether y is x * s + 1 on the device; puts zeros there.
static int is_scaled(CUdeviceptr device_y, float s) {
  int good = cuMemcpyDtoH(y, device_y, sizeof y) == CUDA_SUCCESS;
  for (int i = 0; i < count; ++i) good = good && y[i] == x[i] * s + 1;
  memset(y, 0, sizeof y);
  return good && cuMemcpyHtoD(device_y, y, sizeof y) == CUDA_SUCCESS;
}

static void test(CUfunction function, CUstream stream) {
  CUdeviceptr dx = 0, dy = 0, workspace = 0;
  CHECK(cuMemAlloc(&dx, sizeof x) == CUDA_SUCCESS && cuMemAlloc(&dy, sizeof y) == CUDA_SUCCESS);
  CHECK(cuMemAlloc(&workspace, scale_scale_workspace) == CUDA_SUCCESS);
  for (int i = 0; i < count; ++i) x[i] = (float)(i - 500);
  CHECK(cuMemcpyHtoD(dx, x, sizeof x) == CUDA_SUCCESS);
  CHECK(scale_scale_launch(function, stream, dx, dy, 0.5f, count, workspace) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS && is_scaled(dy, 0.5f));
  CHECK(scale_scale_launch(function, stream, dx, dy, 0.5f, 0, workspace) ==
        CUDA_ERROR_INVALID_VALUE);
  CUgraph graph;
  CUgraphExec executable;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  CHECK(scale_scale_launch(function, stream, dx, dy, 2.0f, count, workspace) == CUDA_SUCCESS);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS && is_scaled(dy, 2.0f));
}

int main(void) {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  CUcontext context;
  CUstream stream;
  if (driver == NULL || cuInit(0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) {
    printf("SKIP: there is no driver or no GPU\n");
    return 77;
  }
  CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  CUmodule module;
  CUfunction function = NULL;
  CUresult loaded = scale_load(&module);
  if (loaded == CUDA_SUCCESS) loaded = scale_scale_load(&function, module);
  if (loaded == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    printf("SKIP: the image has no code for this GPU\n");
    return 77;
  }
  CHECK(loaded == CUDA_SUCCESS);
  test(function, stream);
  printf(failures == 0 ? "all checks hold\n" : "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}
