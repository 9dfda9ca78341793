# --device cl: fast projective skinning on OpenCL devices (src/methods/projective/cl). Headers are needed here, the
# library only when a device is asked for: nothing is linked.
set(SUPPLE_OPENCL AUTO CACHE STRING "OpenCL devices: AUTO (where its headers are), ON or OFF")
set(SUPPLE_HAVE_OPENCL OFF)
if(SUPPLE_OPENCL)
  find_path(OPENCL_INCLUDE_DIR CL/cl.h)
  if(OPENCL_INCLUDE_DIR)
    set(SUPPLE_HAVE_OPENCL ON)
  elseif(NOT SUPPLE_OPENCL STREQUAL "AUTO")
    message(FATAL_ERROR "CL/cl.h not found: install opencl-headers (scripts/install-deps cl), or configure with -DSUPPLE_OPENCL=OFF")
  else()
    message(STATUS "--device cl is left out: it needs opencl-headers (scripts/install-deps cl)")
  endif()
endif()
if(SUPPLE_HAVE_OPENCL)
  list(FILTER SUPPLE_SOURCES EXCLUDE REGEX "/projective/cl/absent\\.c$")
  # The kernels' files, in this order, as one string.
  set(SUPPLE_KERNELS "")
  foreach(name common pcg local vectors upsample)
    list(APPEND SUPPLE_KERNELS ${CMAKE_SOURCE_DIR}/src/methods/projective/cl/kernels/${name}.cl)
  endforeach()
  set(SUPPLE_KERNEL_SOURCE ${CMAKE_BINARY_DIR}/generated/cl_source.c)
  add_custom_command(OUTPUT ${SUPPLE_KERNEL_SOURCE}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${SUPPLE_KERNELS}" -DNAME=spl_cl_source -DOUT=${SUPPLE_KERNEL_SOURCE} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${SUPPLE_KERNELS} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  list(APPEND SUPPLE_SOURCES ${SUPPLE_KERNEL_SOURCE})
else()
  list(FILTER SUPPLE_SOURCES EXCLUDE REGEX "/projective/cl/(api|batch|device|visual|engine[a-z_]*)\\.c$")
endif()
