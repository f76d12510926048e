# cmake -D BUILD=.. -D SOURCE=.. -D COMPILER=.. -D FLAGS=.. -D WORK=.. -P install_test.cmake
# Installs, moves the tree to another place, then builds and runs a consumer there: by find_package for both
# libraries, for attention alone, and by pkg-config.
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed with ${code}: ${ARGN}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# The generator that built us: a bare machine has no make, which is what cmake would look for.
set(ENV{CMAKE_GENERATOR} Ninja)
file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --component development --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/moved")
set(prefix "${WORK}/moved")
set(consumer "${SOURCE}/tests/install/consumer")
set(model "${SOURCE}/tests/golden/models/vit_small")
set(picture "${model}/inputs/a.jpg")

run("${CMAKE_COMMAND}" -S "${consumer}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/uses_attention")
run("${WORK}/build/uses_encoder" "${model}/MODEL" "${picture}")

# Attention alone, where no picture library can be found.
run("${CMAKE_COMMAND}" -S "${consumer}" -B "${WORK}/build_attention" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" -DATTENTION_ONLY=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_JPEG=ON -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON)
run("${CMAKE_COMMAND}" --build "${WORK}/build_attention")
run("${WORK}/build_attention/uses_attention")

file(GLOB_RECURSE pc "${prefix}/*/foveal.pc")
get_filename_component(pc_dir "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
foreach(pair IN ITEMS "foveal_attention;uses_attention" "foveal;uses_encoder")
  list(GET pair 0 package)
  list(GET pair 1 program)
  run(pkg-config --cflags --libs ${package})
  string(STRIP "${output}" output)
  separate_arguments(package_flags UNIX_COMMAND "${output}")
  run("${COMPILER}" -std=c++20 ${flags} "${consumer}/${program}.cpp" -o "${WORK}/${program}" ${package_flags})
endforeach()
run("${WORK}/uses_attention")
run("${WORK}/uses_encoder" "${model}/MODEL" "${picture}")

# Nothing of this build tree or its sources is named in what was installed.
file(GLOB_RECURSE texts "${prefix}/*.cmake" "${prefix}/*.pc" "${prefix}/*.hpp")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  foreach(place IN ITEMS "${BUILD}" "${SOURCE}" "${WORK}")
    string(FIND "${content}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${text} names ${place}")
    endif()
  endforeach()
endforeach()
