#!/usr/bin/env python3
"""client.py PLAIT - a client of the Model Context Protocol asks `plait mcp`

The recorded exchange is requests.jsonl with answers.jsonl, which UPDATE_GOLDEN=1 rewrites. The other
checks follow the specification. Answers are checked against the schemas of the tools if the module
jsonschema can be had.
"""
import glob
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
PLAIT = os.path.abspath(sys.argv[1])
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
JOB = {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 16, "seq": "8k", "gbs": 64}
# A search that takes minutes, to be cancelled.
LONG = {"model": "deepseek-v3", "cluster": "h800-80gb-sxm:1024x8", "seq": 4096, "gbs": 15360, "refine": "all",
        "frontier": True, "allow_numerics": True, "top": 1000, "all": True}

try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("python3-jsonschema is missing: answers are not checked against the schemas of the tools")


class Server:
    """A server and the messages that it has written."""

    def __init__(self, *options, **environment):
        self.process = subprocess.Popen([PLAIT, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=ROOT, env=os.environ | environment)
        self.lines = queue.Queue()
        self.last = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def next(self, seconds=60):
        return self.lines.get(timeout=seconds)

    def request(self, method, params=None, meta=None):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method}
        if params is not None or meta:
            message["params"] = (params or {}) | ({"_meta": meta} if meta else {})
        self.send(message)
        return self.last

    def ask(self, method, params=None, meta=None):
        number = self.request(method, params, meta)
        answer = self.next()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == number, answer
        return answer

    def tool(self, name, arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def initialize(self):
        result = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})["result"]
        assert result["protocolVersion"] == "2025-06-18", result
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def children(self):
        """Numbers of the processes that the server has started."""
        found = []
        for name in glob.glob("/proc/[0-9]*/stat"):
            try:
                fields = open(name).read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
                found.append(int(name.split("/")[2]))
        return found

    def end(self):
        """Closes the input; the server must end by itself, without complaints."""
        self.process.stdin.close()
        status = self.process.wait(timeout=20)
        said = self.process.stderr.read().decode()
        assert status == 0 and said == "", (status, said)


def wait_until(condition, seconds=10):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, "waited too long"
        time.sleep(0.02)


def recorded_exchange():
    with open(f"{HERE}/requests.jsonl") as requests:
        run = subprocess.run([PLAIT, "mcp"], stdin=requests, capture_output=True, text=True, cwd=ROOT)
    answers = re.sub(r'"version": "[0-9.]+"', '"version": "VERSION"', run.stdout)
    assert run.returncode == 0 and run.stderr == "", run
    if os.environ.get("UPDATE_GOLDEN") == "1":
        open(f"{HERE}/answers.jsonl", "w").write(answers)
    expected = open(f"{HERE}/answers.jsonl").read()
    for found, wanted in zip(answers.splitlines(), expected.splitlines()):
        assert found == wanted, f"expected {wanted}\nfound    {found}"
    assert answers == expected


