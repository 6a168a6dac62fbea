# The WebAssembly build: the pure modules and the web face, by the same list as the native build.

set(check_wasm ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_wasm)
# A page carries the module. What reads a snapshot's millions of events is fast; the rest, measured, is as fast when small.
foreach(module tracefile alloc device device_sim analyze query)
  target_compile_options(vs_${module} PRIVATE -Oz)
endforeach()
# Reading a million events takes as long without what these make of loops: measured in node, on a pickle of 142 MB.
foreach(module base codec event snapshot)
  target_compile_options(vs_${module} PRIVATE -fno-vectorize -fno-slp-vectorize -fno-unroll-loops)
endforeach()
file(GLOB small CONFIGURE_DEPENDS src/snapshot/vram_*.c src/snapshot/check.c src/snapshot/reader.c src/snapshot/emit.c
  src/snapshot/writer.c src/snapshot/forward.c src/snapshot/builder_finish.c src/codec/*_writer.c src/codec/foreign.c
  src/codec/json_doc.c src/codec/json_reply.c src/base/human.c src/base/double_text.c src/base/nearest.c src/base/status.c
  src/base/text.c src/base/glyph.c src/event/kinds.c)
set_source_files_properties(${small} PROPERTIES COMPILE_OPTIONS -Oz)
set_source_files_properties(src/base/mem.c PROPERTIES COMPILE_OPTIONS -mbulk-memory) # only there: see mem.c
add_link_options(-nostdlib -Wl,--no-entry -Wl,--fatal-warnings)

# Proof of purity, from the first day and whatever a face uses of them: all pure modules link whole, and import nothing.
add_executable(pure cmake/wasm_builtins.c ${vs_objects})
target_link_libraries(pure PRIVATE vs_flags)
set_target_properties(pure PROPERTIES SUFFIX .wasm)
target_link_options(pure PRIVATE -Wl,--no-gc-sections)
add_custom_command(TARGET pure POST_BUILD COMMAND ${check_wasm} $<TARGET_FILE:pure> VERBATIM)

vs_face_sources(faces/web web_sources)
add_executable(vramscope cmake/wasm_builtins.c ${web_sources} ${vs_objects})
target_link_libraries(vramscope PRIVATE vs_flags)
add_dependencies(vramscope floors)
set_target_properties(vramscope PROPERTIES SUFFIX .wasm)
# Exported is what carries an export_name. The stack lies first, so that running over its end traps.
# The last page of all addresses is left out, so that the end of the memory is one.
target_link_options(vramscope PRIVATE -Wl,--gc-sections -Wl,--max-memory=4294901760 -Wl,--stack-first -Wl,-z,stack-size=1048576)
add_custom_command(TARGET vramscope POST_BUILD
  COMMAND ${check_wasm} $<TARGET_FILE:vramscope> reply log read inflate VERBATIM)

if("unit" IN_LIST VS_RINGS)
  add_subdirectory(tests/wasm/unit)
endif()
