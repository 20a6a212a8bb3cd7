# Where a CUDA toolkit is found, our declarations of its interface (backend/driver/cuda_api.h and
# nvrtc_api.h) are checked against NVIDIA's headers. Nothing else uses the toolkit at build time:
# driver and NVRTC are opened at run time, and the same binary comes out with and without it.
find_program(TILEVM_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin)
set(tilevm_toolkit_hints)
if(TILEVM_NVCC)
  get_filename_component(tilevm_nvcc_real "${TILEVM_NVCC}" REALPATH)
  get_filename_component(tilevm_toolkit "${tilevm_nvcc_real}/../.." ABSOLUTE)
  list(APPEND tilevm_toolkit_hints "${tilevm_toolkit}/include")
endif()
find_path(TILEVM_CUDA_INCLUDE cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH ${tilevm_toolkit_hints}
  PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include)
find_path(TILEVM_NVRTC_INCLUDE nvrtc.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH ${tilevm_toolkit_hints} "${TILEVM_CUDA_INCLUDE}"
  PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include)
mark_as_advanced(TILEVM_NVCC TILEVM_CUDA_INCLUDE TILEVM_NVRTC_INCLUDE)

set(tilevm_cuda_version 0)
if(EXISTS "${TILEVM_CUDA_INCLUDE}/cuda.h" AND EXISTS "${TILEVM_NVRTC_INCLUDE}/nvrtc.h")
  file(STRINGS "${TILEVM_CUDA_INCLUDE}/cuda.h" tilevm_version_line
    REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
  string(REGEX MATCH "[0-9]+$" tilevm_cuda_version "0${tilevm_version_line}")
endif()

# Functions that are looked up at run time may be missing in older headers.
if(tilevm_cuda_version GREATER_EQUAL 12040)
  message(STATUS "CUDA: declarations are checked against the headers in ${TILEVM_CUDA_INCLUDE}")
  add_library(tilevm_check_cuda_headers OBJECT backend/engine/check_cuda_headers.cc)
  target_link_libraries(tilevm_check_cuda_headers PRIVATE tilevm_options)
  target_include_directories(tilevm_check_cuda_headers SYSTEM PRIVATE
    "${TILEVM_CUDA_INCLUDE}" "${TILEVM_NVRTC_INCLUDE}")
  target_compile_definitions(tilevm_check_cuda_headers PRIVATE TILEVM_HAVE_CUDA_HEADERS)
elseif(tilevm_cuda_version GREATER 0)
  message(STATUS "CUDA: headers older than 12.4, the backend still loads CUDA at run time")
else()
  message(STATUS "CUDA: headers not found, the backend still loads CUDA at run time")
endif()
