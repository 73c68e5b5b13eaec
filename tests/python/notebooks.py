#!/usr/bin/python3
"""notebooks.py PLAIT - executes the notebooks of examples/ and compares their outputs

UPDATE_EXAMPLES=1 writes the outputs for review in `git diff`. Pages with charts are left out of
the notebooks, since each has a megabyte; viewers show the tables of the same answer instead.
"""

import copy
import glob
import json
import os
import sys

try:
    import nbformat
    from nbclient import NotebookClient
    import ipykernel
    import pandas
except ImportError as error:
    print(f"{error}: the notebooks of examples/ are not executed")
    sys.exit(77)

LONGEST_OUTPUT = 50_000  # characters


def outputs(notebook):
    """Return the outputs of all cells, without those that are too long to keep."""
    found = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    for output in found:
        if "data" in output:
            output.metadata = {}
            output.data = {kind: text for kind, text in output.data.items()
                           if len(text) < LONGEST_OUTPUT}
        if "execution_count" in output:
            output.execution_count = None
    return found


def execute(path):
    """Return whether the outputs of a notebook are those of the program."""
    notebook = nbformat.read(path, as_version=4)
    before = copy.deepcopy(outputs(notebook))
    NotebookClient(notebook, timeout=60, kernel_name="python3", record_timing=False).execute()
    after = outputs(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
    if os.environ.get("UPDATE_EXAMPLES"):
        notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python",
                                            "name": "python3"}}
        nbformat.write(notebook, path)
        return True
    if before == after:
        return True
    print(f"{path}: outputs differ; UPDATE_EXAMPLES=1 ./dev test -R notebooks writes them")
    for old, new in zip(before, after):
        if old != new:
            print(f"- {json.dumps(old):.2000}\n+ {json.dumps(new):.2000}")
    return False


if __name__ == "__main__":
    os.environ["PLAIT"] = os.path.abspath(sys.argv[1])
    os.environ["PYTHONPATH"] = os.path.abspath("python")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # which warns about Python's own modules
    paths = sorted(glob.glob("examples/*.ipynb"))
    assert paths, "examples/ has no notebook"
    sys.exit(not all([execute(path) for path in paths]))
