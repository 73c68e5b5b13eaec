"""plait plans the training and serving of large models.

    >>> import plait
    >>> answer = plait.search(model="llama-3.1-8b", cluster="dgx-h100", gpus=16, seq=8192, gbs=64)
    >>> answer.recommended.step_s, answer.recommended.tp

Each function is a command of the plait program, and its keyword arguments are the options of that
command, with underscores for dashes; help("search") prints them. A switch is True. Where the
program takes a list with commas, Python gives a list or a dict: fix={"tp": 8}. A range is a text
or a pair: gpus=(64, 256).

A model is a name that models() lists, a path, an id on the Hub, a dict, or a configuration of the
transformers library. A cluster is a name that clusters() lists, a path, a short name such as
"8xH100", or a dict. Answers are dicts whose keys are attributes; units are in the keys.
"""

import os as _os
import shutil as _shutil

from ._answer import Answer, Record, Rows, read as _read
from ._program import InvalidQuestion, PlaitError, help_text as _help, invalid as _invalid
from ._program import program, run as _run, temporary_folder as _temporary_folder, version as _version

# eval and help are left out: `from plait import *` would hide those of Python.
__all__ = ["Answer", "InvalidQuestion", "PlaitError", "Record", "Rows", "ask", "capacity",
           "clusters", "explain", "launch", "models", "program", "rl", "search", "serve"]


def __getattr__(name):
    if name != "__version__":
        raise AttributeError(f"module 'plait' has no attribute {name!r}")
    return _version()


def ask(command, *operands, **options):
    """Ask any command of the program that prints JSON, such as ask("operators", ...)."""
    return _ask(command, [(f"operand {i + 1}", value) for i, value in enumerate(operands)], options)


def _ask(command, operands, options):
    status, text, _, documents = _run(command, operands, options, _read)
    return Answer((command, operands, options), status, text, documents)


def search(model=None, cluster=None, **options):
    """Find the best plans of a training job. The answer is not ok if no plan fits."""
    return _ask("search", [("model", model), ("cluster", cluster)], options)


def eval(model=None, cluster=None, **options):
    """Predict the time, memory and cost of one plan."""
    return _ask("eval", [("model", model), ("cluster", cluster)], options)


def explain(model=None, cluster=None, **options):
    """Predict one plan, and say what binds it: explain(plan=answer.plans[2])."""
    return _ask("explain", [("model", model), ("cluster", cluster)], options)


def serve(model=None, cluster=None, **options):
    """Find the engine and the workers that serve a load within bounds on latency."""
    return _ask("serve", [("model", model), ("cluster", cluster)], options)


def capacity(model=None, cluster=None, **options):
    """Find how many GPUs, days and dollars a run takes, or with serve=True, a fleet.

    A list of clusters compares them.
    """
    return _ask("capacity", [("model", model), ("cluster", cluster)], options)


def rl(model=None, cluster=None, **options):
    """Plan a step of reinforcement learning: generation, updates and hand-over."""
    return _ask("rl", [("model", model), ("cluster", cluster)], options)


def models(model=None, **options):
    """Return the models that plait has, or one of them: .models."""
    return _ask("models", [("model", model)], options)


def clusters(cluster=None, **options):
    """Return the clusters and accelerators that plait has, or one: .clusters, .accelerators."""
    return _ask("clusters", [("cluster", cluster)], options)


def launch(plan, output=None, **options):
    """Write the files that start a plan.

    plan     a plan of an answer, an answer (its recommended plan), or a path FILE[:RANK]
    output   folder to write, new or empty; its path is returned. Without one, a dict of the files
             is returned: their names with their contents
    """
    if plan is None:
        raise _invalid("plan", "a plan, an answer or a path", None)
    if output is not None:
        _launch(plan, options, output)
        return output
    parent = _temporary_folder()
    try:
        folder = _os.path.join(parent, "launch")
        _launch(plan, options, folder)
        files = {}
        for path, _, names in _os.walk(folder):
            for name in sorted(names):
                with open(_os.path.join(path, name), encoding="utf-8") as file:
                    files[_os.path.relpath(file.name, folder)] = file.read()
        return dict(sorted(files.items()))
    finally:
        _shutil.rmtree(parent, ignore_errors=True)


def _launch(plan, options, folder):
    _run("launch", [("plan", plan)], dict(options, output=folder), _read, json=False)


def help(command):
    """Print the help of a command of the program, with all options."""
    print(_help(command))
