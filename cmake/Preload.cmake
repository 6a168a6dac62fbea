# Libraries that are loaded into other people's processes: libc, libdl and pthread only, nothing of ours is seen from outside but what
# a version script lists.

include(CheckIPOSupported)
check_ipo_supported(RESULT vs_has_ipo LANGUAGES C) # with Clang it needs CMAKE_C_COMPILER_AR

# vs_preloaded_library(TARGET FOLDER): how such a library is compiled and linked; in a build it lies in FOLDER.
function(vs_preloaded_library target folder)
  target_link_libraries(${target} PRIVATE vs_flags)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,defs)
  if(VS_SANITIZE) # they go into programs that know no sanitizer; tests have the same code inside, with it
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder} BUILD_RPATH_USE_ORIGIN TRUE
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  add_dependencies(${target} floors)
endfunction()

# The recorder (src/faces/preload), with its own copy of the modules that it stands on. It exports the names of PyTorch's that it stands
# before. PyTorch's exceptions pass through its functions, which have nothing to clean up then.
set(vs_preload_dir ${PROJECT_BINARY_DIR}/preload)
if(VS_LOADS_INTO_PROGRAMS)
  set(below)
  foreach(module base os codec event tracefile record)
    file(GLOB sources CONFIGURE_DEPENDS src/${module}/*.c)
    list(APPEND below ${sources})
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS src/faces/preload/*.c)
  add_library(vramscope_record MODULE ${sources} ${below})
  vs_preloaded_library(vramscope_record ${vs_preload_dir})
  target_link_libraries(vramscope_record PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(vramscope_record PRIVATE -fexceptions -ffunction-sections -fdata-sections)
  # With link-time optimization the recorder's functions take a fifth less of a training step (bench/run_record).
  set_target_properties(vramscope_record PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE ${vs_has_ipo})
  set(map ${CMAKE_CURRENT_BINARY_DIR}/vramscope_record.map)
  file(GENERATE OUTPUT ${map} CONTENT "{ global: _ZN3c10*ToProfiler*; _ZN3c1012SetAllocator*; _ZN2at14RecordFunctionC1ENS_11RecordScopeE; vramscope_record_*; InitializeInjectionNvtx2; dlsym; cu*; local: *; };\n")
  target_link_options(vramscope_record PRIVATE -Wl,--gc-sections -Wl,-z,nodelete -Wl,--version-script=${map})
  set_target_properties(vramscope_record PROPERTIES OUTPUT_NAME vramscope-record LINK_DEPENDS ${map})
  install(TARGETS vramscope_record LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vramscope/preload)

  # What `vramscope attach` runs in a program that has no package of ours.
  configure_file(python/vramscope/_recorder.py ${vs_preload_dir}/vramscope_recorder.py COPYONLY)
  install(FILES python/vramscope/_recorder.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/vramscope/preload RENAME vramscope_recorder.py)
endif()

# The parts of it that tests call, which have the modules below from libvramscope.a.
add_library(vs_preload STATIC EXCLUDE_FROM_ALL src/faces/preload/blocks.c src/faces/preload/segments.c src/faces/preload/python_code.c
  src/faces/preload/python_paths.c src/faces/preload/nvtx_search.c src/faces/preload/generated.c)
target_compile_definitions(vs_preload PRIVATE _GNU_SOURCE)
target_link_libraries(vs_preload PRIVATE vs_flags PUBLIC vramscope_static)
