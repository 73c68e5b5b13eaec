#!/usr/bin/python3
"""test_package.py PLAIT - checks the Python package against the program PLAIT"""

import doctest
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

program = os.path.abspath(sys.argv.pop(1))
os.environ["PLAIT"] = program
sys.path.insert(0, os.path.abspath("python"))
import plait

JOB = dict(model="llama-3.1-8b", cluster="dgx-h100", gpus=16, seq=8192, gbs=64, refine="none")
SERVED = dict(model="llama-3.1-8b", cluster="dgx-h100", gpus=2, input=1024, output_tokens=128,
              rate=4, engine="vllm")
CONFIG = json.loads(Path("tests/data/hf_configs/bamba-9b.json").read_text())


class Config:
    """A configuration with the interface of transformers.PretrainedConfig."""

    def to_dict(self):
        return dict(CONFIG, _name_or_path="ibm-ai-platform/Bamba-9B")


def printed(*words):
    """Return what the program prints."""
    return subprocess.run([program, *words], stdout=subprocess.PIPE, encoding="utf-8").stdout


def of_run(text):
    """Return a document without what differs between two runs of one question."""
    document = json.loads(text)
    for member in (document["search"], *document["search"]["refinements"]):
        member.pop("elapsed_s")
    return document


class Answers(unittest.TestCase):
    def test_an_answer_is_the_document_of_the_program(self):
        words = "llama-3.1-8b dgx-h100 --gpus 16 --seq 8192 --gbs 64 --tp 2 --fp8-attention 0 --json"
        answer = plait.eval("llama-3.1-8b", "dgx-h100", gpus=16, seq=8192, gbs=64, tp=2,
                            fp8_attention=False)
        # The command line is written as --tp=2 by the package.
        self.assertEqual(answer.text.replace("=", " "),
                         printed("eval", *words.split()).replace("=", " "))
        self.assertEqual(answer, json.loads(answer.text))
        self.assertEqual(of_run(plait.search(**JOB).text)["plans"], of_run(printed(
            *"search llama-3.1-8b dgx-h100 --gpus 16 --seq 8192 --gbs 64 --refine none --json"
            .split()))["plans"])

    def test_search_recommends_a_plan(self):
        answer = plait.search(**JOB)
        self.assertTrue(answer.ok)
        self.assertEqual(answer.recommended.rank, answer["recommended"])
        self.assertEqual(answer.recommended.time.matmul_s, answer["plans"][answer["recommended"] - 1]
                         ["time"]["matmul_s"])
        self.assertIn("step_s", dir(answer.plans[0]))
        self.assertRegex(repr(answer), r"^<plait.Answer to search: 10 plans>$")
        with self.assertRaisesRegex(AttributeError, "no key 'seconds'; the keys are rank, verdict"):
            answer.plans[0].seconds
        self.assertIn("<th>step_s</th>", answer.plans._repr_html_())

    def test_no_plan_that_fits_is_an_answer(self):
        answer = plait.search("llama-3.1-405b", "dgx-h100", gpus=8, seq="8k", gbs=8)
        self.assertFalse(answer.ok)
        self.assertIsNone(answer.recommended)
        self.assertEqual(answer.relaxations[0].change, "112 GPUs instead of 8")
        self.assertIn("the answer is no", repr(answer))

    def test_explain_and_launch_take_plans_of_answers(self):
        answer = plait.search(**JOB)
        explained = plait.explain(plan=answer.plans[2], versus=answer.plans[1])
        self.assertEqual(explained.plans[0].step_s, answer.plans[2].step_s)
        self.assertEqual(explained.explain.versus.step_s, answer.plans[1].step_s)
        self.assertEqual(plait.eval(plan=(answer, 2)).plans[0].step_s, answer.plans[1].step_s)
        files = plait.launch(answer, target="companion")
        self.assertEqual(files, plait.launch(answer.recommended, target="companion"))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(plait.launch(answer, folder, target="companion"), folder)
            self.assertEqual(sorted(os.listdir(folder)), sorted(files))

    def test_serve_and_its_launch_take_dicts_and_paths(self):
        answer = plait.serve(**SERVED)
        self.assertEqual(answer.recommended.engine, "vllm")
        self.assertIn("server.sh", plait.launch(answer))
        cluster = plait.clusters("dgx-h100").clusters[0]
        other = plait.serve(**dict(SERVED, model=Config(), cluster=cluster))
        self.assertIn("Bamba-9B", plait.launch(other)["server.sh"])
        path = "tests/data/hf_configs/bamba-9b.json"
        self.assertIn("bamba-9b", plait.launch(plait.serve(**dict(SERVED, model=path)))["server.sh"])
        fleet = plait.capacity("llama-3.1-8b", "dgx-h100", serve=True, input=1024, output_tokens=128,
                               rate=50, engine="vllm")
        self.assertEqual(fleet.recommended, fleet.fleets[0])

    def test_capacity_compares_clusters(self):
        answer = plait.capacity("llama-3.1-8b", ["dgx-h100", "dgx-a100"], gpus=(16, 32), tokens="1T",
                                seq=8192, gbs=128, refine="none", deadline="90d",
                                limit={"recompute": "none", "cp": 1, "tp": (None, 4), "pp": (1, 2)})
        self.assertEqual([cluster.name for cluster in answer.clusters], ["dgx-h100", "dgx-a100"])
        self.assertEqual(answer.recommended, answer.rows[answer["answer"]])

    def test_rl_models_and_clusters(self):
        answer = plait.rl("qwen3-8b", "dgx-h100", gpus=8, prompts=64, generations=8,
                          prompt_tokens=512, answer_tokens=["1k", "4k"])
        self.assertGreater(answer.recommended.step_s, 0)
        self.assertEqual(plait.models("gpt2").models[0].model.name, "gpt2")
        self.assertGreater(len(plait.models().models), 100)
        self.assertEqual(plait.ask("diff", "gpt2", "gpt2-xl").kind, "model")

    def test_models_and_clusters_are_dicts(self):
        named = plait.search(**JOB)
        given = plait.search(**dict(JOB, model=named.model, cluster=dict(named.cluster)))
        self.assertEqual(given.plans, named.plans)
        asked = plait.models(Config())
        self.assertEqual(asked.models[0].model.name, "Bamba-9B")
        large = plait.models(dict(CONFIG, _commit_hash="x" * 10_000_000))
        self.assertEqual(large.models[0].params, asked.models[0].params)

    def test_pages(self):
        answer = plait.search(**JOB)
        self.assertIn('<iframe sandbox="allow-scripts', answer._repr_html_())
        self.assertRegex(answer._repr_markdown_(), r"^# llama-3.1-8b on 16 GPUs(.|\n)*\| 10 \|.*\n$")
        self.assertIn("<td>gpt2</td>", plait.models("gpt2")._repr_html_())
        nothing = plait.search("llama-3.1-405b", "8xH100", seq=8192, gbs=8)
        self.assertIn("<td>112 GPUs instead of 8</td>", nothing._repr_html_())
        capacity = plait.capacity("llama-3.1-8b", "8xH100", tokens="1T", seq=8192, gbs=64,
                                  refine="none", limit={"recompute": "none"})
        self.assertIn("<script", capacity.page())

    def test_tables_of_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is missing: to_pandas() is not tested")
        answer = plait.search(**JOB)
        table = answer.plans.to_pandas()
        self.assertIsInstance(table, pandas.DataFrame)
        self.assertEqual(list(table["time.matmul_s"]), [p.time.matmul_s for p in answer.plans])

    def test_answers_can_be_copied_and_sent(self):
        import copy
        import pickle
        answer = plait.eval("llama-3.1-8b", "8xH100", seq=4096, gbs=8)
        for other in (copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
            self.assertEqual((other.text, other.plans, repr(other)),
                             (answer.text, answer.plans, repr(answer)))
        with self.assertRaisesRegex(AttributeError, "cannot be changed"):
            answer.plans[0].step_s = 1


class Errors(unittest.TestCase):
    def check(self, path, pointer, expected, found, ask=plait.search, **changes):
        with self.assertRaises(plait.InvalidQuestion) as caught:
            ask(**dict(JOB, **changes) if ask is plait.search else changes)
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.path, error.pointer), (path, pointer))
        self.assertRegex(error.expected, expected)
        self.assertIn(found, error.found or "")
        self.assertTrue(str(error).startswith(f"{path}:"), str(error))

    def test_unknown_options_name_near_ones(self):
        self.check("sequence", None, "an option of plait.search such as seq$", "sequence",
                   sequence=3)
        self.check("recomput", None, "such as recompute", "recomput", recomput="full")

    def test_errors_have_path_pointer_expected_and_found(self):
        self.check("--gbs", None, "^an integer from 1 to", '"x"', gbs="x")
        self.check("model", "/hidden_size", "^an integer from 1", "-1",
                   model=dict(CONFIG, hidden_size=-1))
        self.check("cluster", "/a", "the key \"accelerator\"", '"a"', cluster={"a": 1})
        self.check("no-such", None, "the name of a model or a path", "", model="no-such")

    def test_values_of_wrong_types(self):
        self.check("model", "/a/0", "neither NaN", "nan", model={"a": [float("nan")]})
        self.check("model", "/a~1b", "a value that JSON can have", "object", model={"a/b": object()})
        self.check("model", "/hidden_size", "a double", "0x", model=dict(CONFIG, hidden_size=10 ** 6000))
        self.check("--limit pp", None, "a number or a range", "9..1", limit=("tp=..8", "pp=9..1"))
        looped = {}
        looped["a"] = looped
        self.check("model", None, "that does not contain itself", "", model=looped)
        self.check("model", None, "a value", "None", model=None)
        self.check("model", None, "null characters", "", model="a\0b")
        self.check("search", None, "can encode", "", model="\ud800")
        self.check("search", None, "fit on a command line", "", model="x" * 3_000_000)
        for value in (float("nan"), 10 ** 6000, -1, 10 ** 30, []):
            self.check("--gpus", None, "^an integer from 1 to", "", gpus=value)
        self.assertEqual(plait.eval("gpt2", "8xH100", gpus=16 / 2, seq=1024, gbs=8).job.gpus, 8)
        self.check("--gpus", None, "a value", "True", gpus=True)
        self.check("--frontier", None, "True or False", "3", frontier=3)
        self.check("plan", "/plans", "a plan", "none", ask=plait.launch,
                   plan=plait.search("llama-3.1-405b", "8xH100", seq=8192, gbs=8))

    def test_paths_of_any_alphabet(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "модель é.json")
            Path(path).write_text(json.dumps(CONFIG))
            self.assertEqual(plait.models(path).models[0].model.name, "модель é")

    def test_a_missing_or_broken_program(self):
        for wrong in ("/no/such/program", "/bin/true", "/bin/echo"):
            os.environ["PLAIT"] = wrong
            try:
                with self.assertRaisesRegex(plait.PlaitError, "expected"):
                    plait.models("gpt2")
            finally:
                os.environ["PLAIT"] = program

    def test_a_folder_that_cannot_be_written(self):
        tempfile.tempdir = "/proc"
        try:
            with self.assertRaisesRegex(plait.PlaitError, "/proc: expected a folder"):
                plait.models(Config())
            self.assertIsNone(plait.eval("gpt2", "dgx-h100", gpus=8, seq=1024, gbs=8)._repr_html_())
        finally:
            tempfile.tempdir = None

    def test_warnings_of_the_program_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plait.models(dict(CONFIG, unread_size=8), assume_llama=True)
        self.assertEqual([str(warning.message).partition(":")[0] for warning in caught], ["warning"])


