# What `cmake --install` puts where, in two parts: the program with its data and documents, and what
# it takes to build on the library. Parts that a checkout does not have are left out.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
set(doc "${CMAKE_INSTALL_DOCDIR}")

if(TARGET plait_cli)
    install(TARGETS plait_cli)
endif()
foreach(folder IN ITEMS models clusters)
    if(EXISTS "${CMAKE_SOURCE_DIR}/${folder}")
        install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/plait
            REGEX "[.](sh|sbatch)$" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
                GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endif()
endforeach()
install(FILES "${CMAKE_BINARY_DIR}/schema/answers.schema.json" docs/launch.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/plait/schema)
if(EXISTS "${CMAKE_SOURCE_DIR}/completions/plait.bash")
    install(FILES completions/plait.bash RENAME plait
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

# The manual, and what it and the README point at, by the same paths.
if(EXISTS "${CMAKE_SOURCE_DIR}/docs/plait.1")
    install(FILES docs/plait.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES README.md CHANGELOG.md DESTINATION ${doc})
install(DIRECTORY docs DESTINATION ${doc} PATTERN plait.1 EXCLUDE)
foreach(folder IN ITEMS costmodel search)
    install(FILES ${folder}/README.md DESTINATION ${doc}/${folder})
endforeach()
install(FILES LICENSE cmake/copyright "${CMAKE_BINARY_DIR}/plait.cdx.json" DESTINATION ${doc})

install(TARGETS plait COMPONENT dev)
install(DIRECTORY include/plait DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# The file finds the library from where it lies itself: `cmake --install --prefix` may name another
# place than was configured.
file(RELATIVE_PATH PLAIT_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/plait.pc.in plait.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/plait.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT dev)
