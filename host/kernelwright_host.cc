// The host's part of a call of optimized.py, in C++: what a call is compared with, and launches of
// compiled kernels. The file has the former in Python (_kw_Host), and Triton has the latter. It
// uses these where the package is installed: hundreds of parameters then cost little, and a launch
// costs little more than the driver takes.
//
// Sequences are lists or tuples. TypeError for what is no tensor, and RuntimeError for a tensor
// without memory or versions.
#include <Python.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// Items of a list or a tuple, as borrowed references.
class Items {
 public:
  explicit Items(PyObject* of) : list_(PyList_Check(of)), of_(of) {
    if (!list_ && !PyTuple_Check(of)) PyErr_SetString(PyExc_TypeError, "no list or tuple");
  }
  Py_ssize_t size() const { return list_ ? PyList_GET_SIZE(of_) : PyTuple_GET_SIZE(of_); }
  PyObject* operator[](Py_ssize_t i) const {
    return list_ ? PyList_GET_ITEM(of_, i) : PyTuple_GET_ITEM(of_, i);
  }

 private:
  bool list_;
  PyObject* of_;
};

PyObject* boolean(int value) { return value < 0 ? nullptr : PyBool_FromLong(value); }

// `check(i)` of each index is 1, 0, or -1 with an exception set.
template <typename Check>
PyObject* all(PyObject* first, PyObject* second, const Check& check) {
  const Items a(first), b(second);
  if (PyErr_Occurred()) return nullptr;
  if (a.size() != b.size()) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < a.size() && i < b.size(); ++i) {
    const int holds = check(a[i], b[i], i);
    if (holds != 1) return boolean(holds);
  }
  Py_RETURN_TRUE;
}

// owner[key] is `value`. Dicts and lists of classes of their own may compute what they hold.
int is_item(PyObject* owner, PyObject* key, PyObject* value) {
  if (PyDict_CheckExact(owner)) {
    PyObject* there = PyDict_GetItemWithError(owner, key);
    return there ? there == value : PyErr_Occurred() ? -1 : 0;
  }
  PyObject* there = PyObject_GetItem(owner, key);
  if (!there) return -1;
  Py_DECREF(there);
  return there == value;
}

PyObject* same_items(PyObject*, PyObject* args) {
  PyObject *owners, *keys, *found;
  if (!PyArg_ParseTuple(args, "OOO", &owners, &keys, &found)) return nullptr;
  const Items values(found);
  if (PyErr_Occurred()) return nullptr;
  return all(owners, keys, [&](PyObject* owner, PyObject* key, Py_ssize_t i) {
    return i < values.size() ? is_item(owner, key, values[i]) : 0;
  });
}

// Whether the keys of `table` are the items of the tuple `expected`, in their order.
int has_keys(PyObject* table, PyObject* expected) {
  // Modules keep hooks in ordered dicts, most of which are empty.
  if (PyODict_CheckExact(table) && PyTuple_Check(expected) && PyTuple_GET_SIZE(expected) == 0) {
    return PyDict_GET_SIZE(table) == 0;
  }
  if (!PyDict_CheckExact(table)) {
    PyObject* keys = PySequence_Tuple(table);
    const int equal = keys ? PyObject_RichCompareBool(keys, expected, Py_EQ) : -1;
    Py_XDECREF(keys);
    return equal;
  }
  if (!PyTuple_Check(expected)) return 0;
  const Py_ssize_t count = PyTuple_GET_SIZE(expected);
  if (PyDict_GET_SIZE(table) != count) return 0;
  Py_ssize_t at = 0, i = 0;
  PyObject *key, *value;
  while (i < count && PyDict_Next(table, &at, &key, &value)) {
    PyObject* want = PyTuple_GET_ITEM(expected, i++);
    if (key == want) continue;
    Py_INCREF(key);
    const int equal = PyObject_RichCompareBool(key, want, Py_EQ);
    Py_DECREF(key);
    if (equal != 1) return equal;
  }
  return 1;
}

PyObject* same_keys(PyObject*, PyObject* args) {
  PyObject *tables, *keys;
  if (!PyArg_ParseTuple(args, "OO", &tables, &keys)) return nullptr;
  return all(tables, keys, [](PyObject* table, PyObject* expected, Py_ssize_t) {
    return has_keys(table, expected);
  });
}

PyObject* same_sizes(PyObject*, PyObject* args) {
  PyObject *owners, *sizes;
  if (!PyArg_ParseTuple(args, "OO", &owners, &sizes)) return nullptr;
  return all(owners, sizes, [](PyObject* owner, PyObject* size, Py_ssize_t) {
    const Py_ssize_t found = PyObject_Size(owner), expected = PyLong_AsSsize_t(size);
    return PyErr_Occurred() ? -1 : int(found == expected);
  });
}

