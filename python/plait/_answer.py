"""Answers: the JSON documents of the program, with their keys as attributes."""

import html
import json
import os
import re
import shutil

from ._program import Document, InvalidQuestion, PlaitError, invalid, plain, run, temporary_folder


class Record(dict):
    """A JSON object whose keys are also attributes: plan.step_s is plan["step_s"]."""

    __slots__ = ("_origin",)  # the answer that contains a plan

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"no key {key!r}; the keys are {', '.join(self)}") from None

    def __setattr__(self, key, value):
        if key not in ("_origin", "__dict__"):
            raise AttributeError(f"an answer cannot be changed; found the attribute {key!r}")
        object.__setattr__(self, key, value)

    def __dir__(self):
        return [*super().__dir__(), *self]

    def __reduce__(self):
        return Record, (dict(self),)


class Rows(list):
    """A list of objects, such as the plans of an answer."""

    def to_pandas(self):
        """Return a pandas.DataFrame with one row for each object; nested keys are joined by dots."""
        import pandas

        return pandas.json_normalize(json.loads(json.dumps(self)))

    def _repr_html_(self):
        """A table of the values, and of the names of objects."""
        rows = [{key: value.get("name") if isinstance(value, dict) else value
                 for key, value in row.items() if not isinstance(value, list)} for row in self]
        columns = [key for key, value in (rows[0] if rows else {}).items() if value is not None]
        if not columns:
            return None
        lines = [columns, *([row.get(key, "") for key in columns] for row in rows)]
        return "<table>" + "".join(
            "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in line) + "</tr>"
            for tag, line in zip(["th", *["td"] * len(rows)], lines)) + "</table>"


def _wrap(value):
    if isinstance(value, dict):
        return Record((key, _wrap(item)) for key, item in value.items())
    if isinstance(value, list):
        items = [_wrap(item) for item in value]
        return Rows(items) if items and all(isinstance(item, Record) for item in items) or \
            not items else items
    return value


def _origin(value):
    """Return the answer that contains a plan, or None."""
    return getattr(value, "_origin", None) if isinstance(value, Record) else None


def _file_name(name, default):
    """Return a file name for the model of this name, since the program names it by its file."""
    name = os.path.basename(name.rstrip("/")) if isinstance(name, str) else ""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:80].strip(".-") or default.strip("-")


def read(value, label, documents):
    """Return an operand of the program for a name, a path, a dict, an answer or a plan.

    Dicts and answers are written to documents, which are added to the list.
    """
    rank = ""
    if isinstance(value, (list, tuple)) and label == "cluster":  # plait.capacity compares clusters
        return ",".join(str(read(item, label, documents)) for item in value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Answer):
        value, rank = value[0], f":{value[1]}"
    elif _origin(value) is not None:
        value, rank = _origin(value), f":{value['rank']}"
    if isinstance(value, Answer):
        # An answer of serve names its files, which the program looks for in the folder of the answer.
        names = [value.get("model_file"), value.get("cluster_file"),
                 *(plan.get("profile") for plan in value.get("plans") or ())]
        document = Document(value.text, _file_name(value.get("model"), "plait") + "/answer.json",
                            label, [name for name in names if name and os.path.isfile(name)])
        document.question = value._documents  # which it refers to
    elif isinstance(value, dict) or hasattr(value, "to_dict"):
        try:
            value = plain(value, label)
        except RecursionError:
            raise invalid(label, "a dict that does not contain itself", "one that does") from None
        name = value.get("_name_or_path") if isinstance(value, dict) else None
        document = Document(json.dumps(value), _file_name(name, label) + ".json", label)
    else:
        return value
    documents.append(document)
    return document.path + rank


class Answer(Record):
    """The answer to a question: the JSON document of the program, with its keys as attributes.

    Times end in _s (seconds) or _ms (milliseconds), memory in _bytes, and ratios such as mfu are
    shares of one; docs/reference/json.md describes every key.

    text  the document, byte for byte as the program printed it
    ok    False if the answer is no: no plan fits, or the plan does not run
    """

    __slots__ = ("_asked", "_documents", "_text", "_ok")

    def __init__(self, asked, status, text, documents):
        try:
            super().__init__(_wrap(json.loads(text)))
        except (ValueError, RecursionError) as error:
            raise PlaitError(f"plait {asked[0]}: expected one JSON document, found {text[:60]!r}"
                             ) from error
        for name, value in (("_asked", asked), ("_ok", status == 0), ("_text", text),
                            ("_documents", documents)):
            object.__setattr__(self, name, value)
        for plan in self.get("plans") or ():
            if isinstance(plan, Record) and plan.get("rank") is not None:
                plan._origin = self

    def __reduce__(self):
        # A copy has no documents: their files are removed with this object.
        return Answer, (self._asked, 0 if self._ok else 1, self._text, [])

    text = property(lambda self: self._text)
    ok = property(lambda self: self._ok)

    @property
    def recommended(self):
        """The plan, deployment or row to choose; None if nothing fits."""
        rows = self.get("rows")
        if rows is not None:  # an answer of plait.capacity
            return None if self.get("answer") is None else rows[self["answer"]]
        rank = self.get("recommended")
        plans = [plan for plan in self.get("plans") or self.get("fleets") or ()
                 if plan.get("verdict", "fits") in ("fits", "tight")]
        return next((plan for plan in plans if plan.get("rank") == rank or rank is None), None)

    def __repr__(self):
        counts = [f"{len(value)} {key}" for key, value in self.items()
                  if isinstance(value, Rows) and key in ("plans", "rows", "fleets", "models",
                                                         "clusters", "relaxations")]
        no = "" if self.ok else "the answer is no; "
        return f"<plait.Answer to {self._asked[0]}: {no}{', '.join(counts) or ', '.join(self)}>"

    def page(self, suffix="html"):
        """Return the page of the answer: "html" with charts, or its tables as "md" or "csv".

        Raises InvalidQuestion for answers that have no page.
        """
        folder = temporary_folder()
        try:
            file = os.path.join(folder, f"page.{suffix}")
            command, operands, given = self._asked
            if command == "capacity":  # capacity has no file that a page could be made of later
                run(command, operands, dict(given, output=file), read, json=False)
            else:
                run("report", [("answer", self)], {"output": file}, read, json=False)
            with open(file, encoding="utf-8", errors="replace") as page:
                return page.read()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _repr_html_(self):
        """The page in a frame of its own, so that neither changes the style of the other."""
        try:
            page = self.page()
        except InvalidQuestion:  # there is no page for this command
            rows = next((rows for rows in self.values() if isinstance(rows, Rows) and rows), None)
            return rows._repr_html_() if rows is not None else None
        except PlaitError:
            return None
        text = html.escape(page).encode("ascii", "xmlcharrefreplace").decode()
        return ('<iframe sandbox="allow-scripts allow-downloads" width="100%" height="700" '
                f'frameborder="0" srcdoc="{text}"></iframe>')

    def _repr_markdown_(self):
        """The answer in a sentence and its first table, for viewers that do not run scripts."""
        try:
            lines = self.page("md").splitlines()
        except PlaitError:
            return None
        rows = [i for i, line in enumerate(lines) if line.startswith("|")]
        end = next((i for i in rows if i + 1 not in rows), len(lines))
        return "\n".join(lines[:end + 1]) + "\n"
