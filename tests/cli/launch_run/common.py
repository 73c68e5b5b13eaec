"""common.py - what the checks share: the sandbox, the characters of hostile names, failures"""
import os
import shlex
import subprocess
import sys
import tempfile

from sandbox import Sandbox, expect

plait = sys.argv[1]
root = os.path.realpath(tempfile.mkdtemp())
box = Sandbox(root)
wrong, done = [], {}

# Characters that shells, YAML, Hydra, systemd and Kubernetes interpret.
BAD = "it's \"q\" $(touch CANARY) `touch CANARY`; touch CANARY & é模型 *[x]?{a,b} #%i ~ !x ${HOME} |>\\"
EXTRA = ["--more", BAD + ":=,\n next", "", "-x", "*"]
CHECKOUT = f"{root}/out {BAD}"
USER = {"TRAIN": f"{root}/{BAD}/train.py", "TOKENIZER": f"/data/{BAD}", "RECIPE": f"{BAD}_config",
        "HOSTFILE": f"{root}/{BAD}/hosts"}


def step(what):
    """Run a check; note the failure and go on."""
    def decorate(check):
        try:
            check()
        except Exception as error:  # a key may also be missing
            wrong.append(f"{what}: {type(error).__name__}: {error}")
    return decorate


def count(what, more=1):
    done[what] = done.get(what, 0) + more


def call(*words, status=0):
    """Return the output of plait; with another status than 0, its one line of errors."""
    ran = subprocess.run([plait, *words], cwd=root, stdin=subprocess.DEVNULL, capture_output=True)
    said = os.fsdecode(ran.stderr)
    expect(ran.returncode == status, shlex.join(words), "status", ran.returncode, said)
    expect(status == 0 or said.count("\n") == 1, shlex.join(words), "prints", said)
    return os.fsdecode(ran.stdout) if status == 0 else said


def launched(*words):
    """True if launch writes the folder; a refusal is one line."""
    ran = subprocess.run([plait, "launch", *words], cwd=root, stdin=subprocess.DEVNULL,
                         capture_output=True)
    said = os.fsdecode(ran.stderr)
    expect(ran.returncode == 0 or (ran.returncode == 2 and said.count("\n") == 1),
           shlex.join(words), "status", ran.returncode, said)
    if ran.returncode != 0:
        count("refused")
    return ran.returncode == 0
