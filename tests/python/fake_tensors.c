// A framework's tensors, as the fast path of launches meets them: a type with `__dlpack_c_exchange_api__`. Tensor(pointer,
// shape, code, bits, device) is dense, unless `strides` are given. fast_test.py builds this extension.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
  void* data;
  int32_t device_type, device;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DlTensor;

typedef struct {
  uint32_t major, minor;
  void* older;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void*, DlTensor*);
  int (*current_work_stream)(int32_t, int32_t, void**);
} ExchangeApi;

typedef struct {
  PyObject_HEAD DlTensor tensor;
  int64_t shape[4], strides[4];
} Tensor;

static int asked = 0;  // how often a tensor was asked for what it is

static int tensor_from_object(void* object, DlTensor* out) {
  ++asked;
  *out = ((Tensor*)object)->tensor;
  if (out->data != NULL || out->rank != 0) return 0;
  PyErr_SetString(PyExc_BufferError, "this tensor is not shared");
  return -1;
}

static int current_work_stream(int32_t type, int32_t device, void** stream) {
  (void)type;
  *stream = (void*)(uintptr_t)(0x90 + device);
  return 0;
}

static ExchangeApi older = {1, 1, NULL, NULL, NULL, NULL, tensor_from_object, current_work_stream};
// What a later framework gives first: a version that nobody here knows.
static ExchangeApi newest = {9, 0, &older, NULL, NULL, NULL, NULL, NULL};

static int read_extents(PyObject* list, int64_t* out) {
  const Py_ssize_t count = PyTuple_Size(list);
  if (count < 0 || count > 4) return -1;
  for (Py_ssize_t i = 0; i < count; ++i) out[i] = PyLong_AsLongLong(PyTuple_GetItem(list, i));
  return PyErr_Occurred() ? -1 : (int)count;
}

static int tensor_init(PyObject* object, PyObject* arguments, PyObject* named) {
  static char* names[] = {"pointer", "shape", "code", "bits", "device", "strides", NULL};
  Tensor* self = (Tensor*)object;
  unsigned long long pointer = 0;
  PyObject *shape = NULL, *strides = NULL;
  int code = 2, bits = 16, device = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "KO!|iiiO!", names, &pointer, &PyTuple_Type, &shape, &code, &bits,
                                   &device, &PyTuple_Type, &strides)) {
    return -1;
  }
  const int rank = read_extents(shape, self->shape);
  if (rank < 0 || (strides != NULL && read_extents(strides, self->strides) != rank)) return -1;
  const DlTensor tensor = {(void*)(uintptr_t)pointer, 2, device, rank, (uint8_t)code, (uint8_t)bits, 1, self->shape,
                           strides == NULL ? NULL : self->strides, 0};
  self->tensor = tensor;
  return 0;
}

static PyTypeObject tensor_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fake_tensors.Tensor",
                                   .tp_basicsize = sizeof(Tensor),
                                   .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                   .tp_new = PyType_GenericNew,
                                   .tp_init = tensor_init};

static PyObject* times_asked(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return PyLong_FromLong(asked);
}

static PyMethodDef functions[] = {{"times_asked", times_asked, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fake_tensors", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_fake_tensors(void) {
  if (PyType_Ready(&tensor_type) < 0) return NULL;
  PyObject* capsule = PyCapsule_New(&newest, "dlpack_exchange_api", NULL);
  if (capsule == NULL || PyDict_SetItemString(tensor_type.tp_dict, "__dlpack_c_exchange_api__", capsule) < 0) return NULL;
  Py_DECREF(capsule);
  PyType_Modified(&tensor_type);
  PyObject* made = PyModule_Create(&module);
  if (made == NULL || PyModule_AddObjectRef(made, "Tensor", (PyObject*)&tensor_type) < 0) return NULL;
  return made;
}