// The versions of dicts (PEP 509), of which each change makes another; no two dicts have the same.
// Python 3.13 and later have none.
PyObject* stamp(PyObject*, PyObject* dicts) {
#if PY_VERSION_HEX < 0x030D0000
  const Items items(dicts);
  if (PyErr_Occurred()) return nullptr;
  PyObject* out = PyBytes_FromStringAndSize(nullptr, items.size() * 8);
  if (!out) return nullptr;
  char* end = PyBytes_AS_STRING(out);
  for (Py_ssize_t i = 0; i < items.size(); ++i, end += 8) {
    if (!PyDict_CheckExact(items[i])) {  // others may change in ways that are not counted
      Py_DECREF(out);
      Py_RETURN_NONE;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const uint64_t version = reinterpret_cast<PyDictObject*>(items[i])->ma_version_tag;
#pragma GCC diagnostic pop
    std::memcpy(end, &version, sizeof version);
  }
  return out;
#else
  Py_RETURN_NONE;
#endif
}

PyObject* same_dicts(PyObject*, PyObject* args) {
  PyObject *owners, *dicts;
  if (!PyArg_ParseTuple(args, "OO", &owners, &dicts)) return nullptr;
  static PyObject* const name = PyUnicode_InternFromString("__dict__");
  return all(owners, dicts, [](PyObject* owner, PyObject* dict, Py_ssize_t) {
    PyObject* found = PyObject_GetAttr(owner, name);
    if (!found) return -1;
    Py_DECREF(found);
    return int(found == dict);
  });
}

PyObject* same_types(PyObject*, PyObject* args) {
  PyObject *parts, *types;
  if (!PyArg_ParseTuple(args, "OO", &parts, &types)) return nullptr;
  return all(parts, types, [](PyObject* part, PyObject* type, Py_ssize_t) {
    return int(reinterpret_cast<PyObject*>(Py_TYPE(part)) == type);
  });
}

// Runs `append(tensor, object, out)` for each tensor of a sequence; returns the bytes.
template <typename Append>
PyObject* bytes_of(PyObject* tensors, const Append& append) {
  const Items items(tensors);
  if (PyErr_Occurred()) return nullptr;
  thread_local std::string out;
  out.clear();
  try {
    for (Py_ssize_t i = 0; i < items.size(); ++i) {
      // Exactly: what says that it is a tensor need not be one.
      if (!THPVariable_CheckExact(items[i])) {
        PyErr_SetString(PyExc_TypeError, "no tensor");
        return nullptr;
      }
      append(THPVariable_Unpack(items[i]), items[i], out);
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  return PyBytes_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_layout(const at::Tensor& tensor, std::string& out) {
  put(out, static_cast<int8_t>(tensor.scalar_type()));
  put(out, tensor.is_neg() || tensor.is_conj());
  put(out, tensor.dim());
  for (int64_t size : tensor.sizes()) put(out, size);
  for (int64_t stride : tensor.strides()) put(out, stride);
}

PyObject* traits(PyObject*, PyObject* tensors) {
  return bytes_of(tensors, [](const at::Tensor& tensor, PyObject* object, std::string& out) {
    put(out, Py_TYPE(object));
    put(out, tensor.device().is_cpu() ? -1 : tensor.get_device());
    put(out, tensor.requires_grad());
    put(out, reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 16);
    put_layout(tensor, out);
  });
}

PyObject* places(PyObject*, PyObject* tensors) {
  return bytes_of(tensors, [](const at::Tensor& tensor, PyObject*, std::string& out) {
    put(out, tensor.const_data_ptr());
    put_layout(tensor, out);
  });
}

PyObject* versions(PyObject*, PyObject* tensors) {
  return bytes_of(tensors, [](const at::Tensor& tensor, PyObject*, std::string& out) {
    put(out, tensor._version());
  });
}

PyObject* any_requires_grad(PyObject*, PyObject* tensors) {
  const Items items(tensors);
  if (PyErr_Occurred()) return nullptr;
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    if (!THPVariable_CheckExact(items[i])) {
      PyErr_SetString(PyExc_TypeError, "no tensor");
      return nullptr;
    }
    if (THPVariable_Unpack(items[i]).requires_grad()) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}

// --- launches ---

// What is called of libcuda, which Triton has loaded (cuda.h is not needed).
using LaunchKernel = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             void* stream, void** parameters, void** extra);
using EncodeTiled = int (*)(void* map, int type, unsigned rank, void* base, const uint64_t* sizes,
                            const uint64_t* strides, const unsigned* box, const unsigned* steps,
                            int interleave, int swizzle, int promotion, int fill);
using GetErrorString = int (*)(int error, const char** text);
constexpr int kInvalidContext = 201;

struct Driver {
  LaunchKernel launch = nullptr;
  EncodeTiled encode = nullptr;
  GetErrorString text = nullptr;
};
const Driver& driver() {
  static const Driver found = [] {
    Driver out;
    if (void* library = dlopen("libcuda.so.1", RTLD_NOW)) {
      out.launch = reinterpret_cast<LaunchKernel>(dlsym(library, "cuLaunchKernel"));
      out.encode = reinterpret_cast<EncodeTiled>(dlsym(library, "cuTensorMapEncodeTiled"));
      out.text = reinterpret_cast<GetErrorString>(dlsym(library, "cuGetErrorString"));
    }
    return out;
  }();
  return found;
}

PyObject* raise(const char* what, int error) {
  const char* text = nullptr;
  if (driver().text) driver().text(error, &text);
  PyErr_Format(PyExc_RuntimeError, "%s: %s (%d)", what, text ? text : "error", error);
  return nullptr;
}

constexpr size_t kMostParameters = 256;
constexpr size_t kMostMaps = 16;
constexpr Py_ssize_t kMostDimensions = 5;

// How a kernel reads a tensor by the TMA. Encoded anew where the tensor is at another address.
// The order of dimensions is the driver's, which begins with the dense one.
struct TensorMap {
  int type, element_bytes, swizzle;
  Py_ssize_t rank;
  uint64_t sizes[kMostDimensions], strides[kMostDimensions];
  unsigned box[kMostDimensions];
  bool is_encoded;
  void* base;
  alignas(64) unsigned char bytes[128];  // a CUtensorMap

  // 0, or the driver's error.
  int point_to(void* address) {
    if (is_encoded && address == base) return 0;
    uint64_t bytes_apart[kMostDimensions];  // but the dense one's
    for (Py_ssize_t i = 1; i < rank; ++i) bytes_apart[i - 1] = strides[i] * element_bytes;
    const unsigned steps[kMostDimensions] = {1, 1, 1, 1, 1};
    constexpr int kNoInterleave = 0, kPromoteTo128Bytes = 2, kFillWithZeros = 0;
    const int error =
        driver().encode(bytes, type, static_cast<unsigned>(rank), address, sizes, bytes_apart, box,
                        steps, kNoInterleave, swizzle, kPromoteTo128Bytes, kFillWithZeros);
    is_encoded = error == 0;
    base = address;
    return error;
  }
};

struct Kernel {
  void* function;
  unsigned grid[3], threads, shared;
  std::string kinds;            // of the arguments: see `kernel` below
  std::vector<TensorMap> maps;  // of those that are descriptors
};
constexpr const char* kKernel = "kernelwright_host.kernel";

// Reads numbers of a sequence into `out`, the last one first. False with an exception set.
template <typename T>
bool read_backwards(PyObject* numbers, Py_ssize_t count, T* out) {
  const Items items(numbers);
  if (PyErr_Occurred()) return false;
  if (items.size() != count) {
    PyErr_SetString(PyExc_ValueError, "a tensor map's dimensions differ");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    out[count - 1 - i] = static_cast<T>(PyLong_AsUnsignedLongLong(items[i]));
  }
  return !PyErr_Occurred();
}

bool read_map(PyObject* from, TensorMap& map) {
  PyObject *box, *sizes, *strides;
  if (!PyTuple_Check(from)) {
    PyErr_SetString(PyExc_TypeError, "a tensor map is no tuple");
    return false;
  }
  if (!PyArg_ParseTuple(from, "iiiOOO", &map.type, &map.element_bytes, &map.swizzle, &box, &sizes,
                        &strides)) {
    return false;
  }
  map.rank = PySequence_Size(box);
  if (map.rank < 1 || map.rank > kMostDimensions) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a tensor map has 1 to 5 dimensions");
    return false;
  }
  return read_backwards(box, map.rank, map.box) && read_backwards(sizes, map.rank, map.sizes) &&
         read_backwards(strides, map.rank, map.strides);
}

PyObject* kernel(PyObject*, PyObject* args) {
  unsigned long long function;
  Kernel read{};
  const char* kinds;
  PyObject* maps = nullptr;
  if (!PyArg_ParseTuple(args, "K(III)IIs|O", &function, &read.grid[0], &read.grid[1], &read.grid[2],
                        &read.threads, &read.shared, &kinds, &maps)) {
    return nullptr;
  }
  read.function = reinterpret_cast<void*>(function);
  read.kinds = kinds;
  if (maps) {
    const Items items(maps);
    if (PyErr_Occurred()) return nullptr;
    read.maps.resize(items.size());
    for (Py_ssize_t i = 0; i < items.size(); ++i) {
      if (!read_map(items[i], read.maps[i])) return nullptr;
    }
  }
  size_t parameters = 0;
  for (const char kind : read.kinds) {
    if (std::string_view("xPDbhiqBHIQfd").find(kind) == std::string_view::npos) Py_RETURN_NONE;
    parameters += kind == 'D' ? 1 + 2 * kMostDimensions : 1;
  }
  const auto described = static_cast<size_t>(std::ranges::count(read.kinds, 'D'));
  if (described != read.maps.size()) {
    PyErr_SetString(PyExc_ValueError, "as many tensor maps as descriptors");
    return nullptr;
  }
  if (parameters > kMostParameters || described > kMostMaps || !driver().launch ||
      (described && !driver().encode)) {
    Py_RETURN_NONE;
  }
  return PyCapsule_New(new Kernel(std::move(read)), kKernel, [](PyObject* capsule) {
    delete static_cast<Kernel*>(PyCapsule_GetPointer(capsule, kKernel));
  });
}

// The parameters of a launch: what they are, and where.
struct Parameters {
  uint64_t values[kMostParameters + 2];
  struct alignas(64) Map {
    unsigned char bytes[128];
  } maps[kMostMaps];  // copies: another thread may launch, too
  void* places[kMostParameters + 2];
  size_t used = 0, used_maps = 0;

  void* next() {
    places[used] = &values[used];
    return places[used++];
  }
  void put(uint64_t value) { std::memcpy(next(), &value, sizeof value); }
};

// Writes an argument as a parameter of its kind. False with an exception set if it is none.
bool put_parameter(char kind, PyObject* arg, void* out) {
  const auto store = [&](auto value) { std::memcpy(out, &value, sizeof value); };
  if (kind == 'P') {
    if (THPVariable_CheckExact(arg)) {
      store(THPVariable_Unpack(arg).data_ptr());
    } else if (arg == Py_None) {
      store(static_cast<void*>(nullptr));
    } else {
      PyErr_SetString(PyExc_TypeError, "no tensor for a pointer");
    }
  } else if (kind == 'f' || kind == 'd') {
    const double value = PyFloat_AsDouble(arg);
    kind == 'f' ? store(static_cast<float>(value)) : store(value);
  } else {
    // The lower bytes of the number: the kernel was compiled for its width.
    store(PyLong_AsUnsignedLongLongMask(arg));
  }
  return !PyErr_Occurred();
}

// A tensor that the kernel reads by a map: the map, its sizes, and its strides. Returns the
// driver's error; -1 with an exception set.
int put_described(TensorMap& map, PyObject* arg, Parameters& out) {
  if (!THPVariable_CheckExact(arg)) {
    PyErr_SetString(PyExc_TypeError, "no tensor for a descriptor");
    return -1;
  }
  if (const int error = map.point_to(THPVariable_Unpack(arg).data_ptr())) return error;
  Parameters::Map& copy = out.maps[out.used_maps++];
  std::memcpy(copy.bytes, map.bytes, sizeof map.bytes);
  out.places[out.used++] = &copy;
  for (Py_ssize_t i = map.rank; i-- > 0;) out.put(map.sizes[i]);
  for (Py_ssize_t i = map.rank; i-- > 0;) out.put(map.strides[i]);
  return 0;
}

PyObject* launch(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "launch(kernel, stream, arguments)");
    return nullptr;
  }
  auto* kernel = static_cast<Kernel*>(PyCapsule_GetPointer(given[0], kKernel));
  const auto stream = PyLong_AsUnsignedLongLong(given[1]);
  const Items args(given[2]);
  if (PyErr_Occurred()) return nullptr;
  const auto kinds = static_cast<Py_ssize_t>(kernel->kinds.size());
  if (args.size() > kinds) {
    PyErr_SetString(PyExc_TypeError, "too many arguments");
    return nullptr;
  }
  Parameters parameters;
  try {
    for (Py_ssize_t i = 0; i < kinds; ++i) {
      const char kind = kernel->kinds[i];
      if (kind == 'x') continue;
      if (i >= args.size()) {
        PyErr_SetString(PyExc_TypeError, "too few arguments");
        return nullptr;
      }
      if (kind != 'D') {
        if (!put_parameter(kind, args[i], parameters.next())) return nullptr;
        continue;
      }
      const int error = put_described(kernel->maps[parameters.used_maps], args[i], parameters);
      if (error == kInvalidContext) Py_RETURN_FALSE;
      if (error > 0) return raise("cuTensorMapEncodeTiled", error);
      if (error < 0) return nullptr;
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  // Scratch memory, which such a kernel has none of.
  parameters.put(0);
  parameters.put(0);
  const auto& [x, y, z] = kernel->grid;
  int error = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (x && y && z) {
    error = driver().launch(kernel->function, x, y, z, kernel->threads, 1, 1, kernel->shared,
                            reinterpret_cast<void*>(stream), parameters.places, nullptr);
  }
  Py_END_ALLOW_THREADS;
  if (error == kInvalidContext) Py_RETURN_FALSE;  // of this thread, which Triton sets
  if (error == 0) Py_RETURN_TRUE;
  return raise("cuLaunchKernel", error);
}

PyMethodDef functions[] = {
    {"same_items", same_items, METH_VARARGS,
     "same_items(owners, keys, found): owner[key] is found, for each."},
    {"same_keys", same_keys, METH_VARARGS,
     "same_keys(tables, keys): the keys of each dict are those of a tuple, in their order."},
    {"stamp", stamp, METH_O,
     "stamp(dicts): bytes that are others after each change of a dict. None where Python counts "
     "none."},
    {"same_dicts", same_dicts, METH_VARARGS, "same_dicts(owners, dicts): owner.__dict__ is dict."},
    {"same_sizes", same_sizes, METH_VARARGS, "same_sizes(owners, sizes): len(owner) == size."},
    {"same_types", same_types, METH_VARARGS, "same_types(parts, types): type(part) is type."},
    {"traits", traits, METH_O,
     "traits(tensors): bytes that are equal for tensors of equal type, device, dtype, shape,\n"
     "strides, requires_grad, negative bit, and address modulo 16."},
    {"places", places, METH_O,
     "places(tensors): bytes that are equal for equal addresses, dtypes, shapes, strides, negative "
     "bits."},
    {"versions", versions, METH_O,
     "versions(tensors): bytes that are equal for equal versions. RuntimeError: it counts none."},
    {"any_requires_grad", any_requires_grad, METH_O, "any_requires_grad(tensors)"},
    {"kernel", kernel, METH_VARARGS,
     "kernel(function, grid, threads, shared, kinds, maps=()): what launch() is given.\n"
     "`function` is a CUfunction, `shared` is in bytes. `kinds` has a letter for each parameter: "
     "x\n"
     "where it is compiled in, P for a tensor or None, D for a tensor that is read by the TMA, f\n"
     "and d for floats, bhiq and BHIQ for integers of 8 to 64 bits. `maps` has for each D its\n"
     "(element type and swizzle as the driver numbers them with the bytes of an element between\n"
     "them, box, shape, strides). None for other letters, and without libcuda."},
    {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch)), METH_FASTCALL,
     "launch(kernel, stream, arguments): whether it was launched; not in a thread without a "
     "context.\n"
     "Arguments behind the last one that is not compiled in may be left out. RuntimeError of the "
     "driver."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "kernelwright_host",
                          "The host's part of a call of an optimized.py of Kernelwright.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

// The part of a version before "+", which says what it was built with.
std::string_view plain(std::string_view version) { return version.substr(0, version.find('+')); }

}  // namespace

PyMODINIT_FUNC PyInit_kernelwright_host() {
  const std::string python =
      std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
  if (!std::string_view(Py_GetVersion()).starts_with(python + ".")) {
    PyErr_Format(PyExc_ImportError, "kernelwright_host was built for Python %s", python.c_str());
    return nullptr;
  }
  PyObject* torch = PyImport_ImportModule("torch");  // its libraries define what is used here
  PyObject* version = torch ? PyObject_GetAttrString(torch, "__version__") : nullptr;
  const char* text = version ? PyUnicode_AsUTF8(version) : nullptr;
  const bool same = text && plain(text) == plain(TORCH_VERSION);
  if (text && !same) {  // tensors may look otherwise
    PyErr_Format(PyExc_ImportError, "kernelwright_host was built for torch %s", TORCH_VERSION);
  }
  Py_XDECREF(version);
  Py_XDECREF(torch);
  if (!same) return nullptr;
  PyObject* module = PyModule_Create(&definition);
  // What an optimized.py asks for: another number when a function means something else.
  if (module && PyModule_AddIntConstant(module, "VERSION", 2) < 0) Py_CLEAR(module);
  return module;
}
