# The kernel files of gpu/kernels: PTX for the executor and images for GPUs, embedded into moe4_gpu, and PTX for the build checks.
#
# -fmad=false and the _rn intrinsics of gpu/kernels/device/numeric.cuh: no rounding is left to a compiler.
if(MOE4_GPU)
  get_filename_component(_moe4_cuda_bin "${MOE4_NVCC}" DIRECTORY)
  find_program(MOE4_PTXAS ptxas HINTS "${_moe4_cuda_bin}" DOC "ptxas, used by the build checks")
endif()
set(MOE4_NVCC_FLAGS -std=c++17 --fmad=false -ftz=false -lineinfo)

# moe4_compile_ptx(OUT SOURCE ARCH): a rule that compiles SOURCE for compute_ARCH; OUT names the file it makes.
function(moe4_compile_ptx out source arch)
  get_filename_component(name ${source} NAME_WE)
  set(ptx ${PROJECT_BINARY_DIR}/gpu/ptx/compute_${arch}/${name}.ptx)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/gpu/ptx/compute_${arch})
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${MOE4_NVCC} -ptx -arch=compute_${arch} ${MOE4_NVCC_FLAGS} -I${PROJECT_SOURCE_DIR}
            -MD -MF ${ptx}.d -MT ${ptx} ${source} -o ${ptx}
    DEPENDS ${source}
    DEPFILE ${ptx}.d
    COMMENT "nvcc -ptx compute_${arch} ${name}.cu"
    VERBATIM)
  set(${out} ${ptx} PARENT_SCOPE)
endfunction()

# moe4_assemble(OUT PTX ARCH): a rule that makes machine code of PTX for sm_ARCH; OUT names the file it makes, and with .log behind
# it what ptxas said.
function(moe4_assemble out ptx arch)
  get_filename_component(name ${ptx} NAME_WE)
  set(cubin ${PROJECT_BINARY_DIR}/gpu/cubin/sm_${arch}/${name}.cubin)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/gpu/cubin/sm_${arch})
  add_custom_command(
    OUTPUT ${cubin} ${cubin}.log
    COMMAND ${CMAKE_COMMAND} -DPTXAS=${MOE4_PTXAS} -DARCH=${arch} -DPTX=${ptx} -DCUBIN=${cubin} -DLOG=${cubin}.log
            -P ${PROJECT_SOURCE_DIR}/gpu/cmake/assemble.cmake
    DEPENDS ${ptx} ${PROJECT_SOURCE_DIR}/gpu/cmake/assemble.cmake
    COMMENT "ptxas sm_${arch} ${name}"
    VERBATIM)
  set(${out} ${cubin} PARENT_SCOPE)
endfunction()

# moe4_embed_images(OUT IMAGE…): a rule that makes the .cc with the images; IMAGE is TARGET@NAME@FILE. FILE.log is embedded beside it
# if it is there.
function(moe4_embed_images out)
  set(embedded ${PROJECT_BINARY_DIR}/gpu/embedded_images.cc)
  set(files)
  set(logs)
  foreach(image IN LISTS ARGN)
    string(REGEX REPLACE "^.*@" "" file "${image}")
    list(APPEND files ${file})
    list(APPEND logs ${file}.log)
  endforeach()
  list(JOIN ARGN "|" images)  # a semicolon would end the argument
  list(JOIN logs "|" log_words)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embedded} "-DIMAGES=${images}" "-DLOGS=${log_words}"
            -P ${PROJECT_SOURCE_DIR}/gpu/cmake/embed_images.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/gpu/cmake/embed_images.cmake
    COMMENT "embedding images"
    VERBATIM)
  set_source_files_properties(${embedded} PROPERTIES OBJECT_DEPENDS "${files}")
  set(${out} ${embedded} PARENT_SCOPE)
endfunction()

# moe4_embed_ptx(OUT PTX…): a rule that makes the .cc with the texts; no PTX gives one in which every text is empty.
function(moe4_embed_ptx out)
  set(embedded ${PROJECT_BINARY_DIR}/gpu/embedded_ptx.cc)
  list(JOIN ARGN "|" files)  # a semicolon would end the argument
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embedded} "-DPTX=${files}" -P ${PROJECT_SOURCE_DIR}/gpu/cmake/embed_ptx.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/gpu/cmake/embed_ptx.cmake
    COMMENT "embedding PTX"
    VERBATIM)
  set(${out} ${embedded} PARENT_SCOPE)
endfunction()