def tools_and_answers(server):
    tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
    assert set(tools) == {"search", "eval", "explain", "serve", "capacity", "rl", "import", "launch", "validate",
                          "doctor", "models", "clusters"}, sorted(tools)
    if jsonschema:
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
            jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
    validators = {name: jsonschema.Draft202012Validator(tool["outputSchema"]) for name, tool in tools.items()
                  } if jsonschema else {}
    script = open(f"{ROOT}/tests/data/launch/pretrain_13b.sh").read()
    model = json.load(open(f"{ROOT}/models/llama-3.1-8b.json")) | {"name": "inline-8b"}
    load = {"input": 1024, "output_tokens": 128, "rate": 10, "engine": "vllm"}
    runs = open(f"{ROOT}/tests/validation/runs.csv").read().splitlines()[:4]
    questions = [
        ("search", JOB | {"top": 2}), ("eval", JOB | {"tp": 2, "sp": True, "model": model}),
        ("eval", {"plan": "plait://answers/1:2"}), ("explain", {"plan": "plait://answers/1"}),
        ("launch", {"plans": "plait://answers/1"}), ("launch", {"plans": "plait://answers/2"}),
        ("serve", {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 1} | load),
        ("launch", {"plans": "plait://answers/7"}),
        ("capacity", {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": "16..32", "tokens": "1T", "seq": 8192,
                      "gbs": 256, "refine": "none", "limit": ["recompute=none", "cp=1"]}),
        ("rl", {"model": "qwen3-8b", "cluster": "dgx-h100", "gpus": 8, "prompts": 64, "generations": 8,
                "prompt_tokens": 512, "answer_tokens": [1024, 4096]}),
        ("import", {"file": {"name": "train.sh", "text": script}, "from": "megatron", "arguments": ["A=1"]}),
        ("import", {"file": "tests/schema/server.sh", "from": "vllm"}),
        ("doctor", {"file": "tests/data/launch/torchtitan_8b.toml", "from": "torchtitan", "cluster": "dgx-h100",
                    "gpus": 64, "gbs": 128}),
        ("validate", {"runs": {"name": "runs.csv", "text": "\n".join(runs) + "\n"}}),
        ("models", {"model": "plait://models/llama-3.1-8b"}), ("clusters", {"cluster": "dgx-h100"}),
        ("search", JOB | {"model": "llama-3.1-405b", "gpus": 8, "top": 1}),
    ]
    results = []
    for name, arguments in questions:
        result = server.tool(name, arguments)
        assert result["isError"] is False, (name, result)
        text = json.dumps(result)
        assert "plait-mcp-" not in text, (name, text[max(0, text.find("plait-mcp-") - 200):][:400])
        for error in validators[name].iter_errors(result["structuredContent"]) if validators else []:
            raise AssertionError((name, error.json_path, error.message[:300]))
        results.append(result)
    searched, inline = results[0]["structuredContent"], results[1]["structuredContent"]
    assert inline["model"]["name"] == "inline-8b" and inline["plans"][0]["tp"] == 2
    assert results[2]["structuredContent"]["plans"][0]["step_s"] == searched["plans"][1]["step_s"]
    assert "rank" in results[0]["content"][0]["text"] and results[0]["content"][-1]["uri"] == "plait://answers/1"
    files = {file["path"]: file for file in results[4]["structuredContent"]["files"]}
    assert {"args.sh", "run.sh"} <= set(files) and files["run.sh"]["executable"], sorted(files)
    assert files["run.sh"]["text"].startswith("#!")
    assert results[-1]["structuredContent"]["plans"] == []
    kept = server.ask("resources/read", {"uri": "plait://answers/1"})["result"]["contents"][0]["text"]
    assert json.loads(kept)["plans"] == searched["plans"]
    command_line = subprocess.run([PLAIT, "eval", "--plan", "/dev/stdin:2", "--json"], input=kept, capture_output=True,
                                  text=True)
    assert json.loads(command_line.stdout)["plans"] == results[2]["structuredContent"]["plans"]


def errors_of_tools(server):
    for name, arguments, expected in [
            ("eval", JOB | {"sq": 1}, 'expected "seq", found "sq"'),
            ("eval", JOB | {"tp": "many"}, "--tp: expected"),
            ("eval", JOB | {"tp": {"a": 1}}, "tp: expected a string or a number, found an object"),
            ("eval", JOB | {"frontier": "yes"}, "frontier: expected true or false"),
            ("eval", JOB | {"model": "--help"}, "model: expected a name or a file, found an option"),
            ("eval", JOB | {"model": "-"}, "model: expected a name or a file"),
            ("eval", JOB | {"model": {"name": "x"}}, "model.json"),
            ("eval", {"plan": "plait://answers/9999"}, "plait://answers/9999"),
            ("eval", {"plan": "plait://answers/../../../etc/passwd"}, "answers"),
            ("search", JOB | {"output": "/tmp/no"}, "arguments: expected"),
            ("eval", JOB | {"timeline": "/tmp/no"}, "arguments: expected"),
            ("serve", {"model": "llama-3.1-8b"}, "cluster: expected this argument"),
            ("import", {"file": {"name": "../x", "text": ""}}, "file: expected the name of a file"),
            ("import", {"file": "no-such-file", "arguments": ["--x"]}, "no-such-file"),
            ("launch", {"plans": {"plans": []}}, "plans.json")]:
        result = server.tool(name, arguments)
        assert result["isError"] is True and expected in result["content"][0]["text"], (name, arguments, result)
        assert "\n" not in result["content"][0]["text"] and "plait-mcp-" not in str(result), result


