# The modules, as src/FLOORS lists them: each folder that has C files becomes an object library.
# The faces link them differently and come in Library.cmake and Wasm.cmake; the WebAssembly build takes the pure ones.
#
# Sets vs_objects, the object files of them all, and vs_pure_files, all files that the WebAssembly build can be made of.

find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)

# The law comes first: nothing is compiled before it is kept.
file(GLOB_RECURSE lawful CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  src/*.c src/*.h src/*.def include/*.h include/*.def)
list(TRANSFORM lawful PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(OUTPUT floors.stamp
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_floors ${PROJECT_SOURCE_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch floors.stamp
  DEPENDS ${lawful} ${PROJECT_SOURCE_DIR}/src/FLOORS ${PROJECT_SOURCE_DIR}/tools/check_floors
    ${PROJECT_SOURCE_DIR}/tools/file_circles.py
  COMMENT "Checking src/FLOORS" VERBATIM)
add_custom_target(floors ALL DEPENDS floors.stamp)

# A row `folder/*` is none of these: its folders are faces.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/FLOORS)
file(STRINGS src/FLOORS apart REGEX "^links +") # they link other libraries, which libvramscope does not
list(TRANSFORM apart REPLACE "^links +([a-z0-9_/]+).*" "\\1")
file(STRINGS src/FLOORS rows REGEX "^[0-9]+ +(pure +)?[a-z0-9_/]+ *:")
foreach(row ${rows})
  string(REGEX MATCH "^[0-9]+ +(pure +)?([a-z0-9_/]+)" row "${row}")
  set(module ${CMAKE_MATCH_2})
  set(pure ${CMAKE_MATCH_1})
  file(GLOB sources CONFIGURE_DEPENDS src/${module}/*.c)
  if(pure)
    file(GLOB files CONFIGURE_DEPENDS src/${module}/*.[ch] src/${module}/*.def)
    list(APPEND vs_pure_files ${files})
  endif()
  if(NOT sources OR module MATCHES "^faces/" OR module IN_LIST apart OR (VS_WASM AND NOT pure))
    continue()
  endif()
  string(REPLACE "/" "_" target vs_${module}) # device/sim -> vs_device_sim
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PRIVATE vs_flags)
  add_dependencies(${target} floors)
  if(NOT pure)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE) # what the operating system offers beyond ISO C
  endif()
  if(module STREQUAL "intake")
    vs_switches(${target} VS_WITH_ZLIB)
  endif()
  if(module STREQUAL "intake" AND VS_WITH_ZLIB)
    target_include_directories(${target} SYSTEM PRIVATE ${ZLIB_INCLUDE_DIRS}) # its types; nothing of it is linked
  endif()
  if(module STREQUAL "torch")
    target_compile_options(${target} PRIVATE -fexceptions) # PyTorch's pass through them
  endif()
  list(APPEND vs_objects $<TARGET_OBJECTS:${target}>)
endforeach()

# vs_face_sources(FACE OUT): the C files that a program or library is made of: the face's own, and those of the faces that its
# row lists, but for faces/tui, which is a library that tests link, too.
function(vs_face_sources face out)
  file(STRINGS src/FLOORS row REGEX "^[0-9]+ +(pure +)?${face} *:")
  string(REGEX MATCHALL "faces/[a-z0-9_]+" folders "${row}")
  list(REMOVE_ITEM folders faces/tui)
  list(TRANSFORM folders REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.c")
  file(GLOB sources CONFIGURE_DEPENDS ${folders})
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
