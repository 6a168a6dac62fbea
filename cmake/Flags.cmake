# How every C file of the project is compiled: the interface target vs_flags.

option(VS_WERROR "Warnings are errors" OFF)
option(VS_HOSTILE "All internal checks, tiny sizes: for tests" OFF)
option(VS_FUZZ "Build tests/fuzz as libFuzzer programs (clang)" OFF)
set(VS_SANITIZE "" CACHE STRING "Argument of -fsanitize=")
set(VS_FLAVOUR "custom" CACHE STRING "Begins the names of this build's tests")
set(VS_RINGS "" CACHE STRING "The rings of tests to build, a list; see tests/CMakeLists.txt")

# What is loaded into other programs, the simulated CUDA and the recorder, is written for this machine alone (base/machine.h).
set(VS_LOADS_INTO_PROGRAMS OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(VS_LOADS_INTO_PROGRAMS ON)
endif()

set(CMAKE_C_FLAGS_RELEASE "-O2 -g1") # -g1: names and lines for stack traces, at a tenth of the size of -g
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer") # what a sanitizer wants

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)

if(NOT VS_WASM)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C)
  find_package(ZLIB QUIET)
  find_package(SQLite3 QUIET)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(libdw QUIET IMPORTED_TARGET libdw)
    pkg_check_modules(microhttpd QUIET IMPORTED_TARGET libmicrohttpd)
    pkg_check_modules(ncursesw QUIET IMPORTED_TARGET ncursesw)
  endif()
  option(VS_WITH_ZLIB "Read gzip-compressed files (zlib)" ${ZLIB_FOUND})
  option(VS_WITH_SQLITE "Export to SQLite, and read exports of Nsight Systems" ${SQLite3_FOUND})
  option(VS_WITH_LIBDW "Name the native frames of recordings (elfutils)" ${libdw_FOUND})
  option(VS_WITH_SERVER "Serve the viewer's page (libmicrohttpd)" ${microhttpd_FOUND})
  option(VS_WITH_TUI "The screen of `top` (ncursesw)" ${ncursesw_FOUND})
endif()

add_library(vs_flags INTERFACE)
target_include_directories(vs_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(vs_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wvla
  $<$<BOOL:${VS_WERROR}>:-Werror>
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=) # __FILE__ says src/..., whoever builds it wherever
if(NOT VS_LOADS_INTO_PROGRAMS AND NOT VS_WASM)
  # Replies are equal on all machines: others than x86-64 would multiply and add with one rounding.
  target_compile_options(vs_flags INTERFACE -ffp-contract=off)
endif()

# Switches are always defined, to 0 or 1, and asked with #if: -Wundef then catches the misspelt one.
# Those of other libraries are given to the targets that ask them, so that builds with and without a library share the rest.
function(vs_switches target)
  foreach(switch ${ARGN})
    target_compile_definitions(${target} PRIVATE ${switch}=$<BOOL:${${switch}}>)
  endforeach()
endfunction()
target_compile_definitions(vs_flags INTERFACE VS_HOSTILE=$<BOOL:${VS_HOSTILE}> VS_FREESTANDING=$<BOOL:${VS_WASM}>)

# Builds that compile the same code share it where ccache is installed: the release, the wheel, and the engine of the page, which the
# release and the wasm preset both build. The folder is the project's own: the builds of a new machine begin without it.
set(VS_CACHE "" CACHE PATH "Folder of a compiler cache (ccache) that builds share")
find_program(VS_CCACHE ccache)
if(VS_CACHE AND VS_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  # Which files a result depends on says the compiler (CCACHE_DEPEND), so nothing is preprocessed twice. What the assembler takes in
  # it does not say: page.c is compiled without the cache (Library.cmake).
  set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_DIR=${VS_CACHE} CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1 ${VS_CCACHE})
endif()

if(VS_WASM)
  target_compile_options(vs_flags INTERFACE -msimd128 # in every browser since 2023
    -nostdlibinc) # the build machine's headers are not ours
endif()

if(VS_SANITIZE)
  add_compile_options(-fsanitize=${VS_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${VS_SANITIZE})
  if(VS_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # It does not know fences. What they order is atomic itself, so it reports nothing that is not a race.
    add_compile_options(-Wno-tsan)
  endif()
elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT VS_WASM)
  # It reads files from strangers: a mistake should stop it, not serve them.
  target_compile_options(vs_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
  target_link_options(vs_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(VS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/unlearned.list)
endif()