class Processes(unittest.TestCase):
    def test_threads_get_their_own_answers(self):
        found = {}

        def ask(gbs):
            found[gbs] = plait.eval(Config(), "dgx-h100", gpus=16, seq=8192, gbs=gbs).job.gbs

        threads = [threading.Thread(target=ask, args=(16 * i,)) for i in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {16 * i: 16 * i for i in range(1, 9)})

    def test_an_interrupt_ends_the_program(self):
        # The stand-in for the program lists an option, and then waits.
        with tempfile.TemporaryDirectory() as folder:
            waiting = os.path.join(folder, "plait")
            with open(waiting, "w") as file:
                file.write('#!/bin/sh\n[ "$1" != --complete ] || exec printf -- "--seq\\tN\\t\\n"\n'
                           f"echo $$ >{folder}/started.tmp; mv {folder}/started.tmp {folder}/started\n"
                           "exec sleep 100\n")
            os.chmod(waiting, 0o755)
            asking = subprocess.Popen(
                [sys.executable, "-c", "import plait; plait.models('gpt2')"],
                env=dict(os.environ, PLAIT=waiting, PYTHONPATH="python"), stderr=subprocess.PIPE)
            while not Path(folder, "started").exists():
                self.assertIsNone(asking.poll())
                time.sleep(0.01)
            asking.send_signal(signal.SIGINT)
            self.assertIn(b"KeyboardInterrupt", asking.communicate(timeout=20)[1])
            # An ended process exists until its new parent has waited for it.
            with self.assertRaises(ProcessLookupError):
                for _ in range(1000):
                    os.kill(int(Path(folder, "started").read_text()), 0)
                    time.sleep(0.01)

    def test_a_closed_standard_input(self):
        done = subprocess.run(
            ["bash", "-c", 'exec "$0" -c "$1" <&-', sys.executable,
             "import plait; print(plait.models(plait.models('gpt2').models[0].model).models[0].model.name)"],
            env=dict(os.environ, PYTHONPATH="python"), stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "gpt2\n")

    def test_no_temporary_file_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", "import plait\n"
                            "a = plait.eval('gpt2', '8xH100', seq=1024, gbs=8)\n"
                            "b = plait.eval(a.model, a.cluster, gpus=8, seq=1024, gbs=8)\n"
                            "plait.launch(b), b._repr_html_()"], check=True,
                           env=dict(os.environ, PYTHONPATH="python", TMPDIR=folder))
            self.assertEqual(os.listdir(folder), [])


