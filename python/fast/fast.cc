// The fast path of prepared launches (python/tilevm/_launch.py): tensors are read by the C
// functions that their framework gives in `__dlpack_c_exchange_api__`, with no call of Python in
// between. What does not fit in every way is left to the package, which says what is wrong.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

// As DLPack 1.x fixes them.
struct Device {
  std::int32_t type, id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // NULL: dense
  std::uint64_t byte_offset;
};
struct ExchangeApi {
  std::uint32_t major, minor;
  ExchangeApi* older;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void* object, Tensor* out);  // may be NULL
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

constexpr int not_handled = -1;
constexpr std::uintptr_t alignment = 16;

struct Word {
  std::uint64_t data, bytes;
};

/// What a tensor must be.
struct Slot {
  std::size_t place;
  std::vector<std::pair<int, int>> dtypes;         ///< codes of DLPack, and bits
  std::optional<std::vector<std::int64_t>> shape;  ///< nothing: it follows from the call

  [[nodiscard]] bool fits(const Tensor& tensor, const Device& device) const {
    if (tensor.device.type != device.type || tensor.device.id != device.id) return false;
    if (tensor.dtype.lanes != 1 || !has(tensor.dtype)) return false;
    if (shape) {
      if (static_cast<std::size_t>(tensor.rank) != shape->size()) return false;
      for (std::size_t d = 0; d < shape->size(); ++d) {
        if (tensor.shape[d] != (*shape)[d]) return false;
      }
    }
    return is_dense(tensor);
  }

 private:
  [[nodiscard]] bool has(const DataType& dtype) const {
    for (const auto& [code, bits] : dtypes) {
      if (dtype.code == code && dtype.bits == bits) return true;
    }
    return false;
  }

  static bool is_dense(const Tensor& tensor) {
    if (tensor.strides == nullptr) return true;
    std::int64_t step = 1;
    for (std::int32_t d = tensor.rank; d-- > 0;) {
      if (tensor.shape[d] != 1 && tensor.strides[d] != step) return false;
      step *= tensor.shape[d];
    }
    return true;
  }
};

std::uint64_t bytes_of(const Tensor& tensor) {
  std::uint64_t count = 1;
  for (std::int32_t d = 0; d < tensor.rank; ++d)
    count *= static_cast<std::uint64_t>(tensor.shape[d]);
  return count * tensor.dtype.bits / 8;
}

/// The functions of a type's framework; NULL if it gives none that are known here.
const ExchangeApi* api_of(PyTypeObject* type) {
  PyObject* capsule =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (capsule == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  // The capsule is an attribute of the type, and the functions live as long as the process.
  const auto* api =
      static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule);
  if (api == nullptr) PyErr_Clear();
  while (api != nullptr && api->major != 1) api = api->older;
  return api != nullptr && api->tensor_from_object != nullptr ? api : nullptr;
}

class Launcher {
 public:
  using Function = int (*)(void* kernel, const Word* arguments, std::size_t count, void* stream);

  Launcher(std::uintptr_t function, std::uintptr_t kernel, std::uintptr_t words, std::size_t count,
           int device_type, int device)
      : function_(reinterpret_cast<Function>(function)),
        kernel_(reinterpret_cast<void*>(kernel)),
        words_(reinterpret_cast<Word*>(words)),
        count_(count),
        device_{device_type, device} {}

  void add(std::size_t place, std::vector<std::pair<int, int>> dtypes,
           std::optional<std::vector<std::int64_t>> shape) {
    slots_.push_back({place, std::move(dtypes), std::move(shape)});
  }

  /// The status of the launch; not_handled if an argument does not fit. `stream` is None for the
  /// framework's.
  int launch(nb::handle arguments, nb::handle stream) {
    PyObject* const tuple = arguments.ptr();
    if (!PyTuple_CheckExact(tuple) || static_cast<std::size_t>(PyTuple_GET_SIZE(tuple)) != count_)
      return not_handled;
    for (const Slot& slot : slots_) {
      if (!take(slot, PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(slot.place))))
        return not_handled;
    }
    void* number = nullptr;
    if (!stream.is_none()) {
      number = PyLong_AsVoidPtr(stream.ptr());
      if (PyErr_Occurred() != nullptr) return left_to_python();
    } else if (api_ == nullptr ||
               api_->current_work_stream(device_.type, device_.id, &number) != 0) {
      return left_to_python();
    }
    const nb::gil_scoped_release others_run;
    return function_(kernel_, words_, count_, number);
  }

 private:
  bool take(const Slot& slot, PyObject* value) {
    PyTypeObject* const type = Py_TYPE(value);
    if (type != type_) {
      api_ = api_of(type);
      type_ = type;
      type_kept_ = nb::borrow(reinterpret_cast<PyObject*>(type));
    }
    Tensor tensor{};
    if (api_ == nullptr) return false;
    if (api_->tensor_from_object(value, &tensor) != 0) {
      PyErr_Clear();
      return false;
    }
    if (!slot.fits(tensor, device_)) return false;
    const std::uintptr_t data = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
    if (data == 0 || data % alignment != 0) return false;
    words_[slot.place] = {data, slot.shape ? 0 : bytes_of(tensor)};
    return true;
  }

  static int left_to_python() {
    PyErr_Clear();
    return not_handled;
  }

  Function function_;
  void* kernel_;
  Word* words_;
  std::size_t count_;
  Device device_;
  std::vector<Slot> slots_;
  PyTypeObject* type_ = nullptr;  // of the last argument, and its functions
  nb::object type_kept_;
  const ExchangeApi* api_ = nullptr;
};

}  // namespace

NB_MODULE(tilevm_fast, module) {
  module.doc() = "The fast path of tilevm's prepared launches.";
  module.attr("INTERFACE") = 1;  // what python/tilevm/_launch.py asks for
  nb::class_<Launcher>(module, "Launcher")
      .def(nb::init<std::uintptr_t, std::uintptr_t, std::uintptr_t, std::size_t, int, int>())
      .def("add", &Launcher::add, nb::arg("place"), nb::arg("dtypes"), nb::arg("shape").none())
      .def("launch", &Launcher::launch, nb::arg("arguments"), nb::arg("stream").none());
}
