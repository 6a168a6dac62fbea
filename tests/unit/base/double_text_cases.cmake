# vs_double_text_cases(TARGET): the build makes double_text_cases.def for it, doubles and texts with CPython's own answers.
function(vs_double_text_cases target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/made)
  set(maker ${PROJECT_SOURCE_DIR}/tests/unit/base/make_double_text_cases)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/double_text_cases.def
    COMMAND ${Python3_EXECUTABLE} ${maker} > ${folder}/double_text_cases.def
    DEPENDS ${maker}
    COMMENT "Asking CPython about doubles" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/double_text_cases.def)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