class Documents(unittest.TestCase):
    def test_the_examples_of_the_guide(self):
        for guide in "python", "ten-questions":
            failed, tried = doctest.testfile(f"../../docs/guide/{guide}.md")
            self.assertGreater(tried, 10)
            self.assertEqual(failed, 0)


class Types(unittest.TestCase):
    def test_a_checker_knows_options_and_answers(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is missing: the types of the package are not checked")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "use.py")
            file.write_text("import plait\n"
                            "answer = plait.search('gpt2', {}, seq='8k', fix={'tp': 8}, all=True)\n"
                            "files: dict[str, str] = plait.launch(answer.plans[0])\n"
                            "share: float = answer.plans[0].risk\n"
                            "plait.search('gpt2', sequence=3)\n"
                            "plait.search('gpt2', all='yes')\n"
                            "answer.plans[0].step\n")
            said = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--no-color-output",
                 f"--cache-dir={folder}/cache", str(file)], cwd=folder, stdout=subprocess.PIPE,
                text=True, env=dict(os.environ, MYPYPATH=os.path.abspath("python"))).stdout
        self.assertEqual([line.split(":")[1] for line in said.splitlines() if ": error:" in line],
                         ["5", "6", "7"], said)

    def test_the_stubs_are_those_of_the_program(self):
        made = subprocess.run([sys.executable, "python/stubs.py", program], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(made, Path("python/plait/__init__.pyi").read_text(),
                         "run ./dev docs to update python/plait/__init__.pyi")


if __name__ == "__main__":
    unittest.main()
