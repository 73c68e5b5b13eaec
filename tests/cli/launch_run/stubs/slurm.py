#!/usr/bin/python3 -ISB
"""slurm.py - stands in for sbatch, srun and scontrol, by the name that it is called by

sbatch copies the script and runs it on the first node, as Slurm does; srun runs the tasks of a step
one after the other. Both accept only the options below, from the manual pages of Slurm 24.05.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

COUNT = r"[1-9][0-9]*"
TIME = r"[0-9]+(:[0-9]{2}){0,2}|[0-9]+-[0-9]+(:[0-9]{2}){0,2}"
NAME = r"[A-Za-z0-9._/+@-]+"
SBATCH = {
    "job-name": NAME,
    "nodes": COUNT,
    "ntasks-per-node": COUNT,
    "gpus-per-node": COUNT,
    "gres": r"[a-z]+(:[a-z0-9]+)?:[1-9][0-9]*",
    "exclusive": None,
    "distribution": r"(block|cyclic|arbitrary|plane=[0-9]+)(:(block|cyclic|fcyclic))?",
    "segment": COUNT,
    "time": TIME,
    "account": NAME,
    "partition": NAME,
}
# the last two are of the plugin pyxis: [USER@][REGISTRY#]IMAGE[:TAG] or a path, SRC:DST[:FLAGS],...
SRUN = {
    "kill-on-bad-exit": "[01]",
    "container-image": r"([\w.-]+#)?[\w./-]+(:[\w.-]+)?|/.*",
    "container-mounts": r"[^:,]+:[^:,]+(,[^:,]+:[^:,]+)*",
}


def parse(words, known, what):
    """The options of a command, and the words after them."""
    options = {}
    while words and words[0].startswith("--"):
        name, equal, value = words.pop(0)[2:].partition("=")
        if name not in known or bool(equal) != (known[name] is not None):
            sys.exit(f"{what}: unrecognized option '--{name}{equal}{value}'")
        if known[name] is not None and not re.fullmatch(known[name], value, re.DOTALL):
            sys.exit(f"{what}: invalid value for --{name}: {value!r}")
        options[name] = value
    return options, words


def sbatch(words):
    (script,) = words
    options = {}
    with open(script) as file:
        lines = file.read().split("\n")
    if not lines[0].startswith("#!"):
        sys.exit("sbatch: error: This does not look like a batch script.")
    for line in lines[1:]:
        if line.strip() and not line.startswith("#"):
            break  # sbatch ignores directives after the first command
        if line.startswith("#SBATCH"):
            more, rest = parse(shlex.split(line[len("#SBATCH"):], comments=True), SBATCH, "sbatch")
            if rest:
                sys.exit(f"sbatch: unexpected words {rest}")
            options.update(more)
    spool = os.path.join(os.environ["SPOOL"], "slurm_script")
    shutil.copy(script, spool)
    os.chmod(spool, 0o700)
    nodes = int(options["nodes"])
    gpus = int(options.get("gpus-per-node") or options["gres"].split(":")[-1])
    last = f"node[0-{nodes - 1}]" if nodes > 1 else "node0"
    os.environ.update(
        SLURM_JOB_ID="1", SLURM_JOB_NAME=options["job-name"], SLURM_SUBMIT_DIR=os.getcwd(),
        SLURM_JOB_NODELIST=last, SLURM_NNODES=str(nodes), SLURM_JOB_NUM_NODES=str(nodes),
        SLURM_NTASKS_PER_NODE=options["ntasks-per-node"], SLURM_GPUS_ON_NODE=str(gpus),
        SLURM_NODEID="0", SLURM_PROCID="0", SLURM_LOCALID="0",
    )
    sys.exit(subprocess.run([spool]).returncode)


def srun(words):
    options, command = parse(words, SRUN, "srun")
    if "container-image" in options:
        inside = [mount.split(":")[1] for mount in options["container-mounts"].split(",")]
        for path in [command[0], *filter(None, [os.environ.get("CHECKOUT")])]:
            if not any(path == folder or path.startswith(folder + "/") for folder in inside):
                sys.exit(f"srun: {path} is not in the container")
        os.environ["CONTAINER"] = options["container-image"]
    worst, per_node = 0, int(os.environ["SLURM_NTASKS_PER_NODE"])
    for node in range(int(os.environ["SLURM_NNODES"])):
        for local in range(per_node):
            rank = node * per_node + local
            os.environ.update(SLURM_NODEID=str(node), SLURM_PROCID=str(rank),
                              SLURM_LOCALID=str(local))
            worst = max(worst, abs(subprocess.run(command, stdin=subprocess.DEVNULL).returncode))
    sys.exit(worst)


def scontrol(words):
    if words[:2] != ["show", "hostnames"] or len(words) != 3:
        sys.exit(f"scontrol: unexpected {words}")
    last = re.fullmatch(r"node(?:0|\[0-([0-9]+)\])", words[2]).group(1) or "0"
    print("\n".join(f"node{i}" for i in range(int(last) + 1)))


{"sbatch": sbatch, "srun": srun, "scontrol": scontrol}[os.path.basename(sys.argv[0])](sys.argv[1:])
