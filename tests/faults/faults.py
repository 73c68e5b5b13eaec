#!/usr/bin/env python3
"""faults.py KIND PLAIT [SHIM] [--all] [WORD...] - whole commands on a machine that fails

requests  arenas give out after n requests; PLAIT is starved.c, and there is no SHIM
memory    the n-th allocation finds no memory, alone or with all that follow
files     the n-th open, read, write, fsync, close, stat, rename or unlink fails
killed    the program is killed before its n-th call that has to do with a file
threads   with three threads: no thread can be created, or only the first; allocations fail
limits    `ulimit -v`, with one thread and with two

A command ends as it would have, to the byte, or with a status that says it did not and one line that
says why; a file that it writes is the old one or the new one, and nothing is left beside it. Which
calls are tried grows thin as their number grows, so that this takes seconds; --all tries each of
them. With WORDs only commands that begin so are tried.
"""
import errno
import mmap
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

TREE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
JOB = "llama-3.2-3b h100-80gb-sxm:1x2 --seq 4096 --gbs 8"

# What the commands below read; {tree} is the source tree.
PREPARED = [
    f"eval {JOB} --tp 2 -o plans.json",
    f"search {JOB} --top 2 --try 1 -o found.json",
    f"eval {JOB} --zero 3 --runtime torchtitan -o sharded.json",
    "launch plans.json -o launched",
    "serve llama-3.1-8b dgx-h100 --gpus ..8 --input 512 --output-tokens 64 --rate 2 --ttft 1s -o serve.json",
    "sweep scenarios.json -o lines.jsonl",
]
TEXTS = {
    "scenarios.json": '{"name": "few", "scenarios": [{"model": "llama-3.2-3b", "cluster": '
    '"h100-80gb-sxm:1x2", "seq": "4k", "gbs": [8, 16], "fix": "pp=1,tp=2,cp=1"}]}',
    "measured.csv": "rank,step_s\n1,0.75\n",
    "run.log": " iteration 1/10 | elapsed time per iteration (ms): 900.0 |\n",
}

# Files are written into out/, where an older one of some names lies already.
COMMANDS = [
    "--complete search",
    "models",
    "models llama-3.1-8b",
    "clusters",
    "clusters dgx-h100 --json",
    "case megatron-weak-scaling",
    f"eval {JOB} --tp 2 -o out/plans.json",
    f"search {JOB} --top 2 --limit cp=1 -o out/plans.json",
    f"search {JOB} --top 2 --fix pp=2 --refine stages",
    "explain --plan plans.json",
    "explain --plan plans.json --why-not pp=2 --json",
    f"operators {JOB} --mesh 2",
    f"operators {JOB} --mesh 2 --json",
    "launch plans.json -o out/launched --force",
    "launch sharded.json -o out/new --target torchtitan",
    "launch serve.json -o out/launched --force",
    "import --from megatron launched/args.sh --model llama-3.2-3b --cluster h100-80gb-sxm:1x2 "
    "--gpus 2 -o out/plans.json",
    "doctor --from megatron launched/args.sh --model llama-3.2-3b --cluster h100-80gb-sxm:1x2 --gpus 2",
    "next found.json measured.csv -o out/site.json",
    "calibrate --log run.log --plan found.json:1 -o out/site.json",
    "diff plans.json found.json",
    "report found.json -o out/page.html",
    "serve llama-3.1-8b dgx-h100 --gpus ..8 --input 512 --output-tokens 64 --rate 2 --ttft 1s -o out/serve.json",
    f"capacity {JOB} --tokens 1G --limit pp=1,cp=1 -o out/page.csv",
    "validate runs.csv",
    "validate --serving serving.csv",
    "calibrate {tree}/clusters/measurements/p2p.csv --accelerator h100-80gb-sxm -o out/site.json",
    "sweep scenarios.json -o out/new.jsonl",
    "merge lines.jsonl lines.jsonl -o out/plans.json",
]
# More commands with other ways to use memory, for `threads` and `limits`.
LARGE = [
    "help search",
    "search llama-3.1-8b h100-80gb-sxm:1x8 --seq 8192 --gbs 128 --top 2",
    "search llama-3.1-8b h100-80gb-sxm:1x8 --seq 8192 --gbs 128 --refine none --json",
    f"search {JOB} --runtime companion --fix tp=1,cp=1 --refine all",
    "search llama-3.2-3b rtx-4090-24gb:1x2+a100-40gb-sxm:1x2 --seq 4096 --gbs 16 --runtime companion "
    "--fix schedule=1f1b,vpp=1,fusion=none,cp=1,mbs=1,offload_acts=none,offload=none",
    "search llama-3.1-405b h100-80gb-sxm:1x8 --seq 8192 --gbs 128",
    "rl llama-3.1-8b dgx-h100 --gpus 8 --prompts 8 --generations 4 --prompt-tokens 128 "
    "--answer-tokens 512,1024",
    "capacity gpt2 dgx-h100 --serve --rate 5 --input 512 --output-tokens 128 --json",
    "report serve.json -o out/page.html",
]
SLOW = ("doctor", "report", "capacity", "search")  # fewer of their calls are tried
OLD = ("plans.json", "site.json", "launched/args.sh", "launched/mine.txt", "page.html")

