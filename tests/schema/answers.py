#!/usr/bin/env python3
"""answers.py PLAIT - checks answers of the program against docs/answers.schema.json

The questions are in questions.txt. docs/reference/json.md, and the pages about files, must name every
key of the schema, and the schema every key of the tables of json.md. Exit status 77: the module
jsonschema is missing, and only the documents were compared.
"""
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFS = json.load(open(f"{ROOT}/docs/answers.schema.json"))["$defs"]
complaints = []


def complain(text):
    print(text)
    complaints.append(text)


def properties(schema):
    """The names of all members that a schema describes, without those of the parts that it refers to."""
    if isinstance(schema, list):
        return {name for part in schema for name in properties(part)}
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties", {})
    return set(own) | {name for key, part in schema.items() for name in properties(
        list(part.values()) if key == "properties" else part)}


def sections(page):
    """Texts of json.md by the title of their section, without backquotes."""
    parts = re.split(r"^## (.*)$", open(page).read(), flags=re.M)
    return {title.replace("`", ""): text for title, text in zip(parts[1::2], parts[2::2])}


def compare_documents():
    title_of = sections(f"{ROOT}/docs/reference/json.md")
    keys_of = {}
    for name, schema in DEFS.items():
        text = ""
        for place in schema["$comment"].split("; "):
            keys_of.setdefault(place, set()).update(properties(schema))
            if place.endswith(".md"):
                text += open(f"{ROOT}/{place}").read()
            elif place in title_of:
                text += title_of[place]
            else:
                complain(f"{name}: expected the section \"{place}\" in docs/reference/json.md, found none")
        text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        words = {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}
        words |= set(re.findall(r'"(\w+)"', text))
        for key in sorted(properties(schema) - words - COMMON):
            complain(f"{name}: expected the key \"{key}\" in {schema['$comment']}, found none")
    for place, text in title_of.items():
        for row in re.findall(r"^\| (`.*?) \|", text, flags=re.M):
            for key in re.findall(r"`(\w+)`", row):
                if key not in keys_of.get(place, set()):
                    complain(f"docs/reference/json.md, {place}: \"{key}\" is not in the schema")


# The introduction of json.md explains these, or each command's section repeats them.
COMMON = {"plait", "model", "cluster", "job", "plans"}


def prepare_files(folder):
    def sample(source, target, step):
        rows = list(csv.reader(open(f"{ROOT}/tests/validation/{source}")))
        with open(f"{folder}/{target}", "w", newline="") as out:
            csv.writer(out).writerows(rows[:1] + rows[step::step])

    sample("runs.csv", "runs.csv", 60)
    sample("serving.csv", "serving.csv", 100)
    sample("post_training.csv", "post_training.csv", 25)
    open(f"{folder}/measured.csv", "w").write("rank,step_s\n1,12\n2,13\n")
    job = {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8}
    scenarios = [job | {"gpus": [8, 16]}, job | {"tokens": 1e12, "deadline": "60d"},
                 job | {"model": "llama-3.1-405b"}, job | {"model": "none"}]
    json.dump({"defaults": {"seq": 8192, "gbs": 64, "refine": "none"}, "scenarios": scenarios},
              open(f"{folder}/scenarios.json", "w"))


def check_answers(program, jsonschema):
    validators = {name: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFS}) for name in DEFS}
    jsonschema.Draft202012Validator.check_schema({"$defs": DEFS})
    checked = set()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        prepare_files(folder)
        for line in open(f"{ROOT}/tests/schema/questions.txt"):
            if line.startswith("#") or not line.strip():
                continue
            name, *words = shlex.split(line.replace("ROOT", ROOT))
            run = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if run.returncode > 1:
                complain(f"{line.strip()}: status {run.returncode}: {run.stderr}")
                continue
            text = run.stdout
            if name == "page":
                text = open(f"{folder}/page.json").read()
            for answer in text.splitlines() if name == "sweep" else [text]:
                count += 1
                checked.add(name)
                for error in sorted(validators[name].iter_errors(json.loads(answer)), key=str)[:3]:
                    complain(f"{line.strip()}: {error.json_path}: {error.message[:300]}")
    print(f"{count} answers of {len(checked)} kinds, {len(complaints)} complaints")


compare_documents()
try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is missing: no answer was checked")
    sys.exit(1 if complaints else 77)
check_answers(os.path.abspath(sys.argv[1]), jsonschema)
sys.exit(1 if complaints else 0)
