"""hydra.py - values of Hydra's overrides: the part of its grammar that the launch files use

Source: hydra/grammar/OverrideLexer.g4 and overrides_visitor.py of facebookresearch/hydra 2c03d1b.
"""
import re

# ids, numbers and the other characters of unquoted values; colons are allowed too
PLAIN = r"[A-Za-z0-9_/\-\\+.$%*@?|: ]"
UNQUOTED = re.compile(rf"(?:{PLAIN}|\$\{{[^}}]+\}})*")


def resolve(text, env):
    """OmegaConf's oc.env, whose result is not read again."""
    def variable(match):
        name, _, default = match.group(1).partition(",")
        return env[name] if name in env else default

    text = re.sub(r"\$\{oc\.env:([^}]*)\}", variable, text)
    return text


def value_of(text, env):
    """The value of an override; fails if Hydra would not read it as one text or number."""
    if text[:1] in ("'", '"'):
        quote = text[0]
        match = re.fullmatch(rf"{quote}((?:\\\\)*|.*?[^\\](?:\\\\)*){quote}", text, re.DOTALL)
        if match is None or re.search(rf"(?<!\\)(\\\\)*{quote}", match.group(1)):
            raise AssertionError(f"Hydra cannot read {text}")
        text = re.sub(rf"\\+(?={quote}|$)", lambda m: "\\" * (len(m.group(0)) // 2), match.group(1))
    elif text[:1] == "[":
        inner = text[1:-1]
        return [value_of(item, env) for item in inner.split(",")] if inner else []
    elif not UNQUOTED.fullmatch(text) or text != text.strip():
        raise AssertionError(f"Hydra cannot read {text}")
    elif re.fullmatch("true|false|null", text, re.IGNORECASE):
        return {"true": True, "false": False, "null": None}[text.lower()]
    elif re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if re.search(r"\$\{(?!oc\.env:)", text):
        raise AssertionError(f"OmegaConf interpolates {text}")
    return resolve(text, env)


def overrides(words, env):
    found = {}
    for word in words:
        key, value = word.lstrip("+").split("=", 1)
        found[key] = value_of(value, env)
    return found
