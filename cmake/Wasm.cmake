# The WebAssembly build: the pure modules and the web face, by the same list as the native build.

set(check_wasm ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_wasm)
# A page carries the module. Counted by callgrind in node: small is as fast, but for what reads each byte of a pickle and makes its rows
# (docs/figures.md); and reading takes as long without what the compiler makes of loops.
foreach(module tracefile event snapshot alloc device device_sim analyze ledger query)
  target_compile_options(vs_${module} PRIVATE -Oz)
endforeach()
foreach(module base codec event snapshot)
  target_compile_options(vs_${module} PRIVATE -fno-vectorize -fno-slp-vectorize -fno-unroll-loops)
endforeach()
file(GLOB small CONFIGURE_DEPENDS src/codec/*.c src/base/*.c)
list(FILTER small EXCLUDE REGEX "codec/pickle(_dicts|_lists|_machine|_stack)?\\.c|base/(mem|sort)\\.c")
set_source_files_properties(${small} PROPERTIES COMPILE_OPTIONS -Oz)
file(GLOB rows CONFIGURE_DEPENDS src/snapshot/builder*.c src/snapshot/model.c src/event/*.c)
set_source_files_properties(${rows} PROPERTIES COMPILE_OPTIONS -O2) # what makes the rows: behind the -Oz of their modules; tests/wasm/test_hot_files.py
set_source_files_properties(src/base/mem.c PROPERTIES COMPILE_OPTIONS -mbulk-memory) # only there: see mem.c
# -O0 is for the driver, which at other levels runs the wasm-opt that it finds (of binaryen): what it writes, or whether it fails, depends on the
# machine. The linker does the same at all levels.
add_link_options(-O0 -nostdlib -Wl,--no-entry -Wl,--fatal-warnings)

# Proof of purity, from the first day and whatever a face uses of them: all pure modules link whole, and import nothing.
add_executable(pure cmake/wasm_builtins.c ${vs_objects})
target_link_libraries(pure PRIVATE vs_flags)
set_target_properties(pure PROPERTIES SUFFIX .wasm)
target_link_options(pure PRIVATE -Wl,--no-gc-sections)
add_custom_command(TARGET pure POST_BUILD COMMAND ${check_wasm} $<TARGET_FILE:pure> VERBATIM)

# The web face twice: `vramscope` has the methods that the viewer asks and lies in the page; `whole` has all of them, for tests that
# compare each with the native library.
vs_face_sources(faces/web web_sources)
foreach(name vramscope whole)
  add_executable(${name} cmake/wasm_builtins.c ${web_sources} ${vs_objects})
  target_link_libraries(${name} PRIVATE vs_flags)
  target_compile_options(${name} PRIVATE -Oz)
  add_dependencies(${name} floors)
  set_target_properties(${name} PROPERTIES SUFFIX .wasm)
  # Exported is what carries an export_name. The stack lies first, so that running over its end traps.
  # The last page of all addresses is left out, so that the end of the memory is one.
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--max-memory=4294901760 -Wl,--stack-first -Wl,-z,stack-size=1048576)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${check_wasm} $<TARGET_FILE:${name}> reply log read inflate VERBATIM)
endforeach()
target_compile_definitions(whole PRIVATE VS_WEB_HANDLERS=vs_handlers)

if("unit" IN_LIST VS_RINGS)
  add_subdirectory(tests/wasm/unit)
endif()
