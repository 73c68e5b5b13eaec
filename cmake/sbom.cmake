# What plait is made of, as CycloneDX 1.5: names, versions, licences.
#
#   cmake -DOUT=plait.cdx.json -DVERSION=1.0.0 -DLIBRARIES="name|version|licence;..."
#       -DDATA=clusters/README.md -DLOCK=package-lock.json -DBUNDLED=charts.js.json -P sbom.cmake
#
# DATA lists the works that numbers were taken from, one a line, under LICENSES: "* NAME, LICENCE: what".
# BUNDLED is what esbuild says it put into the charts of pages; without charts it is empty.
set(components "")

function(add_component type name version licence)
    set(text "{\"type\": \"${type}\", \"name\": \"${name}\", ")
    if(version)
        string(APPEND text "\"version\": \"${version}\", ")
    endif()
    string(APPEND text "\"licenses\": [{\"expression\": \"${licence}\"}]}")
    set(components ${components} "${text}" PARENT_SCOPE)
endfunction()

foreach(library IN LISTS LIBRARIES)
    string(REPLACE "|" ";" library "${library}")
    list(GET library 0 1 2 parts)
    add_component(library ${parts})
endforeach()

file(READ "${BUNDLED}" bundled)
file(READ "${LOCK}" lock)
string(REGEX MATCHALL "\"node_modules/[^\"]*\": *{" inputs "${bundled}")
list(TRANSFORM inputs REPLACE "^\"(.*node_modules/(@[^/]+/)?[^/]+)/.*$" "\\1")
list(REMOVE_DUPLICATES inputs)
list(SORT inputs)
foreach(package IN LISTS inputs)
    string(JSON version GET "${lock}" packages "${package}" version)
    string(JSON licence GET "${lock}" packages "${package}" license)
    string(REGEX REPLACE "^.*node_modules/" "" name "${package}")
    add_component(library "${name}" "${version}" "${licence}")
endforeach()

file(STRINGS "${DATA}" works REGEX "^[*] [^ ,]+, [A-Za-z0-9.-]+: ")
foreach(work IN LISTS works)
    string(REGEX MATCH "^[*] ([^ ,]+), ([A-Za-z0-9.-]+): " work "${work}")
    add_component(data "${CMAKE_MATCH_1}" "" "${CMAKE_MATCH_2}")
endforeach()

list(JOIN components ",\n    " components)
file(WRITE "${OUT}" "{
  \"bomFormat\": \"CycloneDX\",
  \"specVersion\": \"1.5\",
  \"version\": 1,
  \"metadata\": {
    \"component\": {\"type\": \"application\", \"name\": \"plait\", \"version\": \"${VERSION}\", \"licenses\": [{\"expression\": \"GPL-3.0-or-later\"}]}
  },
  \"components\": [
    ${components}
  ]
}
")
