# The WebAssembly build: the pure modules and the web face, by the same list as the native build.

set(check_wasm ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_wasm)
add_link_options(-nostdlib -Wl,--no-entry -Wl,--fatal-warnings)

# Proof of purity, from the first day and whatever a face uses of them: all pure modules link whole, and import nothing.
add_executable(pure cmake/wasm_builtins.c ${vs_objects})
target_link_libraries(pure PRIVATE vs_flags)
set_target_properties(pure PROPERTIES SUFFIX .wasm)
target_link_options(pure PRIVATE -Wl,--no-gc-sections)
add_custom_command(TARGET pure POST_BUILD COMMAND ${check_wasm} $<TARGET_FILE:pure> VERBATIM)

file(GLOB web_sources CONFIGURE_DEPENDS src/faces/web/*.c)
add_executable(vramscope cmake/wasm_builtins.c ${web_sources} ${vs_objects})
target_link_libraries(vramscope PRIVATE vs_flags)
add_dependencies(vramscope floors)
set_target_properties(vramscope PROPERTIES SUFFIX .wasm)
# Exported is what carries an export_name. The stack lies first, so that running over its end traps.
target_link_options(vramscope PRIVATE -Wl,--gc-sections -Wl,--stack-first -Wl,-z,stack-size=1048576)
add_custom_command(TARGET vramscope POST_BUILD COMMAND ${check_wasm} $<TARGET_FILE:vramscope> reply log VERBATIM)
