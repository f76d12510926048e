# What is installed for C++ users: two static libraries with their headers, CMake package and pkg-config files.
#   foveal_attention   the toolkit alone, no third-party library
#   foveal             everything, on top of it; links the picture codecs
# Each is merged from the modules' objects, so that users see two names and no fv_*.
include(CMakePackageConfigHelpers)

# The backends are those of the one table.
get_target_property(backends fv_backends INTERFACE_LINK_LIBRARIES)
set(attention_modules fv_base fv_tensor fv_attention ${backends} fv_context)
set(encoder_modules fv_ops fv_layers fv_image fv_model fv_runtime fv_api)

# foveal_merged(TARGET NAME modules...): libNAME.a, exported as foveal::NAME.
function(foveal_merged target name)
  add_library(${target} STATIC)
  foreach(module IN LISTS ARGN)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${module}>)
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${name} EXPORT_NAME ${name}
                        ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  add_library(foveal::${name} ALIAS ${target})
  install(TARGETS ${target} EXPORT foveal-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
endfunction()

foveal_merged(foveal_attention foveal_attention ${attention_modules})
target_link_libraries(foveal_attention PUBLIC Threads::Threads)

# Called foveal_library here: `foveal` is the program.
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(FOVEAL_WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
foveal_merged(foveal_library foveal ${encoder_modules})
target_link_libraries(foveal_library PUBLIC foveal_attention PRIVATE JPEG::JPEG PNG::PNG PkgConfig::FOVEAL_WEBP)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/foveal" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.def")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/foveal")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/foveal-config.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/foveal-config.cmake" INSTALL_DESTINATION "${package_dir}")
# Until 1.0 a minor version may change the interface (docs/stability.md).
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/foveal-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/foveal-config.cmake" "${PROJECT_BINARY_DIR}/cmake/foveal-config-version.cmake"
        DESTINATION "${package_dir}" COMPONENT development)
install(EXPORT foveal-targets NAMESPACE foveal:: DESTINATION "${package_dir}" COMPONENT development)

# Relocatable: paths in the .pc files start from where the file lies.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH FOVEAL_PREFIX_FROM_PC "/prefix/${pkgconfig_dir}" "/prefix")
string(REGEX REPLACE "/$" "" FOVEAL_PREFIX_FROM_PC "${FOVEAL_PREFIX_FROM_PC}")
foreach(name IN ITEMS foveal foveal_attention)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/cmake/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/cmake/${name}.pc" DESTINATION "${pkgconfig_dir}" COMPONENT development)
endforeach()
