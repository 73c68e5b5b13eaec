"""Run the plait program: find it, write its command line, and turn its errors into exceptions."""

import collections.abc
import difflib
import errno
import functools
import math
import numbers
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import weakref

# Options that decide how an answer is printed. Answers are read as JSON, so these have no effect.
_PRINTING = frozenset(("json", "wide", "help"))


class PlaitError(Exception):
    """plait failed: it is not installed, memory or disk is full, or the program has a defect.

    path      the file or option that the error is about; "model" or "cluster" if it was a dict;
              None if the error is about none
    pointer   JSON pointer into that file, such as "/layers/0/heads", or None
    expected  what the program expected, or None
    found     what it found instead, or None
    """

    def __init__(self, message, path=None, pointer=None, expected=None, found=None):
        super().__init__(message)
        self.path, self.pointer, self.expected, self.found = path, pointer, expected, found

    def __reduce__(self):
        return type(self), (str(self), self.path, self.pointer, self.expected, self.found)


class InvalidQuestion(PlaitError, ValueError):
    """The question is not valid: an option, a value or a file is wrong."""


# Tracebacks name exceptions as users import them.
PlaitError.__module__ = InvalidQuestion.__module__ = "plait"


def invalid(path, expected, found, pointer=None):
    """Return the exception for a value, with the message that the program would print."""
    where = path if pointer is None else f"{path}:{pointer}"
    return InvalidQuestion(f"{where}: expected {expected}, found {found}", path, pointer, expected,
                           str(found))


def program():
    """Return the path of the program: PLAIT, else the one in this package, else one in PATH."""
    named = os.environ.get("PLAIT")
    if named:
        if shutil.which(named) is None:
            raise PlaitError(f"PLAIT: expected the path of the plait program, found {named!r}",
                             "PLAIT", None, "the path of the plait program", named)
        return named
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program", "bin", "plait")
    found = inside if os.path.exists(inside) else shutil.which("plait")
    if found is None:
        raise PlaitError("plait: expected the program in this package, in PATH, or named by the "
                         "variable PLAIT, found none", "plait")
    return found


def version():
    """Return the version of the program."""
    return _start([program(), "--version"]).stdout.strip().rpartition(" ")[2]


def main():
    """Run the program in place of Python: the command `plait` of a wheel."""
    os.execv(program(), ["plait", *sys.argv[1:]])


def temporary_folder():
    """Return a new folder, which the caller removes."""
    try:
        return tempfile.mkdtemp(prefix="plait-")
    except OSError as error:
        where = tempfile.tempdir or "TMPDIR"
        raise PlaitError(f"{where}: expected a folder for temporary files, found: "
                         f"{error.strerror or error}", where) from error


class Document:
    """A JSON text in a temporary file, which exists as long as this object does.

    file    its name in a folder of its own
    label   what error messages call it
    beside  paths of files that get links in the same folder
    """

    def __init__(self, text, file, label, beside=()):
        self.label = label
        try:
            self._write(text, file, beside)
        except OSError as error:
            raise PlaitError(f"{error.filename or file}: expected to write a temporary file, "
                             f"found: {error.strerror}", error.filename) from error

    def _write(self, text, file, beside):
        folder = temporary_folder()
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = os.path.join(folder, file)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text)
        for path in {os.path.basename(path): path for path in beside}.values():
            os.symlink(os.path.abspath(path),
                       os.path.join(os.path.dirname(self.path), os.path.basename(path)))


