# The C++ libraries that are not torch: headers from the system or from KW_DEPS (a prefix made by
# scripts/setup or scripts/stage-deps).
if(KW_DEPS)
  list(APPEND CMAKE_PREFIX_PATH ${KW_DEPS} ${KW_DEPS}/usr)
  list(APPEND CMAKE_INCLUDE_PATH ${KW_DEPS}/include ${KW_DEPS}/usr/include
    ${KW_DEPS}/usr/include/x86_64-linux-gnu)
  list(APPEND CMAKE_LIBRARY_PATH ${KW_DEPS}/lib ${KW_DEPS}/usr/lib/x86_64-linux-gnu ${KW_DEPS}/usr/lib)
  # DT_RPATH, not DT_RUNPATH: it also finds what shared libraries need themselves, and what dlopen is
  # given.
  add_link_options(-Wl,--disable-new-dtags
    -Wl,-rpath,${KW_DEPS}/lib:${KW_DEPS}/usr/lib/x86_64-linux-gnu)
endif()

function(kw_header_library name header hint)
  find_path(${name}_INCLUDE ${header})
  if(NOT ${name}_INCLUDE)
    message(FATAL_ERROR "${header} not found (Debian: ${hint}): run scripts/setup")
  endif()
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_INCLUDE})
endfunction()

kw_header_library(kw_json nlohmann/json.hpp nlohmann-json3-dev)
kw_header_library(kw_cli11 CLI/CLI.hpp libcli11-dev)
kw_header_library(kw_toml toml++/toml.h libtomlplusplus-dev)

kw_header_library(kw_sqlite sqlite3.h libsqlite3-dev)
find_library(KW_SQLITE_LIBRARY NAMES libsqlite3.a sqlite3)
find_package(Threads REQUIRED)
target_link_libraries(kw_sqlite INTERFACE ${KW_SQLITE_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)

# Static archives: programs go where the system has neither.
kw_header_library(kw_pcre2 pcre2.h libpcre2-dev)
target_compile_definitions(kw_pcre2 INTERFACE PCRE2_CODE_UNIT_WIDTH=8 PCRE2_STATIC)
find_library(KW_PCRE2_LIBRARY NAMES libpcre2-8.a pcre2-8 REQUIRED)
target_link_libraries(kw_pcre2 INTERFACE ${KW_PCRE2_LIBRARY})
kw_header_library(kw_utf8proc utf8proc.h libutf8proc-dev)
target_compile_definitions(kw_utf8proc INTERFACE UTF8PROC_STATIC)
find_library(KW_UTF8PROC_LIBRARY NAMES libutf8proc.a utf8proc REQUIRED)
target_link_libraries(kw_utf8proc INTERFACE ${KW_UTF8PROC_LIBRARY})

# Loaded when it is first used (src/net/curl.h): hosts that make no requests need none.
kw_header_library(kw_curl curl/curl.h libcurl4-openssl-dev)
target_link_libraries(kw_curl INTERFACE ${CMAKE_DL_LIBS})

# Distributions compile cpp-httplib: what includes its header needs the macros that it was compiled
# with, or classes differ.
kw_header_library(kw_httplib httplib.h libcpp-httplib-dev)
find_library(KW_HTTPLIB_LIBRARY NAMES cpp-httplib REQUIRED)
find_path(KW_OPENSSL_INCLUDE openssl/opensslconf.h REQUIRED)
target_include_directories(kw_httplib SYSTEM INTERFACE ${KW_OPENSSL_INCLUDE})
target_link_libraries(kw_httplib INTERFACE ${KW_HTTPLIB_LIBRARY})
get_filename_component(httplib_folder ${KW_HTTPLIB_LIBRARY} DIRECTORY)
file(STRINGS ${httplib_folder}/pkgconfig/cpp-httplib.pc httplib_flags REGEX "^Cflags:")
string(REGEX MATCHALL "-D[A-Za-z0-9_=]+" KW_HTTPLIB_FLAGS "${httplib_flags}")

if(KW_BUILD_TESTS)
  kw_header_library(kw_gtest gtest/gtest.h libgtest-dev)
  find_library(KW_GTEST_LIBRARY NAMES libgtest.a gtest)
  find_library(KW_GTEST_MAIN_LIBRARY NAMES libgtest_main.a gtest_main)
  target_link_libraries(kw_gtest INTERFACE ${KW_GTEST_MAIN_LIBRARY} ${KW_GTEST_LIBRARY} Threads::Threads)
endif()