def cancel_and_progress(server):
    number = server.request("tools/call", {"name": "search", "arguments": LONG}, {"progressToken": "t"})
    seen = [server.next()["params"] for _ in range(2)]
    assert [note["progressToken"] for note in seen] == ["t", "t"] and seen[0]["progress"] < seen[1]["progress"], seen
    assert len(server.children()) == 1
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    wait_until(lambda: server.children() == [])
    server.ask("ping")  # and no answer of the cancelled request comes before this one
    others = [server.request("tools/call", {"name": "search", "arguments": LONG}) for _ in range(6)]
    wait_until(lambda: len(server.children()) == 4)
    server.send({"jsonrpc": "2.0", "id": others[0], "method": "ping"})
    assert server.next()["error"]["code"] == -32600, "an id of a request in progress"
    for number in reversed(others):
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    wait_until(lambda: server.children() == [])
    numbers = [server.request("tools/call", {"name": "eval", "arguments": JOB}) for _ in range(10)]
    assert sorted(server.next()["id"] for _ in numbers) == numbers


def killed_command(server):
    server.request("tools/call", {"name": "search", "arguments": LONG})
    wait_until(lambda: len(server.children()) == 1)
    os.kill(server.children()[0], signal.SIGKILL)
    result = server.next()["result"]
    assert result["isError"] and "signal 9" in result["content"][0]["text"], result
    server.ask("ping")


def without_handshake(server):
    result = server.ask("tools/call", {"name": "eval", "arguments": JOB}, META)["result"]
    assert result["resultType"] == "complete" and result["structuredContent"]["plans"]
    assert server.ask("tools/list", {}, META)["result"]["cacheScope"] == "public"


def hostile_input(server):
    server.send(b"\n  \r\n")
    for text, code in [(b"\x00\xff\xfe\x80{]\n", -32700), (b"[" * 100000 + b"\n", -32700), (b'{"a":' * 500 + b"\n", -32700),
                       (b'{"jsonrpc":"2.0","id":1,"id":2}\n', -32600), (b'"' + b"x" * (100 << 20) + b'"\n', -32600)]:
        server.send(text)
        answer = server.next()
        assert answer["id"] in (None, 1) and answer["error"]["code"] == code, answer
    for arguments in [{"model": [[1]]}, {"model": {"name": [1], "text": {}}}, {"plan": {"a": [{}] * 1000}},
                      {"seq": 1e300}, {"seq": -1}, {"model": "\u0001\u2028"}, {"gpus": True}]:
        assert server.tool("eval", JOB | arguments)["isError"], arguments
    server.ask("ping")


def ends(folder):
    for text in [b"", b'{"jsonrpc": "2.0", "id": 1, "met']:
        server = Server(TMPDIR=folder)
        server.send(text)
        server.end()
    server = Server(TMPDIR=folder)
    server.request("tools/call", {"name": "eval", "arguments": JOB})
    server.end()
    assert server.next()["result"]["isError"] is False, "a call that began before the end of input is answered"
    for number in (signal.SIGTERM, signal.SIGINT):
        server = Server(TMPDIR=folder)
        server.request("tools/call", {"name": "search", "arguments": LONG})
        wait_until(lambda: server.children())
        server.process.send_signal(number)
        assert server.process.wait(timeout=10) == 0
    assert os.listdir(folder) == [], os.listdir(folder)


def main():
    recorded_exchange()
    with tempfile.TemporaryDirectory() as folder:
        for check in (tools_and_answers, errors_of_tools, cancel_and_progress, killed_command, without_handshake,
                      hostile_input):
            server = Server(TMPDIR=folder)
            server.initialize()
            check(server)
            server.end()
            assert os.listdir(folder) == [], (check.__name__, os.listdir(folder))
        ends(folder)
        server = Server("--tools", "eval,launch", TMPDIR=folder)
        assert [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]] == ["eval", "launch"]
        assert server.ask("tools/call", {"name": "search"})["error"]["code"] == -32602
        server.end()


main()
