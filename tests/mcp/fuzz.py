#!/usr/bin/env python3
"""fuzz.py PLAIT SECONDS [SEED] - sends mutated requests to `plait mcp`

Whatever arrives, each line of output is a message, commands fail with a line of their own, no report of
a sanitizer appears, and at the end of input the server ends and leaves no file. The seed is printed.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLAIT = os.path.abspath(sys.argv[1])
JOB = {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 16, "seq": "8k", "gbs": 64}
SMALL = {"model": "gpt2", "cluster": "dgx-h100", "gpus": 8, "seq": 1024, "gbs": 32, "refine": "none", "top": 2}
CALLS = [
    ("eval", JOB | {"tp": 2}), ("eval", JOB | {"plan": "plait://answers/1:1"}), ("search", SMALL), ("search", SMALL | {"fix": "tp=8"}),
    ("explain", JOB | {"tp": 4, "pp": 2}), ("launch", {"plans": "plait://answers/1"}), ("launch", {"plans": {"plans": []}}),
    ("models", {"model": {"name": "x", "hidden": 8}}), ("clusters", {"cluster": {"name": "x", "groups": []}}),
    ("import", {"file": {"name": "run.sh", "text": "torchrun pretrain_gpt.py --tensor-model-parallel-size 2\n"}, "from": "megatron"}),
    ("doctor", {"file": {"name": "a.toml", "text": "[model]\nname = 'llama3'\n"}, "from": "torchtitan"}),
    ("serve", {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 1, "input": 100, "output_tokens": 10, "concurrency": 4,
               "engine": "vllm", "eval": True}),
    ("validate", {"runs": {"name": "runs.csv", "text": "id,source\n1,x\n"}}),
]
VALUES = [None, True, False, 0, -1, 1e308, 9007199254740993, "", "-", "--help", "\u2028\u0007", "x" * 5000, [], {}, [[[]]], {"a": {"b": []}},
          "plait://answers/1", "plait://answers/2:9", "plait://models/gpt2", {"name": "a.json", "text": "{"}, [1, "a", None], "../../x",
          "/dev/zero", "/proc/self/mem", "/dev/stdin", "-1", "1e9", "tp=8", "a,b,c", "%s%n"]


def message(rng, number):
    kind = rng.random()
    if kind < 0.6:
        name, arguments = rng.choice(CALLS)
        arguments = dict(arguments)
        for _ in range(rng.randrange(3)):
            arguments[rng.choice(list(arguments) + ["plan", "order", "lengths", "rates", "risk", "arguments", "no_such"])] = rng.choice(VALUES)
        params = {"name": name, "arguments": arguments}
        if rng.random() < 0.2:
            params["_meta"] = {"progressToken": rng.choice([1, "t", None, 1.5, []])}
        if rng.random() < 0.05:
            params[rng.choice(["name", "arguments", "_meta"])] = rng.choice(VALUES)
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    elif kind < 0.75:
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": rng.choice([number - 1, number - 2, "x", None])}}
    else:
        body = {"jsonrpc": "2.0", "id": number, "method": rng.choice(
            ["ping", "initialize", "tools/list", "resources/list", "resources/read", "resources/templates/list", "server/discover", "x"]),
            "params": rng.choice([{}, {"uri": rng.choice(["plait://answers/1", "plait://models/gpt2", "plait://schemas/eval", "file:///etc/passwd"])},
                                  {"protocolVersion": "2025-06-18"}, {"cursor": 1}, [], None])}
    if rng.random() < 0.1:
        body[rng.choice(["jsonrpc", "id", "method", "params"])] = rng.choice(VALUES)
    text = json.dumps(body, ensure_ascii=rng.random() < 0.5).encode()
    if rng.random() < 0.25:
        text = bytearray(text)
        for _ in range(rng.randrange(1, 8)):
            place = rng.randrange(len(text) + 1)
            action = rng.random()
            if action < 0.4 and place < len(text):
                text[place] = rng.randrange(256)
            elif action < 0.7:
                del text[place:place + rng.randrange(1, 40)]
            else:
                text[place:place] = bytes(rng.choice(b'{}[]":,\\u0\n\x00\xff') for _ in range(rng.randrange(1, 20)))
        text = bytes(text)
    return text + (b"" if rng.random() < 0.02 else b"\n")


def session(rng, folder, count):
    """Sends `count` messages to a server and returns what is wrong, as texts."""
    server = subprocess.Popen([PLAIT, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
                              env=os.environ | {"TMPDIR": folder})
    wrong, said, sent = [], [], []

    def read():
        for line in server.stdout:
            try:
                assert json.loads(line)["jsonrpc"] == "2.0"
            except (ValueError, AssertionError, KeyError, TypeError):
                wrong.append(f"no message: {line[:300]}")
            if b"Sanitizer" in line or b"runtime error" in line or b"ended by signal" in line or b"plait-mcp-" in line:
                wrong.append(f"a command failed: {line[:3000].decode()}")

    readers = [threading.Thread(target=read), threading.Thread(target=lambda: said.append(server.stderr.read()))]
    for reader in readers:
        reader.start()
    try:
        for number in range(1, count + 1):
            sent.append(message(rng, number))
            server.stdin.write(sent[-1])
            server.stdin.flush()
            if rng.random() < 0.3:
                time.sleep(rng.random() * 0.05)
        server.stdin.close()
    except BrokenPipeError:
        wrong.append("the server ended before its input")
    try:
        status = server.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.kill()
        status = "none after 30 s"
    for reader in readers:
        reader.join()
    if status != 0 or said != [b""]:
        wrong.append(f"status {status}, standard error {b''.join(said).decode(errors='replace')[:3000]}")
    if os.listdir(folder):
        wrong.append(f"files are left: {os.listdir(folder)}")
    if wrong:
        open("mcp-fuzz-input", "wb").write(b"".join(sent))
    return wrong


def main():
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    rng = random.Random(seed)
    end = time.time() + float(sys.argv[2])
    sessions = messages = 0
    while time.time() < end:
        count = rng.randrange(1, 120)
        with tempfile.TemporaryDirectory() as folder:
            wrong = session(rng, folder, count)
        sessions += 1
        messages += count
        if wrong:
            print(f"seed {seed}, session {sessions}; its input is in mcp-fuzz-input")
            print("\n".join(wrong[:5]))
            sys.exit(1)
    print(f"seed {seed}: {sessions} sessions, {messages} messages")


main()
