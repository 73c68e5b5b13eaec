# The libraries that others wrote. Each is used in one place: see the rooms in CMakeLists.txt.
find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(CMINPACK REQUIRED IMPORTED_TARGET cminpack)
if(BUILD_TESTING)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# libcsv and GLPK, which only tests use, ship no pkg-config file: their versions are read off their headers.
function(plait_find_plain name header version_major version_minor)
    find_library(${name}_LIBRARY ${name} REQUIRED)
    find_path(${name}_INCLUDE_DIR ${header} REQUIRED)
    add_library(${name} UNKNOWN IMPORTED)
    set_target_properties(${name} PROPERTIES
        IMPORTED_LOCATION "${${name}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE_DIR}")
    foreach(part IN ITEMS ${version_major} ${version_minor})
        file(STRINGS "${${name}_INCLUDE_DIR}/${header}" line REGEX "define ${part} ")
        string(REGEX REPLACE ".*${part} +([0-9]+).*" "\\1" line "${line}")
        list(APPEND version ${line})
    endforeach()
    list(JOIN version "." version)
    set(${name}_VERSION ${version} PARENT_SCOPE)
endfunction()
plait_find_plain(csv csv.h CSV_MAJOR CSV_MINOR)
if(BUILD_TESTING)
    plait_find_plain(glpk glpk.h GLP_MAJOR_VERSION GLP_MINOR_VERSION)
    if(PLAIT_STATIC) # a static library does not list its dependencies
        target_link_libraries(glpk INTERFACE amd colamd gmp z m)
    endif()
endif()

# What is linked, for the bill of materials: library|version|licence.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REGEX REPLACE "^glibc " "" libc "${libc}")
set(PLAIT_LIBRARIES
    "libc|${libc}|LGPL-2.1-or-later" "libm|${libc}|LGPL-2.1-or-later"
    "libcsv|${csv_VERSION}|LGPL-2.1-or-later"
    "libcjson|${CJSON_VERSION}|MIT" "libcminpack|${CMINPACK_VERSION}|Minpack")