def plain(value, label, pointer=""):
    """Return a value as JSON has it: numbers of numpy as numbers, objects with to_dict() as dicts."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        if int(value).bit_length() > 1024:
            raise invalid(label, "a number that a double can hold", hex(value)[:20] + "...", pointer)
        return int(value)
    if isinstance(value, numbers.Real):
        if not math.isfinite(value):
            raise invalid(label, "a number or null, since JSON has neither NaN nor Infinity", value,
                          pointer)
        return float(value)
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, collections.abc.Mapping):
        return {str(key): plain(value[key], label,
                                f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
                for key in value}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item, label, f"{pointer}/{i}") for i, item in enumerate(value)]
    raise invalid(label, "a value that JSON can have", f"{value!r:.60}", pointer)


def _start(words):
    """Run a program to its end. An interrupt, like any exception, ends the program as well."""
    try:
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8",
                              errors="surrogateescape") as process:
            try:
                stdout, stderr = process.communicate()
            except BaseException:
                process.kill()
                process.wait()
                raise
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)
    except UnicodeEncodeError as error:
        raise invalid(words[1], "text that the file system can encode",
                      f"{error.object!r:.60}") from error
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise invalid(words[1], "values that fit on a command line",
                          f"{sum(map(len, words))} characters") from error
        raise PlaitError(f"{words[0]}: cannot run: {error.strerror}", words[0]) from error


@functools.lru_cache(maxsize=None)
def _options(path, command):
    listed = _start([path, "--complete", command])
    if listed.returncode == 2:
        raise _exception(listed.returncode, listed.stderr, ())
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    if not all(len(row) == 3 for row in rows) or listed.returncode != 0 or not rows:
        raise PlaitError(f"{path}: expected the plait program, found one that does not list the "
                         f"options of {command}", path, None, "the plait program")
    found = {}
    for name, placeholder, _ in rows:
        if name.startswith("--"):  # capacity has --lengths twice, with different values
            found[name[2:]] = f"{found[name[2:]]}|{placeholder}" if name[2:] in found else placeholder
    return found


def options(command):
    """Return the options of a command with the placeholders of their values, "" for a flag."""
    return {name.replace("-", "_"): value for name, value in _options(program(), command).items()
            if name not in _PRINTING}


def help_text(command):
    """Return what `plait COMMAND --help` prints."""
    options(command)  # which fails for an unknown command
    return _start([program(), command, "--help"]).stdout


def _word(value, name):
    """Return one number, text or path as a word of a command line."""
    if isinstance(value, (str, os.PathLike)):
        word = os.fspath(value)
    elif isinstance(value, (bool, numbers.Real)):
        value = int(value) if isinstance(value, numbers.Integral) else float(value)
        if isinstance(value, float) and value.is_integer():  # 64 / 2 is 32.0
            value = int(value)
        try:
            word = repr(value)
        except ValueError:  # more digits than Python prints
            word = f"{value:#x}"
    elif hasattr(value, "tolist"):  # a scalar of numpy
        return _word(value.tolist(), name)
    else:
        raise invalid(name, "a number, a text, a list or a dict", f"{value!r:.60}")
    if isinstance(word, bytes):
        word = os.fsdecode(word)
    if "\0" in word:
        raise invalid(name, "a text without null characters", f"{word!r:.60}")
    return word


def _text(value, name, ranges=False):
    """Return a value of an option; `ranges`: a pair is LOW..HIGH, with None for an open end."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return ",".join(f"{_word(key, name)}={_text(item, name, True)}"
                        for key, item in value.items())
    if ranges and isinstance(value, tuple) and len(value) == 2:
        return "..".join("" if end is None else _word(end, name) for end in value)
    if isinstance(value, (list, tuple)):
        return ",".join(_word(item, name) for item in value)
    return _word(value, name)


def _option(name, value, placeholder, documents, read):
    """Return the words of one option."""
    if value is None or value is False and placeholder == "":
        return []
    if placeholder == "":
        if value is not True:
            raise invalid(f"--{name}", "True or False, since this option is a switch",
                          f"{value!r:.60}")
        return [f"--{name}"]
    if isinstance(value, bool) and placeholder not in ("0|1", "on|off"):
        raise invalid(f"--{name}", f"a value ({placeholder})", value)
    if placeholder == "on|off":
        value = ("off", "on")[value] if isinstance(value, bool) else value
    if re.search("FILE|MODEL|CLUSTER", placeholder):
        value = read(value, name, documents)
    ranges = re.match(r"[^=]*\.\.", placeholder) is not None  # A..B, but not KEY=LOW..HIGH
    return [f"--{name}={_text(value, f'--{name}', ranges)}"]


def _relabel(message, documents):
    """Return a message that names documents by their labels instead of their paths."""
    for document in documents:
        message = message.replace(document.path, document.label)
    return message


def _exception(status, stderr, documents):
    """Return the exception for an exit status and what the program printed on standard error."""
    lines = [line for line in stderr.splitlines() if line.startswith("plait: ")]
    message = lines[-1][len("plait: "):] if lines else stderr.strip()
    message = _relabel(message, documents)
    if status < 0:
        return PlaitError(f"plait: ended by signal {-status}" + (f": {message}" if message else ""))
    # The line is WHERE: expected E, found F, where WHERE is FILE, FILE:/POINTER or --option.
    parts = re.match(r"(?s)(?P<path>.*?)(?::(?P<pointer>/[^ ]*|\d+:\d+))?: expected "
                     r"(?P<expected>.*?)(?:, found:? (?P<found>.*))?$", message)
    fields = parts.groupdict() if parts else {"path": (message.partition(": ")[0] or None)}
    return (InvalidQuestion if status == 2 else PlaitError)(
        message or f"plait: exit status {status}", **fields)


def run(command, operands, given, read, json=True):
    """Run a command.

    read(value, label, documents) returns a value as an operand, and adds the documents that it
    wrote. Returns (exit status, standard output, standard error, documents).
    """
    known, documents, words = options(command), [], []
    for name, value in given.items():
        if name.endswith("_"):  # try_ and as_, since try and as are words of Python
            name = name[:-1]
        placeholder = known.get(name)
        if placeholder is None:
            near = difflib.get_close_matches(name, known, 3) or \
                [option for option in known if name.startswith(option) or option.startswith(name)]
            raise invalid(name, f"an option of plait.{command}" +
                          (f" such as {', '.join(near)}" if near else ""), repr(name))
        words += _option(name.replace("_", "-"), value, placeholder, documents, read)
    words += ["--json"] if json else []
    words.append("--")
    for i, (label, value) in enumerate(operands):
        if value is not None:
            words.append(_word(read(value, label, documents), label))
        elif any(later is not None for _, later in operands[i:]):
            raise invalid(label, "a value, since the operands after it have one", None)
    done = _start([program(), command, *words])
    if done.returncode not in (0, 1) or json and not done.stdout:
        raise _exception(done.returncode, done.stderr, documents)
    for line in done.stderr.splitlines():
        if line.startswith("plait: "):
            warnings.warn(_relabel(line[len("plait: "):], documents), stacklevel=4)
    return done.returncode, done.stdout, done.stderr, documents
