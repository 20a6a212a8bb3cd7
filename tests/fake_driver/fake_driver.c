// A stand-in for libcuda.so.1, for tests without a GPU: one device whose memory is the host's,
// whose kernels do nothing, and which fails where a test says so.
//
//   FAKE_CUDA_SM=90        the device's compute capability
//   FAKE_CUDA_VERSION      what cuDriverGetVersion answers; 13000
//   FAKE_CUDA_INIT         the code that cuInit returns; 0
//   FAKE_CUDA_LOAD         the code that cuModuleLoadDataEx returns; 0
//   FAKE_CUDA_MEMORY       the code that cuMemAlloc returns; 0
//   FAKE_CUDA_LOCAL        bytes of local memory of a thread of every kernel; 0
//   FAKE_CUDA_LOG          a file that a line is appended to for each call that puts work on a
//   stream
//                          or takes memory
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

typedef unsigned long long address;
enum {
  success = 0,
  invalid_value = 1,
  invalid_device = 101,
  invalid_context = 201,
  not_found = 500
};

static int number(const char* variable, int otherwise) {
  const char* const text = getenv(variable);
  return text == NULL || *text == '\0' ? otherwise : atoi(text);
}

__attribute__((format(printf, 1, 2))) static int note(const char* format, ...) {
  const char* const path = getenv("FAKE_CUDA_LOG");
  FILE* const file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return success;
  va_list values;
  va_start(values, format);
  vfprintf(file, format, values);
  va_end(values);
  fclose(file);
  return success;
}

/// For tests of callers' overhead: nanoseconds that a call takes from C, the mean of `count`.
EXPORT double fake_time_of_launch(int (*launch)(const void*, const void*, size_t, void*),
                                  const void* kernel, const void* arguments, size_t n, int count) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < count; ++i) {
    if (launch(kernel, arguments, n, NULL) != 0) return -1;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (1e9 * (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec)) /
         count;
}

EXPORT int cuInit(unsigned flags) {
  (void)flags;
  return number("FAKE_CUDA_INIT", success);
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return success;
}
EXPORT int cuGetErrorName(int code, const char** name) {
  (void)code;
  *name = "CUDA_ERROR_FAKE";
  return success;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  (void)code;
  *text = "made up";
  return success;
}

EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return success;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? success : invalid_device;
}
EXPORT int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "Fake GPU");
  return success;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 34;
  return success;
}
EXPORT int cuDeviceGetAttribute(int* value, int which, int device) {
  (void)device;
  const int sm = number("FAKE_CUDA_SM", 90);
  *value = which == 1 ? 1024 : which == 16 ? 4 : which == 75 ? sm / 10 : which == 76 ? sm % 10 : 0;
  if (which == 97) *value = 200 * 1024;
  return success;
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  *context = (void*)0x100;
  return success;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  return success;
}
EXPORT int cuCtxGetDevice(int* device) {
  (void)device;
  return invalid_context;
}
static __thread int current_contexts = 0;
EXPORT int cuCtxPushCurrent_v2(void* context) {
  (void)context;
  ++current_contexts;
  return success;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
  --current_contexts;
  *context = (void*)0x100;
  return success;
}

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options,
                              void** values) {
  (void)image, (void)n, (void)options, (void)values;
  *module = (void*)0x200;
  return number("FAKE_CUDA_LOAD", success);
}
EXPORT int cuModuleUnload(void* module) {
  (void)module;
  return success;
}
/// A function is its name, which stays.
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  static char names[100][100];
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (*names[i] == '\0') snprintf(names[i], sizeof names[i], "%s", name);
    *function = names[i];
    if (strcmp(names[i], name) == 0) return success;
  }
  return not_found;
}
EXPORT int cuFuncGetAttribute(int* value, int which, void* function) {
  (void)function;
  *value = which == 0 ? 1024 : which == 3 ? number("FAKE_CUDA_LOCAL", 0) : 0;
  return success;
}
EXPORT int cuFuncSetAttribute(void* function, int which, int value) {
  return note("attribute %d of %s = %d\n", which, (const char*)function, value);
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                       size_t shared) {
  (void)function, (void)threads, (void)shared;
  *blocks = 1;
  return success;
}
EXPORT int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void* stream, void** arguments,
                          void** extra) {
  (void)arguments, (void)extra;
  return note("launch %s %u,%u,%u x %u,%u,%u shared %u stream %p\n", (const char*)function, x, y, z,
              bx, by, bz, shared, stream);
}

