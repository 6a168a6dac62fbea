# The viewer's page: the target vs_page makes ${vs_page_file} of viewer/ and the engine, a WebAssembly module, for which
# this build contains a second one (engine/). Without clang and wasm-ld, or with VS_WITH_PAGE off, the page has no engine: it
# shows what the server serves and opens no file by itself.

find_program(VS_CLANG clang)
find_program(VS_WASM_LD wasm-ld)
set(page_is_possible OFF)
if(VS_CLANG AND VS_WASM_LD AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT VS_SANITIZE)
  set(page_is_possible ON)
endif()
option(VS_WITH_PAGE "Build the viewer's engine for the page (clang, wasm-ld)" ${page_is_possible})

set(vs_page_file ${PROJECT_BINARY_DIR}/viewer/vramscope.html)
file(GLOB_RECURSE viewer_files CONFIGURE_DEPENDS viewer/*.js viewer/*.css viewer/*.html viewer/FLOORS)
set(page_needs ${viewer_files} ${PROJECT_SOURCE_DIR}/tools/bundle_viewer)
set(page_command ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/bundle_viewer ${PROJECT_SOURCE_DIR}/viewer ${vs_page_file})

if(VS_WITH_PAGE)
  set(engine ${PROJECT_BINARY_DIR}/engine/vramscope.wasm)
  file(GLOB engine_rules CONFIGURE_DEPENDS include/vramscope/* src/FLOORS
    CMakeLists.txt cmake/Flags.cmake cmake/Modules.cmake cmake/Wasm.cmake cmake/wasm*)
  add_custom_command(OUTPUT engine.stamp
    # Flags in the environment are meant for the machine that this is built on.
    COMMAND ${CMAKE_COMMAND} -E env --unset=CFLAGS --unset=CPPFLAGS --unset=LDFLAGS
      ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B engine -G ${CMAKE_GENERATOR} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/wasm32.cmake -DCMAKE_EXE_LINKER_FLAGS=-Wl,--strip-all,--compress-relocations
      -DVS_WERROR=${VS_WERROR} -DVS_CACHE=${VS_CACHE} -DPython3_EXECUTABLE=${Python3_EXECUTABLE} --log-level=ERROR
    COMMAND ${CMAKE_COMMAND} --build engine --target vramscope
    COMMAND ${CMAKE_COMMAND} -E touch engine.stamp
    BYPRODUCTS ${engine}
    DEPENDS ${vs_pure_files} ${engine_rules}
    COMMENT "Building the viewer's engine" VERBATIM)
  list(APPEND page_needs engine.stamp)
  list(APPEND page_command --engine ${engine})
else()
  message(STATUS "The viewer's page has no engine (VS_WITH_PAGE)")
endif()

add_custom_command(OUTPUT ${vs_page_file}
  COMMAND ${page_command}
  DEPENDS ${page_needs}
  COMMENT "Writing the viewer's page" VERBATIM)
add_custom_target(vs_page ALL DEPENDS ${vs_page_file})
