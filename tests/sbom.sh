#!/bin/bash
# sbom.sh BILL FILE... - the bill of materials has all that is linked, bundled and copied
#
# It is CycloneDX, names each library that the programs and libraries ask for, each package that the
# charts of pages come from, and the works that data was taken from, as the READMEs of clusters say.
set -u
python3 - "$@" <<'END_PYTHON'
import json, re, subprocess, sys

bill = json.load(open(sys.argv[1]))
wrong = []
if (bill["bomFormat"], bill["specVersion"]) != ("CycloneDX", "1.5"):
    wrong.append("no CycloneDX 1.5")
components = bill["components"]
licence = {c["name"]: c["licenses"][0]["expression"] for c in components}
for c in components + [bill["metadata"]["component"]]:
    if c["type"] != "data" and not re.match(r"^\d+(\.\d+)+", c.get("version", "")):
        wrong.append("%s has no version" % c["name"])
    if not re.match(r"^[A-Za-z0-9.-]+( (WITH|AND|OR) [A-Za-z0-9.-]+)*$", c["licenses"][0]["expression"]):
        wrong.append("%s has no licence" % c["name"])

linked = set()
for file in sys.argv[2:]:
    dynamic = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True).stdout
    linked |= set(re.findall(r"\(NEEDED\).*\[(lib[^.]*)\.so", dynamic))
wrong += ["%s is linked, but not listed" % name for name in linked if name not in licence]
if not {"libc", "libcsv", "libcjson"} <= linked:
    wrong.append("of what is linked only %s is seen" % sorted(linked))

def works(readme, pattern):
    text = open(readme).read().split("## LICENSES")[1]
    return dict(re.findall(pattern, text, re.M))

data = {c["name"]: licence[c["name"]] for c in components if c["type"] == "data"}
shipped = works("clusters/README.md", r"^\* ([^ ,]+), ([^:\s]+): ")
measured = works("clusters/measurements/README.md", r"^\* (\S+) \(.*\), ([^:\s]+)")
if not data or not data == shipped == measured:
    wrong.append("data is of %s; READMEs say %s and %s" % (data, shipped, measured))

stated = set(re.findall(r"^License: (.*)$", open("cmake/copyright").read(), re.M))
for name, text in licence.items(): # of what packages carry, libraries apart, which have packages of their own
    carried = name in data or "/" in name or re.match("d3|vega|topojson|internmap", name)
    if carried and text not in stated:
        wrong.append("cmake/copyright lacks the text of %s, of %s" % (text, name))

print("\n".join(wrong))
print("%d components, %d wrong" % (len(components), len(wrong)))
sys.exit(len(wrong) > 0)
END_PYTHON
