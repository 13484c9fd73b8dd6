# The kinds of targets: a library and a test program for each folder of src/, programs, tools, fuzz
# targets. A folder's files are found by their names: x_test.cc are tests, x_main.cc and main.cc are
# programs.

# What most files read first, compiled once for all that have the same flags: reading it takes a
# fifth of the build. Tests have it with googletest's, and what has libtorch has ATen's.
set(KW_PRECOMPILED <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <string>
  <vector> ${CMAKE_SOURCE_DIR}/src/formats/json.h)

# Compiles the files of a target together, KW_UNITY of them at a time: what they include is read and
# its templates are compiled once.
function(kw_together target)
  if(KW_UNITY GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${KW_UNITY})
    # It warns of anonymous namespaces in what is included, and all files are included here.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

function(kw_library folder)
  cmake_parse_arguments(ARG "TORCH" "" "LINK;EXCLUDE;OPTIONS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_main\\.cc$|/cli/main\\.cc$")
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  if(NOT sources)  # headers alone
    add_library(kw_${folder} INTERFACE)
    target_link_libraries(kw_${folder} INTERFACE ${ARG_LINK})
    return()
  endif()
  add_library(kw_${folder} STATIC ${sources})
  target_link_libraries(kw_${folder} PUBLIC ${ARG_LINK})
  target_compile_options(kw_${folder} PRIVATE ${ARG_OPTIONS})
  if(folder STREQUAL "executor")
    target_precompile_headers(kw_executor PRIVATE ${CMAKE_SOURCE_DIR}/src/executor/aten/aten.h)
  elseif(ARG_TORCH)
    target_precompile_headers(kw_${folder} REUSE_FROM kw_executor)
  elseif(folder STREQUAL "cli")
    target_precompile_headers(kw_cli PRIVATE ${KW_PRECOMPILED} <CLI/CLI.hpp>)
  elseif(folder STREQUAL "formats" OR ARG_OPTIONS)
    target_precompile_headers(kw_${folder} PRIVATE ${KW_PRECOMPILED})
  else()
    target_precompile_headers(kw_${folder} REUSE_FROM kw_formats)
  endif()
  kw_together(kw_${folder})
endfunction()

function(kw_program name source)
  cmake_parse_arguments(ARG "TORCH" "" "LINK" ${ARGN})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_TORCH)
    target_precompile_headers(${name} REUSE_FROM kw_executor)
  endif()
endfunction()

# A program that tests and measurements run, and users do not.
function(kw_tool name)
  kw_program(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(tools ${name})
endfunction()

# Appends the libraries of ours that `target` is linked with, itself included.
function(kw_own_libraries target out)
  set(found ${${out}})
  if(target MATCHES "^kw_" AND NOT target IN_LIST found)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND found ${target})
    endif()
    get_target_property(below ${target} INTERFACE_LINK_LIBRARIES)
    foreach(each ${below})
      kw_own_libraries(${each} found)
    endforeach()
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(kw_test folder)
  cmake_parse_arguments(ARG "TORCH" "" "" ${ARGN})
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*_test.cc)
  if(NOT tests)
    return()
  endif()
  add_executable(${folder}_test EXCLUDE_FROM_ALL ${tests})
  target_link_libraries(${folder}_test PRIVATE kw_${folder} kw_gtest)
  target_compile_definitions(${folder}_test PRIVATE KW_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  # Tests are compiled far more often than they take time to run. What they share with the product,
  # such as functions of std::vector, is taken from whom the linker sees first: from the product,
  # where it is optimized.
  target_compile_options(${folder}_test PRIVATE -O0)
  set(libraries)
  kw_own_libraries(kw_${folder} libraries)
  if(libraries)
    list(TRANSFORM libraries REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    list(JOIN libraries "," libraries)
    target_link_options(${folder}_test PRIVATE
      "LINKER:--whole-archive,${libraries},--no-whole-archive")
  endif()
  if(folder STREQUAL "executor")
    target_precompile_headers(executor_test PRIVATE ${CMAKE_SOURCE_DIR}/src/executor/aten/aten.h
      <gtest/gtest.h>)
  elseif(ARG_TORCH)
    target_precompile_headers(${folder}_test REUSE_FROM executor_test)
  elseif(folder STREQUAL "formats")
    target_precompile_headers(formats_test PRIVATE ${KW_PRECOMPILED} <gtest/gtest.h>)
  else()
    target_precompile_headers(${folder}_test REUSE_FROM formats_test)
  endif()
  kw_together(${folder}_test)
  add_dependencies(tests ${folder}_test)
  add_test(NAME ${folder} COMMAND ${folder}_test WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

function(kw_fuzz target)
  add_executable(fuzz_${target} EXCLUDE_FROM_ALL tests/fuzz/${target}.cc tests/fuzz/mutate.cc
    tests/fuzz/$<IF:$<BOOL:${KW_LIBFUZZER}>,libfuzzer,driver>.cc)
  if(KW_LIBFUZZER)
    target_link_options(fuzz_${target} PRIVATE ${KW_LIBFUZZER})
  else()
    add_test(NAME fuzz_${target} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
      COMMAND fuzz_${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/${target} 5000)
  endif()
  target_link_libraries(fuzz_${target} PRIVATE ${ARGN})
  add_dependencies(fuzz fuzz_${target})
endfunction()
