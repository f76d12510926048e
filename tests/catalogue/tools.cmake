# Tests of the error generator and of the code that the error pages show. Without Python they are left out.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  message(STATUS "No Python 3: the tests of the error generator and of the pages' snippets are left out")
  return()
endif()
set(tools "${PROJECT_SOURCE_DIR}/tools")

add_test(NAME catalogue.generator COMMAND ${Python3_EXECUTABLE} "${tools}/test_gen_errors.py")
add_test(NAME catalogue.shell_snippets COMMAND ${Python3_EXECUTABLE} "${tools}/error_snippets.py" --shell)
add_test(NAME catalogue.python_snippets COMMAND ${Python3_EXECUTABLE} "${tools}/error_snippets.py" --python)
set_tests_properties(catalogue.python_snippets PROPERTIES SKIP_RETURN_CODE 77)  # no NumPy

if(TARGET fv_context AND TARGET fv_image)
  file(GLOB entries CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/errors/*.md")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/error_snippets.cpp")
  add_custom_command(OUTPUT "${source}"
    COMMAND ${Python3_EXECUTABLE} "${tools}/error_snippets.py" --cpp "${source}"
    DEPENDS ${entries} "${tools}/error_snippets.py" "${tools}/error_entries.py")
  add_executable(error_snippets "${source}")
  # The pages show parts of programs: unused names and defaults that are left out are no faults there.
  target_compile_options(error_snippets PRIVATE -Wno-unused -Wno-missing-field-initializers)
  target_link_libraries(error_snippets PRIVATE fv_context fv_image)
  add_test(NAME catalogue.cpp_snippets COMMAND error_snippets)
endif()
