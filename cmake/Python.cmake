# The Python package vramscope: the extension vramscope._native by CPython's limited API, so that one file serves 3.11 and
# all that follow, and `python`, a target that lays out a package that runs as it lies:
#
#   <build>/python/vramscope/*.py *.pyi py.typed      links to python/vramscope: edit and run
#   <build>/python/vramscope/_native.abi3.so
#   <build>/python/vramscope/bin, lib                 links to the command and what it looks for beside itself
#
# A wheel has the same, installed (pyproject.toml).

if(NOT DEFINED Python_EXECUTABLE)
  set(Python_EXECUTABLE ${Python3_EXECUTABLE}) # of Modules.cmake, which runs our tools and may be older
endif()
find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
set(python_is_possible ${Python_Development.Module_FOUND})
if(VS_SANITIZE OR VS_FUZZ) # an interpreter without a sanitizer cannot load what wants one
  set(python_is_possible OFF)
endif()
option(VS_WITH_PYTHON "Build the Python package (Python.h of 3.11 or later)" ${python_is_possible})
if(NOT VS_WITH_PYTHON)
  return()
endif()
if(NOT Python_Development.Module_FOUND)
  message(FATAL_ERROR "VS_WITH_PYTHON wants the headers of Python 3.11 or later (Debian: python3-dev)")
endif()

set(vs_python_dir ${PROJECT_BINARY_DIR}/python)
set(package ${vs_python_dir}/vramscope)
set(package_source ${PROJECT_SOURCE_DIR}/python/vramscope)
vs_face_sources(faces/python native_sources)
add_library(vs_native MODULE ${native_sources} $<TARGET_OBJECTS:vs_torch>) # all of it: PyTorch looks it up by name
target_include_directories(vs_native SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_compile_definitions(vs_native PRIVATE _GNU_SOURCE Py_LIMITED_API=0x030b0000)
target_link_libraries(vs_native PRIVATE vs_flags vramscope_static Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(vs_native floors)

# It lives in other people's processes: nothing but its entry, and what PyTorch looks up by name, can be seen from outside.
set(map ${CMAKE_CURRENT_BINARY_DIR}/vs_native.map)
file(GENERATE OUTPUT ${map} CONTENT "{ global: PyInit__native; vs_torch_*; local: *; };\n")
target_link_options(vs_native PRIVATE -Wl,--as-needed -Wl,-Bsymbolic -Wl,--version-script=${map} -Wl,-z,relro,-z,now)
set_target_properties(vs_native PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so LINK_DEPENDS ${map}
  LIBRARY_OUTPUT_DIRECTORY ${package})

# ---- the package as it lies in a build

file(GLOB_RECURSE package_files CONFIGURE_DEPENDS RELATIVE ${package_source}
  ${package_source}/*.py ${package_source}/*.pyi ${package_source}/py.typed)
foreach(file ${package_files})
  get_filename_component(folder ${package}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${package_source}/${file} ${package}/${file} SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY ${package}/bin ${package}/lib/vramscope)
file(CREATE_LINK ${PROJECT_BINARY_DIR}/vramscope ${package}/bin/vramscope SYMBOLIC)
if(VS_LOADS_INTO_PROGRAMS)
  file(CREATE_LINK ${vs_simcuda_dir} ${package}/lib/vramscope/simcuda SYMBOLIC)
  file(CREATE_LINK ${vs_preload_dir} ${package}/lib/vramscope/preload SYMBOLIC)
endif()
file(CREATE_LINK ${PROJECT_BINARY_DIR}/dryrun ${package}/lib/vramscope/dryrun SYMBOLIC)

# The stubs that the package's own lists tell: of the methods (query.pyi) and of the names (__init__.pyi). A Python of the target makes them.
if(NOT DEFINED VS_PYTHON_OF_TARGET) # in a build for another machine: a list, an emulator with such a Python
  set(VS_PYTHON_OF_TARGET ${Python_EXECUTABLE})
endif()
set(stubs ${package}/query.pyi ${package}/_replies.pyi ${package}/__init__.pyi)
add_custom_command(OUTPUT ${stubs}
  COMMAND ${VS_PYTHON_OF_TARGET} ${PROJECT_SOURCE_DIR}/tools/make_python_stubs ${PROJECT_BINARY_DIR}
  DEPENDS vs_native ${PROJECT_SOURCE_DIR}/tools/make_python_stubs
    ${PROJECT_SOURCE_DIR}/tools/reply_types.py ${PROJECT_SOURCE_DIR}/src/query/replies.d.ts ${package_source}/__init__.py ${package_source}/query.py
  COMMENT "Writing the stubs of the Python package" VERBATIM)

add_custom_target(python ALL DEPENDS ${stubs})
add_dependencies(python vs_native vramscope simcuda)

# ---- the package as a wheel has it: `cmake --install . --component python`, which scikit-build-core does (pyproject.toml)

set(python_part COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS vs_native LIBRARY DESTINATION vramscope ${python_part})
install(FILES ${stubs} DESTINATION vramscope ${python_part})
install(TARGETS vramscope RUNTIME DESTINATION vramscope/bin ${python_part})
if(VS_LOADS_INTO_PROGRAMS)
  add_dependencies(python vramscope_record)
  get_target_property(simcuda_libraries simcuda MANUALLY_ADDED_DEPENDENCIES)
  install(TARGETS ${simcuda_libraries} LIBRARY DESTINATION vramscope/lib/vramscope/simcuda ${python_part})
  install(TARGETS vramscope_record LIBRARY DESTINATION vramscope/lib/vramscope/preload ${python_part})
  install(FILES python/vramscope/_recorder.py DESTINATION vramscope/lib/vramscope/preload RENAME vramscope_recorder.py ${python_part})
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/dryrun DESTINATION vramscope/lib/vramscope ${python_part}
  FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
