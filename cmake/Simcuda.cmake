# The simulated CUDA (src/faces/simcuda): the core library and one small library for each face, all in one folder, so that
# each finds the core beside itself.

set(simcuda ${PROJECT_SOURCE_DIR}/src/faces/simcuda)
set(vs_simcuda_dir ${PROJECT_BINARY_DIR}/simcuda)
add_custom_target(simcuda) # all of them

function(vs_simcuda_library target)
  vs_preloaded_library(${target} ${vs_simcuda_dir})
  add_dependencies(simcuda ${target})
endfunction()

# vs_face(FOLDER SONAME NODE [DEFINITION...]): NODE is the symbol version node, NONE for none.
function(vs_face folder soname node)
  file(GLOB sources CONFIGURE_DEPENDS ${simcuda}/${folder}/*.c)
  if(NOT EXISTS ${simcuda}/${folder}/${folder}_exports.c)
    return()
  endif()
  string(REGEX REPLACE "^lib|\\.so" "" name ${soname}) # libcudart.so.13 -> cudart.13
  set(target face.${name})
  add_library(${target} MODULE ${sources})
  vs_simcuda_library(${target})
  target_link_libraries(${target} PRIVATE vramscope_sim)
  target_compile_definitions(${target} PRIVATE ${ARGN})
  # Everything in the list of names is exported, and nothing else: the functions themselves stay hidden.
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  if(node STREQUAL "NONE")
    set(node "")
  endif()
  file(GENERATE OUTPUT ${map} CONTENT "${node} { global: cu*; nv*; nccl*; pnccl*; __cuda*; local: *; };\n")
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,-soname,${soname})
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${soname} LINK_DEPENDS ${map})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vramscope/simcuda)
endfunction()

file(GLOB core CONFIGURE_DEPENDS ${simcuda}/core/*.c)
if(core AND VS_LOADS_INTO_PROGRAMS)
  # The core carries its own copy of the modules it stands on, and lets the faces have them: all that begins with vs_, under
  # a version node of our own, so that nothing of the program can meet it. Two functions have the names of PyTorch's, which they stand
  # before (core/pytorch.c).
  file(GLOB below CONFIGURE_DEPENDS src/base/*.c src/os/*.c src/device/sim/*.c)
  add_library(vramscope_sim SHARED ${core} ${below})
  vs_simcuda_library(vramscope_sim)
  target_link_libraries(vramscope_sim PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set(map ${CMAKE_CURRENT_BINARY_DIR}/vramscope_sim.map)
  file(GENERATE OUTPUT ${map} CONTENT "VRAMSCOPE_SIM { global: vs_*; _ZN3c10*ToProfiler*; local: *; };\n")
  # Its own functions call each other directly, whatever else the process has loaded.
  target_compile_options(vramscope_sim PRIVATE -fno-semantic-interposition)
  target_link_options(vramscope_sim PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic)
  set_target_properties(vramscope_sim PROPERTIES C_VISIBILITY_PRESET default LINK_DEPENDS ${map})
  set_target_properties(vramscope_sim PROPERTIES OUTPUT_NAME vramscope-sim)
  install(TARGETS vramscope_sim LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vramscope/simcuda)

  # The core for its own tests, which have the modules below from libvramscope.a.
  add_library(vramscope_sim_static STATIC EXCLUDE_FROM_ALL ${core})
  target_link_libraries(vramscope_sim_static PRIVATE vs_flags PUBLIC vramscope_static Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(vramscope_sim_static PRIVATE _GNU_SOURCE)

  #       folder      soname                node
  vs_face(driver      libcuda.so.1          NONE)
  vs_face(cudart      libcudart.so.13       libcudart.so.13      VS_CUDART=13)
  vs_face(cudart      libcudart.so.12       libcudart.so.12      VS_CUDART=12)
  vs_face(nvml        libnvidia-ml.so.1     NONE)
  vs_face(cublas      libcublas.so.13       libcublas.so.13)
  vs_face(cublas      libcublas.so.12       libcublas.so.12 VS_TOOLKIT=12)
  vs_face(cublaslt    libcublasLt.so.13     libcublasLt.so.13)
  vs_face(cublaslt    libcublasLt.so.12     libcublasLt.so.12 VS_TOOLKIT=12)
  vs_face(cudnn       libcudnn.so.9         libcudnn.so.9)
  vs_face(cupti       libcupti.so.13        libcupti.so.13)
  vs_face(cupti       libcupti.so.12        libcupti.so.12 VS_TOOLKIT=12)
  vs_face(nccl        libnccl.so.2          NONE)
  vs_face(cufft       libcufft.so.12        libcufft.so.12)
  vs_face(cufft       libcufft.so.11        libcufft.so.11 VS_TOOLKIT=12)
  vs_face(cusparse    libcusparse.so.12     libcusparse.so.12)
  vs_face(cusolver    libcusolver.so.12     libcusolver.so.12)
  vs_face(cusolver    libcusolver.so.11     libcusolver.so.11 VS_TOOLKIT=12)
  vs_face(curand      libcurand.so.10       libcurand.so.10)
  vs_face(nvrtc       libnvrtc.so.13        libnvrtc.so.13)
  vs_face(nvrtc       libnvrtc.so.12        libnvrtc.so.12)
  vs_face(cusparselt  libcusparseLt.so.0    NONE)
  vs_face(cufile      libcufile.so.0        NONE)
  vs_face(nvshmem     libnvshmem_host.so.3  NVSHMEM)
endif()
