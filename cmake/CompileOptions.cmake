# What every target of ours is compiled with. Imported and generated code is not.
add_library(undertone_options INTERFACE)
target_compile_features(undertone_options INTERFACE cxx_std_20)
target_compile_options(undertone_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -fno-fast-math -ffp-contract=off)
target_include_directories(undertone_options INTERFACE ${PROJECT_SOURCE_DIR})
# Eigen cuts its products to the caches it plans with, and so orders their sums: not by what processor it runs on.
target_compile_definitions(undertone_options INTERFACE EIGEN_NO_CPUID EIGEN_DONT_PARALLELIZE)
# GCC looks for garbage from 128 MB on, which is a tenth of its time here; a unit needs one GB at most.
target_compile_options(undertone_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
option(UNDERTONE_WERROR "Warnings are errors" OFF)
if(UNDERTONE_WERROR)
  target_compile_options(undertone_options INTERFACE -Werror)
endif()

set(UNDERTONE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them")
if(UNDERTONE_SANITIZE)
  add_compile_options(-fsanitize=${UNDERTONE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${UNDERTONE_SANITIZE})
  # The library's own checks: an optional that holds nothing, an index beyond the end. They cost nothing to compile.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  # GCC 12's flow analysis loses its way in instrumented variants and strings; the dev build keeps the warnings.
  target_compile_options(undertone_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>)
  if(UNDERTONE_SANITIZE MATCHES "undefined")
    # The checks left out take two fifths of the compile time and find little beside the address sanitizer: a null
    # pointer, one that ran off and an object that is too small fault there, too. The fuzz preset has them all.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=vptr,null,alignment,object-size
                        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=pointer-overflow>)
    # Clang 14 cannot write its check of called functions' types before a coroutine.
    add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
endif()

set(UNDERTONE_FUZZ_SANITIZERS "address,undefined" CACHE STRING "Sanitizers of the libFuzzer targets: none is several times as fast")
if(UNDERTONE_FUZZ)
  add_compile_options(-fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(NOT UNDERTONE_FUZZ_SANITIZERS)
    # What is reached is counted, and comparisons are not traced, which takes a quarter of a fast fuzzer's time.
    add_compile_options(-fsanitize-coverage=inline-8bit-counters,pc-table)
  else()
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_compile_options(-fsanitize=${UNDERTONE_FUZZ_SANITIZERS} -fno-sanitize-recover=all)
    add_compile_options(-fno-sanitize=function)  # as above: it cannot stand before a coroutine
    add_link_options(-fsanitize=${UNDERTONE_FUZZ_SANITIZERS})
  endif()
endif()

# The extension of the Python package is a shared library, into which the libraries go as they are. That our functions
# call each other as in a program keeps their speed.
option(UNDERTONE_PYTHON "Build the extension of the Python package" OFF)
if(UNDERTONE_PYTHON)
  add_compile_options(-fPIC -fno-semantic-interposition)
endif()

# What is shipped defends itself: position-independent programs with everything bound and read-only before main, checked
# library calls, stack canaries, no jumps into the middle of functions. Paths of the build stay out of the programs, so
# that the same source gives the same bytes in any folder. tests/net/hardening looks at the result.
option(UNDERTONE_HARDEN "Harden programs, as the release preset does" OFF)
if(UNDERTONE_HARDEN)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fcf-protection UNDERTONE_HAS_CF_PROTECTION)  # x86 alone
  add_compile_options(-fPIE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
                      $<$<BOOL:${UNDERTONE_HAS_CF_PROTECTION}>:-fcf-protection>
                      -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
  add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# A hundred programs of some 60 MB are linked, of which most are tests: gold takes half of the time. lld 14 is faster
# still, but what it links may abort where an exception passes a cleanup: it did so in silo_test, whose objects unwind
# as they should with the two others. What is shipped keeps the system's linker.
find_program(UNDERTONE_GOLD ld.gold)
if(UNDERTONE_GOLD AND NOT UNDERTONE_HARDEN)
  add_link_options(-fuse-ld=gold)
endif()

# Files of a target are compiled as one, in half the time; clang-tidy reads every file for itself.
if(CMAKE_UNITY_BUILD)
  # GCC takes the files for headers, and Clang warns where a name hides one of another file. Each keeps the other's warning.
  target_compile_options(undertone_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                                                     $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
endif()

# Paths below the source folder count relative to it. (Files that are put together name each other by whole paths, so that
# two checkouts share little all the same.)
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

# What nearly every file of ours sees, parsed once: a fifth of the compile time. A file still includes what it uses, and
# the lint preset compiles without. Nothing that a target's definitions change may stand here.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// The translation unit that a target needs to have a precompiled header.\n")
function(undertone_precompile name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINKS" ${ARGN})
  add_library(${name} STATIC ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE undertone_options ${arg_LINKS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS}
    <Eigen/Core> <boost/system/result.hpp> <fmt/format.h> <nlohmann/json.hpp>
    <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory> <optional> <set>
    <span> <string> <variant> <vector>)
endfunction()
function(undertone_use_precompiled name from)
  target_precompile_headers(${name} REUSE_FROM ${from})
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # ccache asks for it
endfunction()

# undertone_library(name [COMPUTES] SOURCES ... LINKS ...)
# COMPUTES: its loops over numbers take the time of a test. A tree with sanitizers optimises such libraries alone: the
# others compile in half the time there, and their tests do not become slower. The thread sanitizer's tests compute little,
# and nothing is optimised for them.
function(undertone_library name)
  cmake_parse_arguments(arg "COMPUTES" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC undertone_options ${arg_LINKS})
  if(UNDERTONE_SANITIZE STREQUAL "thread" OR (UNDERTONE_SANITIZE AND NOT arg_COMPUTES))
    target_compile_options(${name} PRIVATE -O0)
    undertone_use_precompiled(${name} undertone_light_headers)
  else()
    undertone_use_precompiled(${name} undertone_headers)
  endif()
endfunction()

# For libraries that wait for the network, or that read, ask others and print: a third less time to compile, and what they
# take to run was not seen to change.
function(undertone_compile_lightly name)
  if(CMAKE_BUILD_TYPE MATCHES "Rel")
    target_compile_options(${name} PRIVATE -O1)
  endif()
endfunction()
