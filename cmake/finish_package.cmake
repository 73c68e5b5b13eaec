# What Debian asks of the files of a package beyond what `cmake --install` does; CPack runs it on what
# it has staged, a folder a component. All of it carries the time $SOURCE_DATE_EPOCH, so that the same
# files make the same package.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} COMPONENT)
    set(package ${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
    set(root "${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}")
    set(doc "${root}/share/doc/${package}")

    # Both packages say whose they are, and what changed; the text of the licence is Debian's.
    file(MAKE_DIRECTORY "${doc}")
    file(COPY_FILE "${CMAKE_CURRENT_LIST_DIR}/copyright" "${doc}/copyright")
    string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
    file(WRITE "${doc}/changelog" "plait (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
        "  * What changed is in /usr/share/doc/plait/CHANGELOG.md.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
    file(REMOVE "${doc}/LICENSE")

    file(GLOB texts "${doc}/changelog" "${root}/${CPACK_PLAIT_MANDIR}/man*/*")
    if(texts)
        execute_process(COMMAND gzip -9n ${texts} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    file(GLOB archives "${root}/${CPACK_PLAIT_LIBDIR}/*.a")
    if(archives)
        execute_process(COMMAND "${CPACK_PLAIT_STRIP}" --strip-debug --remove-section=.comment
            --enable-deterministic-archives ${archives} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    file(GLOB modules "${root}/${CPACK_PLAIT_LIBDIR}/pkgconfig/*.pc")
    foreach(module IN LISTS modules) # it will not be moved
        file(READ "${module}" text)
        string(REGEX REPLACE "^prefix=[^\n]*" "prefix=${CPACK_PACKAGING_INSTALL_PREFIX}" text "${text}")
        file(WRITE "${module}" "${text}")
    endforeach()
    if(DEFINED ENV{SOURCE_DATE_EPOCH})
        execute_process(COMMAND find "${CPACK_TEMPORARY_DIRECTORY}/${component}"
            -exec touch -h -d "@$ENV{SOURCE_DATE_EPOCH}" {} + COMMAND_ERROR_IS_FATAL ANY)
    endif()
endforeach()
