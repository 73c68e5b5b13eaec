# The program as WebAssembly, which a worker of the page that plans runs: each question is one call of
# main() in a new instance, whose files are in memory. The worker reads its answers as text.
if(NOT EMSCRIPTEN)
    return()
endif()

target_sources(plait_cli PRIVATE src/web/qsort.c)
target_link_options(plait_cli PRIVATE
    "SHELL:-s MODULARIZE=1" "SHELL:-s EXPORT_NAME=plaitProgram" "SHELL:-s ENVIRONMENT=worker"
    "SHELL:-s INVOKE_RUN=0" "SHELL:-s EXIT_RUNTIME=1" "SHELL:-s FORCE_FILESYSTEM=1"
    "SHELL:-s EXPORTED_RUNTIME_METHODS=FS,callMain"
    "SHELL:-s ALLOW_MEMORY_GROWTH=1" "SHELL:-s TOTAL_STACK=4MB"
    "SHELL:--js-library ${CMAKE_SOURCE_DIR}/src/web/system.js")
