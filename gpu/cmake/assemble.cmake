# cmake -DPTXAS=ptxas -DARCH=90a -DPTX=in.ptx -DCUBIN=out.cubin -DLOG=out.log -P assemble.cmake
# Machine code of a PTX file, and beside it what `ptxas -v` says of its registers and shared memory.
execute_process(COMMAND "${PTXAS}" -v -arch=sm_${ARCH} "${PTX}" -o "${CUBIN}.partial"
                RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "ptxas -arch=sm_${ARCH} ${PTX}:\n${said}")
endif()
file(WRITE "${LOG}" "${said}")
file(RENAME "${CUBIN}.partial" "${CUBIN}")
