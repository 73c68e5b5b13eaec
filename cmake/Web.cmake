# The program as WebAssembly, which a worker of the page that plans runs: each question is one call of
# main() in a new instance, whose files are in memory. The worker reads its answers as text.
if(NOT EMSCRIPTEN)
    return()
endif()

target_sources(plait_cli PRIVATE src/web/system.c)
target_link_options(plait_cli PRIVATE
    "SHELL:-s MODULARIZE=1" "SHELL:-s EXPORT_NAME=plaitProgram" "SHELL:-s ENVIRONMENT=worker"
    "SHELL:-s INVOKE_RUN=0" "SHELL:-s EXIT_RUNTIME=1" "SHELL:-s FORCE_FILESYSTEM=1"
    "SHELL:-s EXPORTED_RUNTIME_METHODS=ENV,FS,callMain"
    "SHELL:-s ALLOW_MEMORY_GROWTH=1" "SHELL:-s TOTAL_STACK=4MB"
    "SHELL:--js-library ${CMAKE_SOURCE_DIR}/src/web/system.js")

# The page: one file for any browser, from file:// or any static host.
find_program(NODE node REQUIRED)
set(page "${CMAKE_BINARY_DIR}/site/index.html")
file(GLOB parts CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/web/*")
file(GLOB_RECURSE data CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/models/*.json" "${CMAKE_SOURCE_DIR}/clusters/*.json")
add_custom_command(OUTPUT "${page}"
    COMMAND "${NODE}" "${CMAKE_SOURCE_DIR}/src/web/build.mjs" "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}"
        ${PROJECT_VERSION} "${page}"
    DEPENDS plait_cli ${parts} ${data} "${CMAKE_SOURCE_DIR}/src/page/web/page.js"
        "${CMAKE_SOURCE_DIR}/src/page/web/page.css" "${pages}/charts.js"
    COMMENT "Writing the page that plans" VERBATIM)
add_custom_target(web_page DEPENDS "${page}")
