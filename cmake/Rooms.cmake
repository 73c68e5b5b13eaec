# Builds each folder of sources as a library. A folder without sources is left out.
#
# A core room is part of libplait; its sources are compiled once, as an object library. An outer
# room uses the core rooms and belongs to the program only. The library of src/io/json is
# plait_io_json, that of search/space is plait_search_space.
#
#   plait_core_room(folder [HOT] [LIBRARIES targets])
#
# HOT rooms hold what a search runs for each plan: they are inlined into each other (PLAIT_LTO).
#
# The objects of all core rooms make two libraries: plait_core, for the program and the tests, which
# see every function, and plait, for everyone else, whose only symbols are those of the public headers.

function(plait_sources out folder)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.c")
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Files inside the program: constants of a type, name=file, that a header declares.
function(plait_embed target header type)
    set(out "${CMAKE_BINARY_DIR}/embedded/${target}.c")
    string(REGEX REPLACE "(^|;)[a-z_]+=" "\\1" files "${ARGN}")
    add_custom_command(OUTPUT "${out}"
        COMMAND ${CMAKE_COMMAND} "-DOUT=${out}" "-DHEADER=${header}" "-DTYPE=${type}"
            "-DPARTS=${ARGN}" -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
        DEPENDS ${files} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
        COMMENT "Embedding the files of ${target}" VERBATIM)
    target_sources(${target} PRIVATE "${out}")
endfunction()

function(plait_room_name out folder)
    string(REGEX REPLACE "^src/" "" name "${folder}")
    string(REPLACE "/" "_" name "${name}")
    set(${out} "${name}" PARENT_SCOPE)
endfunction()

function(plait_core_room folder)
    cmake_parse_arguments(ROOM "HOT" "" "LIBRARIES" ${ARGN})
    plait_room_name(name ${folder})
    plait_sources(sources ${folder})
    if(NOT sources)
        return()
    endif()
    add_library(plait_${name} OBJECT ${sources})
    target_link_libraries(plait_${name} PRIVATE ${ROOM_LIBRARIES})
    # Hidden: all but what the public headers push to default. And what is exported is not replaced
    # by someone else's function of that name, so that it may be inlined.
    set_target_properties(plait_${name} PROPERTIES C_VISIBILITY_PRESET hidden)
    if(NOT EMSCRIPTEN)
        target_compile_options(plait_${name} PRIVATE -fno-semantic-interposition)
    endif()
    if(PLAIT_LTO AND ROOM_HOT)
        target_compile_options(plait_${name} PRIVATE -flto=auto -ffat-lto-objects)
    endif()
    set_property(GLOBAL APPEND PROPERTY PLAIT_CORE_ROOMS plait_${name})
    set_property(GLOBAL APPEND PROPERTY PLAIT_CORE_OBJECTS $<TARGET_OBJECTS:plait_${name}>)
endfunction()

# What either library stands on, and the public headers.
function(plait_library_needs target)
    target_link_libraries(${target} PRIVATE csv PkgConfig::CJSON Threads::Threads m)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endfunction()

function(plait_core_library)
    get_property(objects GLOBAL PROPERTY PLAIT_CORE_OBJECTS)
    add_library(plait_core STATIC ${objects})
    plait_library_needs(plait_core)
endfunction()

# All core rooms in one object, where what is hidden becomes local. In a static library of many
# objects it could not: they find each other by the very symbols that nobody else should see.
# PLAIT_LTO generates the code here, inlined across rooms, for any compiler to link. Groups of
# sections become plain ones, or the linker would drop what has become local (i386).
set(PLAIT_CLOSED_OBJECT "${CMAKE_BINARY_DIR}/plait.o")
function(plait_closed_object)
    get_property(rooms GLOBAL PROPERTY PLAIT_CORE_ROOMS)
    get_property(objects GLOBAL PROPERTY PLAIT_CORE_OBJECTS)
    separate_arguments(options NATIVE_COMMAND "${CMAKE_C_FLAGS}")
    if(PLAIT_LTO)
        list(APPEND options ${PLAIT_RELEASE_OPTIONS} -O3 -flto=auto -flinker-output=nolto-rel)
    endif()
    add_custom_command(OUTPUT "${PLAIT_CLOSED_OBJECT}"
        COMMAND ${CMAKE_C_COMPILER} ${options} -r -Wl,--force-group-allocation ${objects} -o "${PLAIT_CLOSED_OBJECT}"
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden "${PLAIT_CLOSED_OBJECT}"
        DEPENDS ${rooms} ${objects}
        COMMENT "Merging the core rooms" COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# A library of that object: STATIC or SHARED, else as BUILD_SHARED_LIBS says. What its soname promises
# is in plait.h: before 1.0 it is that of a minor version, from then on that of a major one.
function(plait_library name)
    set(soname ${PROJECT_VERSION_MAJOR})
    if(soname EQUAL 0)
        string(APPEND soname .${PROJECT_VERSION_MINOR})
    endif()
    add_library(${name} ${ARGN} "${PLAIT_CLOSED_OBJECT}")
    plait_library_needs(${name})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME plait
        VERSION ${PROJECT_VERSION} SOVERSION ${soname})
endfunction()

function(plait_outer_room folder)
    cmake_parse_arguments(ROOM "" "EXCEPT" "LIBRARIES" ${ARGN})
    plait_room_name(name ${folder})
    if(ROOM_EXCEPT)
        set(name commands)
    endif()
    plait_sources(sources ${folder})
    if(ROOM_EXCEPT)
        list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/${folder}/${ROOM_EXCEPT}")
    endif()
    if(NOT sources)
        return()
    endif()
    add_library(plait_${name} STATIC ${sources})
    target_link_libraries(plait_${name} PRIVATE ${ROOM_LIBRARIES} plait_core m)
    set_property(GLOBAL APPEND PROPERTY PLAIT_OUTER_ROOMS plait_${name})
endfunction()

# The target is plait_cli, since `plait` is the library; the file is called plait. All but main.c
# is a room that tests can look into.
function(plait_program folder)
    if(NOT EXISTS "${CMAKE_SOURCE_DIR}/${folder}/main.c")
        return()
    endif()
    get_property(rooms GLOBAL PROPERTY PLAIT_OUTER_ROOMS)
    plait_outer_room(${folder} EXCEPT main.c LIBRARIES ${rooms})
    add_executable(plait_cli "${folder}/main.c")
    target_link_libraries(plait_cli PRIVATE plait_commands)
    set_target_properties(plait_cli PROPERTIES OUTPUT_NAME plait)
    plait_inline_across(plait_cli)
endfunction()

# Link-time inlining, for what must be fast.
function(plait_inline_across target)
    if(PLAIT_LTO)
        target_link_options(${target} PRIVATE -O3 -flto=auto)
    endif()
endfunction()
