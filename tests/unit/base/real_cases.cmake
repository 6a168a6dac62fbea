# vs_real_cases(TARGET): the build makes real_cases.def for it, doubles and texts with CPython's own answers.
function(vs_real_cases target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/made)
  set(maker ${PROJECT_SOURCE_DIR}/tests/unit/base/make_real_cases)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/real_cases.def
    COMMAND ${Python3_EXECUTABLE} ${maker} > ${folder}/real_cases.def
    DEPENDS ${maker}
    COMMENT "Asking CPython about doubles" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/real_cases.def)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
