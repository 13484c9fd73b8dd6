# libtorch out of KW_PYTHON's torch wheel. find_package(Torch) wants nvcc and a toolkit for a CUDA
# wheel, so the few libraries are named here; no nvcc is needed.
execute_process(
  COMMAND ${KW_PYTHON} -c "import torch, os, sysconfig
print(os.path.dirname(torch.__file__))
print(torch.__version__)
print(1 if torch.version.cuda else 0)
print(sysconfig.get_paths()['purelib'])
print(sysconfig.get_paths()['include'])"
  OUTPUT_VARIABLE torch_facts RESULT_VARIABLE torch_status ERROR_VARIABLE torch_error
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT torch_status EQUAL 0)
  message(FATAL_ERROR "${KW_PYTHON} cannot import torch:\n${torch_error}")
endif()
string(REPLACE "\n" ";" torch_facts "${torch_facts}")
list(GET torch_facts 0 TORCH_DIR)
list(GET torch_facts 1 TORCH_VERSION)
list(GET torch_facts 2 KW_TORCH_CUDA)
list(GET torch_facts 3 SITE_PACKAGES)
list(GET torch_facts 4 python_include)
# Absent without the headers of Python (Debian: python3-dev).
find_path(KW_PYTHON_INCLUDE Python.h PATHS ${python_include} NO_DEFAULT_PATH)
message(STATUS "torch ${TORCH_VERSION} (CUDA: ${KW_TORCH_CUDA})")

add_library(kw_torch INTERFACE)
target_include_directories(kw_torch SYSTEM INTERFACE ${TORCH_DIR}/include
  ${TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(kw_torch INTERFACE KW_TORCH_VERSION="${TORCH_VERSION}")
target_link_directories(kw_torch INTERFACE ${TORCH_DIR}/lib)
target_link_options(kw_torch INTERFACE -Wl,-rpath,${TORCH_DIR}/lib)
if(KW_TORCH_CUDA)
  # The CUDA headers come with the wheels (nvidia/cu13/include) or with a toolkit.
  # crt/ is a part of the toolkit that some wheels leave out.
  find_path(KW_CUDA_INCLUDE crt/host_defines.h HINTS ${TORCH_DIR}/../nvidia/cu13/include
    ${SITE_PACKAGES}/nvidia/cu13/include /usr/local/cuda/include)
  find_library(KW_CUDART NAMES cudart libcudart.so.13 libcudart.so.12
    HINTS ${TORCH_DIR}/../nvidia/cu13/lib ${SITE_PACKAGES}/nvidia/cu13/lib /usr/local/cuda/lib64)
  target_include_directories(kw_torch SYSTEM INTERFACE ${KW_CUDA_INCLUDE})
  target_compile_definitions(kw_torch INTERFACE KW_WITH_CUDA)
  # --as-needed would drop torch_cuda, whose kernels register themselves.
  target_link_libraries(kw_torch INTERFACE -Wl,--no-as-needed c10 torch_cpu torch c10_cuda torch_cuda
    -Wl,--as-needed ${KW_CUDART} ${CMAKE_DL_LIBS})
else()
  target_link_libraries(kw_torch INTERFACE c10 torch_cpu torch)
endif()