ALLOC, OPEN, READ, WRITE, SYNC, CLOSE, STAT, NAME, REMOVE, CREATE, FLUSH, THREAD = (
    1 << i for i in range(12))
FILES = OPEN | READ | WRITE | SYNC | CLOSE | STAT | NAME | REMOVE | CREATE | FLUSH
REQUEST = 1 << 30  # of an arena
SHORT = 1 << 20  # no errno: half of what was asked for is written
ALWAYS = 1 << 40  # times: the first one and all that follow

# What fails how; whether the answer has to come all the same.
FAULTS = [
    (READ, errno.EIO, False), (READ, errno.EINTR, True),
    (WRITE, errno.ENOSPC, False), (WRITE, errno.EIO, False), (WRITE, errno.EINTR, True),
    (WRITE, SHORT, True),
    (FLUSH, errno.EIO, False), (SYNC, errno.EIO, False), (CLOSE, errno.EIO, False), (STAT, errno.EIO, False),
    (NAME, errno.EIO, False), (NAME, errno.ENOSPC, False), (REMOVE, errno.EIO, False),
    (OPEN, errno.EMFILE, False), (CREATE, errno.EROFS, False), (CREATE, errno.ENOSPC, False),
]


class Program:
    """plait with the shim in front, in a folder of its own."""

    def __init__(self, plait, shim, folder):
        self.plait, self.folder = plait, folder
        path = os.path.join(folder, "order")
        with open(path, "wb") as file:
            file.write(bytes(40))
        with open(path, "r+b") as file:
            self.order = mmap.mmap(file.fileno(), 40)
        self.environment = dict(os.environ)
        if shim is not None:
            self.environment.update(LD_PRELOAD=shim, PLAIT_FAULT=path)

    def run(self, words, kinds=0, first=0, times=1, error=0, kib=None, threads=1):
        """How it ends, and how many calls of these kinds it makes."""
        environment = dict(self.environment, OMP_NUM_THREADS=str(threads))
        if kinds == REQUEST and first > 0:
            environment = dict(environment, PLAIT_STARVE_AFTER=str(first - 1))
        self.order[:] = struct.pack("5q", kinds, first, times, error, 0)
        limited = ["sh", "-c", f'ulimit -v {kib}; exec "$@"', "sh"] if kib is not None else []
        done = subprocess.run(limited + [self.plait] + words, env=environment, cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        calls = struct.unpack("5q", self.order[:])[4]
        return (done.returncode, done.stdout, done.stderr), calls


def tree_of(folder):
    """What is in a folder: its files by their path, with what they hold and whether they run."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = (file.read(), os.access(path, os.X_OK))
    return found


def put_old(folder):
    shutil.rmtree(folder, ignore_errors=True)
    for name in OLD:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"the old {name}\n")


def chosen(calls, case, every, growth=1.6):
    """Numbers of calls: the first ones, then ever fewer, and the last ones."""
    if every:
        return list(range(1, calls + 1))
    slow = case.line.startswith(SLOW)
    picked, step = [], 1.0
    at = 1.0
    while at <= calls:
        picked.append(int(at))
        at += step
        step *= 3 if slow else growth
    return sorted(set(picked) | set(range(max(1, calls - (0 if slow else 2)), calls + 1)))


def one_line(said):
    return said.endswith(b"\n") and said.count(b"\n") == 1 and said.startswith(b"plait: ")


class Case:
    """One command: how it ends when nothing fails, and what of it is wrong."""

    def __init__(self, program, line, threads):
        self.program, self.line, self.threads = program, line, threads
        self.words = shlex.split(line.format(tree=TREE))
        self.out = os.path.join(program.folder, "out")
        self.wrong, self.tried, self.whole = [], 0, 0
        put_old(self.out)
        self.old = tree_of(self.out)
        self.answer, _ = program.run(self.words, threads=threads)
        self.new = tree_of(self.out)
        if self.answer[0] > (line in LARGE):
            self.wrong.append(f"status {self.answer[0]} undisturbed: {self.answer[2]!r}")

    def calls(self, kinds):
        self.restore()
        return self.program.run(self.words, kinds, threads=self.threads)[1]

    def restore(self):
        put_old(self.out)

    def goes_on(self, kept):
        """A sweep writes line by line, and goes on behind the last whole one."""
        return all(kept.get(n) == self.old.get(n) or
                   n.endswith(".jsonl") and self.new[n][0].startswith(kept[n][0])
                   for n in set(kept) | set(self.old))

    def attempt(self, what, statuses, kinds, first, times=1, error=0, must=False, kib=None):
        """One run; `statuses`: those that say it failed."""
        self.restore()
        found, _ = self.program.run(self.words, kinds, first, times, error, kib, self.threads)
        if found[0] == 127 and b"error while loading shared libraries" in found[2]:
            return
        tree = tree_of(self.out)
        left = [name for name in tree if ".tmp-" in name]
        kept = {name: tree[name] for name in tree if name not in left}
        self.tried += 1
        if kept != self.new and self.goes_on(kept):
            kept = self.old
        if kept not in (self.old, self.new):
            odd = [n for n in set(kept) | set(self.new) if kept.get(n) != self.new.get(n)]
            self.wrong.append(f"{what}: neither old nor new: {sorted(odd)}")
        elif found == self.answer and kept == self.new:
            self.whole += 1
        elif must:
            self.wrong.append(f"{what}: not the answer: status {found[0]}, {found[2]!r}")
        elif found[0] not in statuses:
            self.wrong.append(f"{what}: status {found[0]}, {found[2]!r}")
        elif found[0] != -signal.SIGKILL and not one_line(found[2]):
            self.wrong.append(f"{what}: not one line: {found[2]!r}")
        elif not self.answer[1].startswith(found[1]):
            self.wrong.append(f"{what}: another answer, and status {found[0]}")
        if left and found[0] != -signal.SIGKILL and b".tmp-" not in found[2] and not kinds & REMOVE:
            self.wrong.append(f"{what}: left {left}, status {found[0]}, {found[2]!r}")


def starve_arenas(case, every):
    """Nobody counts requests: they are tried up to a number that is enough."""
    first = 1
    while first < 1 << 40:
        case.restore()
        found, _ = case.program.run(case.words, REQUEST, first)
        if found == case.answer:
            break
        first *= 2
    for call in chosen(first, case, every):
        case.attempt(f"request {call} and on", (3,), REQUEST, call)


def starve(case, every):
    for number, call in enumerate(chosen(case.calls(ALLOC), case, every)):
        for times in (1, ALWAYS) if every else ((1, ALWAYS)[number % 2],):
            case.attempt(f"allocation {call}{' and on' * (times > 1)}", (3,), ALLOC, call, times,
                         errno.ENOMEM)


def break_files(case, every):
    for kind, error, must in FAULTS:
        name = "short" if error == SHORT else errno.errorcode[error]
        for call in chosen(case.calls(kind), case, every, 4):
            case.attempt(f"{name} at call {call} of kind {kind}", (2, 3), kind, call, 1, error, must)


def kill(case, every):
    for call in chosen(case.calls(FILES), case, every):
        case.attempt(f"killed before call {call}", (-signal.SIGKILL,), FILES, call)


def refuse_threads(case, every):
    """No thread and one thread must give the answer; an allocation fails while several allocate."""
    created = case.calls(THREAD)
    for first in (1, 2) if created > 0 else ():
        case.attempt(f"creation of thread {first} and on", (), THREAD, first, ALWAYS, errno.EAGAIN,
                     True)
    calls = case.calls(ALLOC) if created > 0 else 0
    for call in chosen(calls, case, every, 3):
        case.attempt(f"allocation {call} and on", (3,), ALLOC, call, ALWAYS, errno.ENOMEM)


def limit_memory(case, every):
    """Steps of 250 KiB, or a few limits, which differ from command to command."""
    creates = case.calls(THREAD) > 0
    if case.threads > 1 and not creates:
        return
    first = 10000 + (0 if every else 250 * (sum(map(ord, case.line)) % 31))
    for kib in range(first, 60001, 250 if every else 7750):
        for turn in range(3 if every and creates else 1):
            case.attempt(f"{kib} KiB, {case.threads} threads, run {turn}", (3,), 0, 0, kib=kib)


def prepare(program):
    for name, text in TEXTS.items():
        with open(os.path.join(program.folder, name), "w", encoding="ascii") as file:
            file.write(text)
    for name, rows in (("runs.csv", 3), ("serving.csv", 3)):
        with open(os.path.join(TREE, "tests", "validation", name), encoding="utf-8") as source, \
                open(os.path.join(program.folder, name), "w", encoding="utf-8") as file:
            file.writelines(source.readlines()[:rows])
    for line in PREPARED:
        found, _ = program.run(shlex.split(line))
        if found[0] != 0:
            sys.exit(f"{line}: status {found[0]}, {found[2]!r}")


def main():
    words = [word for word in sys.argv[1:] if word != "--all"]
    kind, plait = words[0], os.path.realpath(words[1])
    disturb = {"requests": starve_arenas, "memory": starve, "files": break_files,
               "killed": kill, "threads": refuse_threads, "limits": limit_memory}[kind]
    shim = None if kind == "requests" else os.path.realpath(words[2])
    begins = words[2 if kind == "requests" else 3:]
    every = "--all" in sys.argv
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(plait, shim, folder)
        prepare(program)
        for line in COMMANDS + (LARGE if kind in ("threads", "limits") else []):
            if not line.startswith(tuple(begins or [""])):
                continue
            for threads in {"threads": (3,), "limits": (1, 2)}.get(kind, (1,)):
                case = Case(program, line, threads)
                disturb(case, every)
                if case.tried == 0 and not case.wrong:
                    continue
                print(f"{case.tried:6} tried, {case.whole:5} answered, {len(case.wrong):4} wrong: {line}",
                      flush=True)
                for what in case.wrong[:8]:
                    print(f"    {what}", flush=True)
                wrong += len(case.wrong)
    sys.exit(wrong > 0)


main()
