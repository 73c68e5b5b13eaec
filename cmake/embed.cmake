# Files as C: cmake -DOUT=page_parts.c -DPARTS="name=file;..." -P embed.cmake
#
# Of each a `const page_part page_NAME`, as src/page/page_parts.h declares it.
set(text "#include \"page/page_parts.h\"\n")
foreach(part IN LISTS PARTS)
    string(REGEX MATCH "^([a-z]+)=(.*)$" part "${part}")
    set(name ${CMAKE_MATCH_1})
    file(READ "${CMAKE_MATCH_2}" bytes HEX)
    string(LENGTH "${bytes}" length)
    math(EXPR length "${length} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const unsigned char ${name}_bytes[] = {${bytes}0};\n"
        "const page_part page_${name} = {(const char *)${name}_bytes, ${length}};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
