# `./dev package` makes two Debian packages of the release build: plait, the program with its data,
# and libplait-dev, what it takes to build on the library. Their dependencies are read off the binaries.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The plait developers <maintainers@users.noreply.a-seed-b81e6707.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/finish_package.cmake")
set(CPACK_PLAIT_DOCDIR "${CMAKE_INSTALL_DOCDIR}")
set(CPACK_PLAIT_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
set(CPACK_PLAIT_MANDIR "${CMAKE_INSTALL_MANDIR}")
set(CPACK_PLAIT_STRIP "${CMAKE_STRIP}")

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "planner for the parallel training of large models")
set(CPACK_COMPONENTS_ALL program dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME plait)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "plait finds how to split the training of a large model over a cluster:
data, tensor, pipeline, context and expert parallelism, ZeRO stage,
microbatch, recomputation and pipeline schedule. It prices plans from the
shapes of the model and the rates of the hardware, proves the best one,
and writes the files that start it. No GPU is needed.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libplait-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libcjson-dev, libcsv-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "plait (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "plait finds how to split the training of a large model over a cluster.
This package contains its C library, static, with headers and a file for
pkg-config. The files of models, clusters and runtimes are in the package
plait.")
include(CPack)

# The bill of materials, installed beside the documents.
add_custom_command(OUTPUT "${CMAKE_BINARY_DIR}/plait.cdx.json"
    COMMAND ${CMAKE_COMMAND} "-DOUT=${CMAKE_BINARY_DIR}/plait.cdx.json"
        "-DVERSION=${PROJECT_VERSION}" "-DLIBRARIES=${PLAIT_LIBRARIES}"
        "-DDATA=${CMAKE_SOURCE_DIR}/clusters/README.md" "-DLOCK=${web}/package-lock.json"
        "-DBUNDLED=${pages}/charts.js.json" -P "${CMAKE_SOURCE_DIR}/cmake/sbom.cmake"
    DEPENDS "${CMAKE_SOURCE_DIR}/clusters/README.md" "${web}/package-lock.json"
        "${pages}/charts.js.json" "${CMAKE_SOURCE_DIR}/cmake/sbom.cmake"
    COMMENT "Writing the bill of materials" VERBATIM)
add_custom_target(plait_sbom ALL DEPENDS "${CMAKE_BINARY_DIR}/plait.cdx.json")
