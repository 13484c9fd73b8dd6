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

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

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
  put(out, tensor.is_neg());
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

// cuLaunchKernel and cuGetErrorString of libcuda, which Triton has loaded (cuda.h is not needed).
using LaunchKernel = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             void* stream, void** parameters, void** extra);
using GetErrorString = int (*)(int error, const char** text);
constexpr int kInvalidContext = 201;

struct Driver {
  LaunchKernel launch = nullptr;
  GetErrorString text = nullptr;
};
const Driver& driver() {
  static const Driver found = [] {
    Driver out;
    if (void* library = dlopen("libcuda.so.1", RTLD_NOW)) {
      out.launch = reinterpret_cast<LaunchKernel>(dlsym(library, "cuLaunchKernel"));
      out.text = reinterpret_cast<GetErrorString>(dlsym(library, "cuGetErrorString"));
    }
    return out;
  }();
  return found;
}

constexpr size_t kMostParameters = 256;

struct Kernel {
  void* function;
  unsigned grid[3], threads, shared;
  std::string kinds;  // of the arguments: see `kernel` below
};
constexpr const char* kKernel = "kernelwright_host.kernel";

PyObject* kernel(PyObject*, PyObject* args) {
  unsigned long long function;
  unsigned x, y, z, threads, shared;
  const char* kinds;
  if (!PyArg_ParseTuple(args, "K(III)IIs", &function, &x, &y, &z, &threads, &shared, &kinds)) {
    return nullptr;
  }
  const std::string_view known = "xPbhiqBHIQfd", given = kinds;
  if (given.find_first_not_of(known) != given.npos || given.size() > kMostParameters ||
      !driver().launch) {
    Py_RETURN_NONE;
  }
  auto* made = new Kernel{reinterpret_cast<void*>(function), {x, y, z}, threads, shared, kinds};
  return PyCapsule_New(made, kKernel, [](PyObject* capsule) {
    delete static_cast<Kernel*>(PyCapsule_GetPointer(capsule, kKernel));
  });
}

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

PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2) {
    PyErr_SetString(PyExc_TypeError, "launch(kernel, stream, *arguments)");
    return nullptr;
  }
  const auto* kernel = static_cast<const Kernel*>(PyCapsule_GetPointer(args[0], kKernel));
  const auto stream = PyLong_AsUnsignedLongLong(args[1]);
  if (PyErr_Occurred()) return nullptr;
  if (count - 2 > static_cast<Py_ssize_t>(kernel->kinds.size())) {
    PyErr_SetString(PyExc_TypeError, "too many arguments");
    return nullptr;
  }
  // The last two are scratch memory, which such a kernel has none of.
  uint64_t values[kMostParameters + 2];
  void* parameters[kMostParameters + 2];
  size_t used = 0;
  try {
    for (size_t i = 0; i < kernel->kinds.size(); ++i) {
      if (kernel->kinds[i] == 'x') continue;
      if (static_cast<Py_ssize_t>(i) >= count - 2) {
        PyErr_SetString(PyExc_TypeError, "too few arguments");
        return nullptr;
      }
      if (!put_parameter(kernel->kinds[i], args[i + 2], &values[used])) return nullptr;
      parameters[used] = &values[used];
      ++used;
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  for (int scratch = 0; scratch < 2; ++scratch, ++used) {
    values[used] = 0;
    parameters[used] = &values[used];
  }
  const auto& [x, y, z] = kernel->grid;
  int error = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (x && y && z) {
    error = driver().launch(kernel->function, x, y, z, kernel->threads, 1, 1, kernel->shared,
                            reinterpret_cast<void*>(stream), parameters, nullptr);
  }
  Py_END_ALLOW_THREADS;
  if (error == kInvalidContext) Py_RETURN_FALSE;  // of this thread, which Triton sets
  if (error == 0) Py_RETURN_TRUE;
  const char* text = nullptr;
  if (driver().text) driver().text(error, &text);
  PyErr_Format(PyExc_RuntimeError, "cuLaunchKernel: %s (%d)", text ? text : "error", error);
  return nullptr;
}

PyMethodDef functions[] = {
    {"same_items", same_items, METH_VARARGS,
     "same_items(owners, keys, found): owner[key] is found, for each."},
    {"same_keys", same_keys, METH_VARARGS,
     "same_keys(tables, keys): the keys of each dict are those of a tuple, in their order."},
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
     "kernel(function, grid, threads, shared, kinds): what launch() is given. `function` is a "
     "CUfunction,\n"
     "`shared` is in bytes. `kinds` has a letter for each parameter: x where it is compiled in, P "
     "for a\n"
     "tensor or None, f and d for floats, bhiq and BHIQ for integers of 8 to 64 bits. None for "
     "other\n"
     "letters, and without libcuda."},
    {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch)), METH_FASTCALL,
     "launch(kernel, stream, *arguments): whether it was launched; not in a thread without a "
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
  if (module && PyModule_AddIntConstant(module, "VERSION", 1) < 0) Py_CLEAR(module);
  return module;
}
