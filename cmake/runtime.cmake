# -DSUPPLE_RUNTIME_ONLY=ON: what plays trained models (<supple/playback.h>) and nothing else, as libsupple_playback. No
# importers, no bodies, no training, no library but the system's own. -DBUILD_SHARED_LIBS=OFF for a static one.
option(BUILD_SHARED_LIBS "Build libsupple_playback as a shared library" ON)
file(GLOB SUPPLE_RUNTIME_SOURCES CONFIGURE_DEPENDS src/subspace/*.c src/fem/law*.c)
list(FILTER SUPPLE_RUNTIME_SOURCES EXCLUDE REGEX
  "/subspace/(basis|cubature|dents|domains.*|lanczos|modal|model_public|nnls|own_make|ranges|relax|rig_make|visual_make|samples.*|claims|train.*)\\.c$")
foreach(name core/digest core/error core/file core/hash core/memory core/store_read core/store_write core/threads
    core/timer math/mat3 math/mat4 math/quat math/svd3 math/svd3_avx2 fem/principal body/drive body/riders_frame body/upsample_apply body/upsample_apply_avx2
    body/upsample_body_avx2 body/upsample_normal body/upsample_room body/upsample_store contact/collider geom/surface geom/topology geom/tree geom/tree_query
    geom/weld geom/winding)
  list(APPEND SUPPLE_RUNTIME_SOURCES ${CMAKE_SOURCE_DIR}/src/${name}.c)
endforeach()
if(SUPPLE_SIMD AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(SUPPLE_HAVE_AVX2 ON)
  set(SUPPLE_RUNTIME_AVX2 ${SUPPLE_RUNTIME_SOURCES})
  list(FILTER SUPPLE_RUNTIME_AVX2 INCLUDE REGEX "_avx2\\.c$")
  set_source_files_properties(${SUPPLE_RUNTIME_AVX2} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
else()
  list(FILTER SUPPLE_RUNTIME_SOURCES EXCLUDE REGEX "_avx2\\.c$")
endif()

add_library(supple_playback ${SUPPLE_RUNTIME_SOURCES})
set_target_properties(supple_playback PROPERTIES EXPORT_NAME playback VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(supple_playback PRIVATE src PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_definitions(supple_playback PRIVATE $<$<BOOL:${SUPPLE_HAVE_AVX2}>:SPL_HAVE_AVX2=1>)
# What nobody calls (writing models, laws that no model has) falls away; what is missing is an error here, not later.
target_compile_options(supple_playback PRIVATE -ffunction-sections -fdata-sections)
target_link_options(supple_playback PRIVATE -Wl,--gc-sections -Wl,--no-undefined)
target_link_libraries(supple_playback PRIVATE $<BUILD_INTERFACE:supple_options> Threads::Threads m)
add_subdirectory(examples)

install(TARGETS supple_playback EXPORT supple_playback-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/supple/base.h include/supple/playback.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/supple)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/CMakeLists.txt examples/playback.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(EXPORT supple_playback-targets NAMESPACE supple:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/supple_playback)
include(CMakePackageConfigHelpers)
file(WRITE ${CMAKE_BINARY_DIR}/supple_playback-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\ninclude(\"\${CMAKE_CURRENT_LIST_DIR}/supple_playback-targets.cmake\")\n")
write_basic_package_version_file(supple_playback-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/supple_playback-config.cmake ${CMAKE_BINARY_DIR}/supple_playback-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/supple_playback)
