# What `cmake --install` puts where. Parts that a checkout does not have are left out.
install(TARGETS plait)
if(TARGET plait_cli)
    install(TARGETS plait_cli)
endif()
install(DIRECTORY include/plait DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

foreach(folder IN ITEMS models clusters)
    if(EXISTS "${CMAKE_SOURCE_DIR}/${folder}")
        install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/plait)
    endif()
endforeach()

if(EXISTS "${CMAKE_SOURCE_DIR}/docs/plait.1")
    install(FILES docs/plait.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
if(EXISTS "${CMAKE_SOURCE_DIR}/completions/plait.bash")
    install(FILES completions/plait.bash RENAME plait
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The file finds the library from where it lies itself: `cmake --install --prefix` may name another
# place than was configured.
file(RELATIVE_PATH PLAIT_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/plait.pc.in plait.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/plait.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
