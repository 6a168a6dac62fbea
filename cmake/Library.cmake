# libvramscope as an archive and as a shared library, and the command line.

set(vs_headers ${PROJECT_SOURCE_DIR}/include/vramscope)
file(GLOB public_headers CONFIGURE_DEPENDS ${vs_headers}/*.h)

# The version script comes from the VS_API declarations: the headers are the only list of exported names.
set(version_node VRAMSCOPE_${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
add_custom_command(OUTPUT vramscope.map
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_exports map ${vs_headers} ${version_node} > vramscope.map
  DEPENDS ${public_headers} ${PROJECT_SOURCE_DIR}/tools/check_exports
  COMMENT "Listing the exported names" VERBATIM)
add_custom_target(version_script DEPENDS vramscope.map)

find_package(Threads REQUIRED)
foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} suffix)
  set(target vramscope_${suffix})
  add_library(${target} ${kind} ${vs_objects})
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME vramscope LINKER_LANGUAGE C)
endforeach()
set_target_properties(vramscope_static PROPERTIES EXPORT_NAME static)
set_target_properties(vramscope_shared PROPERTIES EXPORT_NAME vramscope
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${PROJECT_BINARY_DIR}/vramscope.map)
add_dependencies(vramscope_shared version_script)
target_link_options(vramscope_shared PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/vramscope.map -Wl,-z,relro,-z,now)
if(NOT VS_SANITIZE) # a sanitizer's runtime is found in the program, not in the library
  target_link_options(vramscope_shared PRIVATE -Wl,-z,defs)
endif()

# What opening files takes of other libraries, for the faces: of those that the build has.
file(GLOB linked_sources CONFIGURE_DEPENDS src/intake/linked/*.c)
add_library(vs_intake_linked STATIC ${linked_sources})
target_compile_definitions(vs_intake_linked PRIVATE _GNU_SOURCE)
vs_switches(vs_intake_linked VS_WITH_ZLIB VS_WITH_SQLITE VS_WITH_LIBDW)
target_link_libraries(vs_intake_linked PRIVATE vs_flags $<$<BOOL:${VS_WITH_ZLIB}>:ZLIB::ZLIB>
  $<$<BOOL:${VS_WITH_SQLITE}>:SQLite::SQLite3> $<$<BOOL:${VS_WITH_LIBDW}>:PkgConfig::libdw> PUBLIC vramscope_static)
add_dependencies(vs_intake_linked floors)

# The screen of `top`, which tests link, too.
file(GLOB tui_sources CONFIGURE_DEPENDS src/faces/tui/*.c)
add_library(vs_tui STATIC ${tui_sources})
target_compile_definitions(vs_tui PRIVATE _GNU_SOURCE)
vs_switches(vs_tui VS_WITH_TUI)
target_link_libraries(vs_tui PRIVATE vs_flags $<$<BOOL:${VS_WITH_TUI}>:PkgConfig::ncursesw> PUBLIC vramscope_static)
add_dependencies(vs_tui floors)

vs_face_sources(faces/cli cli_sources)
set(page_source ${PROJECT_SOURCE_DIR}/src/faces/cli/page.c)
list(REMOVE_ITEM cli_sources ${page_source})
add_executable(vramscope ${cli_sources} $<TARGET_OBJECTS:vs_page_object>)
target_link_libraries(vramscope PRIVATE vs_flags vs_tui vs_intake_linked vramscope_static
  $<$<BOOL:${VS_WITH_SERVER}>:PkgConfig::microhttpd> ${CMAKE_DL_LIBS})
# dryrun finds the simulated CUDA from where the binary lies, in a build as in an installed tree.
file(RELATIVE_PATH libraries_from_programs /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
target_compile_definitions(vramscope PRIVATE _GNU_SOURCE)
vs_switches(vramscope VS_WITH_SERVER)
target_compile_definitions(vs_dryrun PRIVATE VS_LIBRARIES_FROM_PROGRAMS="${libraries_from_programs}")
foreach(module sitecustomize vramscope_dryrun vramscope_end vramscope_engine vramscope_generate vramscope_groups vramscope_history
               vramscope_jax vramscope_libraries vramscope_loading vramscope_pipeline vramscope_pool vramscope_sglang vramscope_sharding vramscope_tensorflow vramscope_vllm vramscope_world)
  configure_file(python/vramscope_dryrun/${module}.py ${PROJECT_BINARY_DIR}/dryrun/${module}.py COPYONLY)
endforeach()
foreach(module vramscope_blocks vramscope_changes vramscope_optimizers) # the same folder: one hook loads both
  configure_file(python/vramscope_changes/${module}.py ${PROJECT_BINARY_DIR}/dryrun/${module}.py COPYONLY)
endforeach()
add_dependencies(vramscope floors)

# The viewer's page lies in the program: the assembler takes it in (page.c), which a compiler cache does not see.
add_library(vs_page_object OBJECT ${page_source})
target_link_libraries(vs_page_object PRIVATE vs_flags)
target_compile_definitions(vs_page_object PRIVATE _GNU_SOURCE)
set_target_properties(vs_page_object PROPERTIES C_COMPILER_LAUNCHER "")
add_dependencies(vs_page_object floors vs_page)
set_source_files_properties(${page_source} PROPERTIES
  COMPILE_DEFINITIONS VS_PAGE_FILE="${vs_page_file}" OBJECT_DEPENDS ${vs_page_file})

# The man pages and the completions are made from the binary's own table of commands.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/faces/commands/commands.def)
file(STRINGS src/faces/commands/commands.def commands REGEX "^VS_COMMAND")
list(TRANSFORM commands REPLACE "^VS_COMMAND.([a-z]+),.*" "vramscope-\\1.1 --man \\1")
foreach(page ${commands} "vramscope.1 --man" "vramscope.bash --completion bash" "_vramscope --completion zsh"
        "vramscope.fish --completion fish")
  separate_arguments(page)
  list(POP_FRONT page output)
  add_custom_command(OUTPUT help/${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory help
    COMMAND vramscope help ${page} > help/${output}
    DEPENDS vramscope
    COMMENT "Writing ${output}" VERBATIM)
  list(APPEND vs_help_files ${PROJECT_BINARY_DIR}/help/${output})
endforeach()
add_custom_target(help_files ALL DEPENDS ${vs_help_files})
