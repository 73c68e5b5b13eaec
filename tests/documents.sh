#!/bin/bash
# documents.sh - checks length, width, links and named files of the documents
#
# README is what a newcomer reads in five minutes: 250 lines at most. Lines of README, docs, models and
# clusters are at most 100 columns wide, except rows of tables. Relative links lead to a file and, after
# a #, to a heading. Files, tests and lists that docs/dev names are in the tree, and so are documents
# that sources name.
set -u
cd "$(dirname "$0")/.." || exit 1

python3 - <<'END_PYTHON'
import glob, os, re, sys

wrong = []

def complain(path, line, text):
    wrong.append(f"{path}:{line}: {text}")

def anchors(path):
    fence, found = False, set()
    for line in open(path):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and re.match(r"#+ ", line):
            text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(text.replace(" ", "-"))
    return found

def check_link(path, number, target):
    file, _, heading = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    if not os.path.exists(file):
        complain(path, number, f"expected a file behind the link {target}, found none")
    elif heading and file.endswith(".md") and heading not in anchors(file):
        complain(path, number, f"expected a heading #{heading} in {file}, found none")

folders = ("docs", "models", "clusters", "src", "costmodel", "search", "tests")
documents = sorted(["README.md", "CHANGELOG.md"] +
                   [path for folder in folders for path in glob.glob(f"{folder}/**/*.md", recursive=True)])
texts = {path: open(path).read().splitlines() for path in documents}

if len(texts["README.md"]) > 250:
    complain("README.md", len(texts["README.md"]), "expected at most 250 lines")
for path, lines in texts.items():
    narrow = path == "README.md" or path.startswith(("docs/", "models/README", "clusters/README"))
    narrow &= path != "docs/reference/cli.md"  # generated: one line a paragraph
    fence = False
    for number, line in enumerate(lines, 1):
        if narrow and len(line) > 100 and not line.lstrip().startswith("|"):
            complain(path, number, f"expected at most 100 columns, found {len(line)}")
        if line.lstrip().startswith("```"):
            fence = not fence
        if not fence:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if not re.match(r"[a-z]+:", target):
                    check_link(path, number, target)

# Names in docs/dev: paths from a top folder, tests by what they are made of, and lists of constants.
sources = "".join(open(path).read() for top in ("include", "src", "costmodel", "search")
                  for path in glob.glob(f"{top}/**/*.[ch]", recursive=True))
for path in glob.glob("docs/dev/*.md"):
    for number, line in enumerate(open(path), 1):
        for name in re.findall(r"`([^`]+)`", line):
            if re.fullmatch(r"(include|src|costmodel|search|tests|cmake|models|clusters)/[\w./+-]+", name):
                if not os.path.exists(name):
                    complain(path, number, f"expected {name} in the tree, found none")
            elif test := re.fullmatch(r"(unit|property|vectors|cli|fuzz|golden)_([a-z_0-9]*[a-z0-9])", name):
                if not glob.glob(f"tests/{test[1]}/*_{test[2]}.*") and \
                        not glob.glob(f"tests/{test[1]}/{test[2]}.args"):
                    complain(path, number, f"expected a test {name}, found none")
            elif re.fullmatch(r"[A-Z]+(_[A-Z]+)+", name) and f"define {name}(" not in sources and "GOLDEN" not in name:
                complain(path, number, f"expected a list {name}, found none")

for top in ("include", "src", "costmodel", "search", "tests/cli", "cmake"):
    for path in glob.glob(f"{top}/**/*.*", recursive=True):
        for number, line in enumerate(open(path, errors="replace"), 1):
            for name in re.findall(r"\bdocs/(?:guide|reference|accuracy|dev|model|search)/[\w./-]+[.]md", line):
                if not os.path.exists(name):
                    complain(path, number, f"expected a document {name}, found none")

print("\n".join(wrong))
print(f"{len(documents)} documents, {len(wrong)} wrong")
sys.exit(len(wrong) > 0)
END_PYTHON
