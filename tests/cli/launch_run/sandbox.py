"""sandbox.py - runs the scripts of a launch folder, with stubs in place of every runtime

The PATH of a script has the stubs and the few programs below, so that a program without a stub
fails. A stub writes what it receives to a file, and a step of SLURM or of Kubernetes is imitated as
those systems document it.
"""
import collections
import os
import re
import shlex
import shutil
import subprocess

import yaml

STUBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs")
RUNTIMES = ["torchrun", "accelerate", "deepspeed", "tune", "llamafactory-cli", "megatron", "python",
            "python3", "vllm", "vllm-router", "trtllm-serve", "uv"]
PROGRAMS = ["bash", "env", "dirname", "seq", "mktemp", "cat", "cp", "grep", "realpath", "sleep"]

Start = collections.namedtuple("Start", "program cwd argv env")


class Sandbox:
    def __init__(self, root):
        self.root = root
        self.bin, self.records = os.path.join(root, "bin"), os.path.join(root, "records")
        self.spool = os.path.join(root, "spool")
        for folder in (self.bin, self.records, self.spool):
            os.mkdir(folder)
        links = dict.fromkeys(RUNTIMES + ["ray-record"], os.path.join(STUBS, "record"))
        links.update(dict.fromkeys(["sbatch", "srun", "scontrol"], os.path.join(STUBS, "slurm.py")))
        links["ray"] = os.path.join(STUBS, "ray")
        links.update((name, shutil.which(name, path="/usr/bin:/bin")) for name in PROGRAMS)
        for name, target in links.items():
            os.symlink(target, os.path.join(self.bin, name))

    def run(self, argv, cwd, env, expected=0):
        """The starts that a command leads to, in order."""
        for name in os.listdir(self.records):
            os.remove(os.path.join(self.records, name))
        ran = subprocess.run(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
            env={"PATH": self.bin, "HOME": "/nonexistent", "RECORDS": self.records,
                 "SPOOL": self.spool, "TMPDIR": self.spool, **env})
        if ran.returncode != expected:
            raise AssertionError(f"{argv}: status {ran.returncode}: {os.fsdecode(ran.stderr)}")
        self.said = os.fsdecode(ran.stderr)
        return [self.read(name) for name in sorted(os.listdir(self.records))]

    def read(self, name):
        with open(os.path.join(self.records, name), "rb") as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
        program, cwd, count = words[:3]
        end = 3 + int(count)
        env = dict(word.split("=", 1) for word in words[end:])
        return Start(program.replace("ray-record", "ray"), cwd, words[3:end], env)


# ---- Kubernetes ----

LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
SERVICE = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
SUBDOMAIN = rf"(?=.{{1,253}}$){LABEL}(\.{LABEL})*"
IMAGE = r"[a-z0-9]([a-z0-9._/-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9._/-]+)*(:[\w][\w.-]{0,127})?"


def expect(condition, *words):
    if not condition:
        raise AssertionError(" ".join(map(str, words)))


def keys(mapping, required, optional, where):
    expect(isinstance(mapping, dict), where, "expected a mapping, found", mapping)
    expect(set(required) <= set(mapping) <= set(required) | set(optional), where, "has the keys",
           sorted(mapping))


def name_of(text, pattern, where):
    expect(isinstance(text, str) and re.fullmatch(pattern, text), where, "invalid name", repr(text))
    return text


def expand(word, env):
    """Kubernetes' own expansion of $(NAME) and $$ in commands and arguments."""
    return re.sub(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)",
                  lambda m: "$" if m.group(0) == "$$" else env.get(m.group(1), m.group(0)), word)


def container(spec, where):
    """Check a container; its environment and the folders that it mounts."""
    keys(spec, ["name", "image", "command", "args", "volumeMounts"],
         ["env", "resources", "securityContext"], where)
    name_of(spec["name"], LABEL, where)
    name_of(spec["image"], IMAGE, where)
    for word in spec["command"] + spec["args"]:
        expect(isinstance(word, str), where, "expected a text, found", repr(word))
    env = {}
    for variable in spec.get("env", []):
        keys(variable, ["name", "value"], [], where)
        expect(isinstance(variable["value"], str), where, "expected a text, found", variable)
        env[variable["name"]] = variable["value"]
    return env, {mount["name"]: mount["mountPath"] for mount in spec["volumeMounts"]}


def pod(spec, where):
    """The container of a pod, its environment, and the config maps by the folder they are at."""
    keys(spec, ["containers", "volumes"], [], where)
    (only,) = spec["containers"]
    env, mounts = container(only, where)
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    expect(set(mounts) == set(volumes), where, "mounts", sorted(mounts), "of", sorted(volumes))
    maps = {}
    for name, path in mounts.items():
        keys(volumes[name], ["name"], ["configMap", "emptyDir"], where)
        if "configMap" in volumes[name]:
            maps[path] = name_of(volumes[name]["configMap"]["name"], SUBDOMAIN, where)
    expect(mounts.get("shm") == "/dev/shm" and volumes["shm"]["emptyDir"] == {"medium": "Memory"},
           where, "no shared memory")
    return only, env, maps


def documents(path):
    with open(path, "rb") as file:
        return list(yaml.load_all(file, yaml.CSafeLoader))


def run_container(box, spec, env, mounted):
    """Run the command of a container; `mounted` has a folder of this machine for each path."""
    words = [expand(word, env) for word in spec["command"] + spec["args"]]
    for path, folder in mounted.items():
        env = {name: folder if value == path else value for name, value in env.items()}
        words = [word.replace(path + "/", folder + "/").replace(path + " ", folder + " ") for word in words]
    return box.run(words, box.spool, env)


# ---- systemd ----

def exec_start(path, instance):
    """The words of ExecStart and the description of a unit, with its specifiers replaced."""
    def specifiers(text):
        return re.sub("%(.)", lambda m: {"%": "%", "i": str(instance)}[m.group(1)], text)

    section, found = None, {}
    with open(path) as file:
        for line in file.read().split("\n"):
            if not line or line[0] in "#;":
                continue
            if line[0] == "[":
                section = line[1:-1]
            else:
                key, value = line.split("=", 1)
                found[section, key] = value
    return (shlex.split(specifiers(found["Service", "ExecStart"])),
            specifiers(found["Unit", "Description"]))