EXPORT int cuMemAlloc_v2(address* pointer, size_t bytes) {
  const int code = number("FAKE_CUDA_MEMORY", success);
  void* memory = NULL;
  if (code != success || posix_memalign(&memory, 256, bytes) != 0) return code;
  *pointer = (uintptr_t)memory;
  return note("allocate %zu\n", bytes);
}
EXPORT int cuMemFree_v2(address pointer) {
  free((void*)(uintptr_t)pointer);
  return success;
}
EXPORT int cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  (void)flags;
  *pointer = calloc(1, bytes);
  return success;
}
EXPORT int cuMemFreeHost(void* pointer) {
  free(pointer);
  return success;
}
EXPORT int cuMemGetInfo_v2(size_t* available, size_t* total) {
  *available = *total = (size_t)1 << 34;
  return success;
}
EXPORT int cuMemcpyHtoD_v2(address to, const void* from, size_t bytes) {
  memcpy((void*)(uintptr_t)to, from, bytes);
  return success;
}
EXPORT int cuMemcpyDtoH_v2(void* to, address from, size_t bytes) {
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return success;
}
EXPORT int cuMemsetD8Async(address pointer, unsigned char byte, size_t bytes, void* stream) {
  memset((void*)(uintptr_t)pointer, byte, bytes);
  return note("set %zu to %d stream %p\n", bytes, byte, stream);
}

/// Bytes of an element by CUtensorMapDataType.
static unsigned map_element(int type) {
  static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type >= 0 && (size_t)type < sizeof bytes / sizeof *bytes ? bytes[type] : 0;
}
/// Refuses what a driver refuses on an H100, and a thread without a current context; the map begins
/// with the address and the extents.
EXPORT int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* tensor,
                                  const uint64_t* extents, const uint64_t* strides,
                                  const unsigned* box, const unsigned* steps, int interleave,
                                  int swizzle, int promotion, int fill) {
  if (current_contexts == 0) return invalid_context;
  const unsigned bytes = map_element(type), span = swizzle == 0 ? ~0u : 16u << swizzle;
  int refused = (uintptr_t)map % 64 != 0 || bytes == 0 || rank < 1 || rank > 5 ||
                (uintptr_t)tensor % 16 != 0 || interleave != 0 || swizzle < 0 || swizzle > 3 ||
                (fill != 0 && type < 6);
  for (unsigned d = 0; d < rank && !refused; ++d) {
    refused = extents[d] < 1 || extents[d] > (uint64_t)1 << 32 || box[d] < 1 || box[d] > 256 ||
              steps[d] != 1 || (d > 0 && strides[d - 1] % 16 != 0);
  }
  refused = refused || box[0] * bytes % 16 != 0 || box[0] * bytes > span;
  if (refused) return invalid_value;
  uint64_t* const words = map;
  memset(words, 0, 128);
  words[0] = (uintptr_t)tensor;
  char text[400] = "";
  size_t at = 0;
  for (unsigned d = 0; d < rank; ++d) {
    words[1 + d] = extents[d];
    at += (size_t)snprintf(text + at, sizeof text - at, " %llu/%llu/%u",
                           (unsigned long long)extents[d],
                           (unsigned long long)(d == 0 ? bytes : strides[d - 1]), box[d]);
  }
  return note("map type %d at %p swizzle %d fill %d promotion %d:%s\n", type, tensor, swizzle, fill,
              promotion, text);
}

EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  *stream = (void*)0x300;
  return success;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
  (void)stream;
  return success;
}
EXPORT int cuStreamBeginCapture_v2(void* stream, int mode) {
  return note("capture stream %p mode %d\n", stream, mode);
}
EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  *graph = (void*)0x400;
  return note("captured stream %p\n", stream);
}
EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  (void)graph, (void)flags;
  *executable = (void*)0x500;
  return success;
}
EXPORT int cuGraphLaunch(void* executable, void* stream) {
  (void)executable;
  return note("graph stream %p\n", stream);
}
EXPORT int cuGraphExecDestroy(void* executable) {
  (void)executable;
  return success;
}
EXPORT int cuGraphDestroy(void* graph) {
  (void)graph;
  return success;
}

EXPORT int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  *event = (void*)0x600;
  return success;
}
EXPORT int cuEventDestroy_v2(void* event) {
  (void)event;
  return success;
}
EXPORT int cuEventRecord(void* event, void* stream) {
  (void)event, (void)stream;
  return success;
}
EXPORT int cuEventQuery(void* event) {
  (void)event;
  return success;
}
EXPORT int cuEventSynchronize(void* event) {
  (void)event;
  return success;
}
EXPORT int cuEventElapsedTime(float* milliseconds, void* start, void* stop) {
  (void)start, (void)stop;
  *milliseconds = 1;
  return success;
}
