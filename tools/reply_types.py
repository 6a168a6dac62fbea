"""Reads src/query/replies.d.ts, the list of what replies are made of, and knows what it means.

    types = read()                        name -> Interface or the type of an alias
    problems(types, "LiveReply", reply)   what is not as the list says, in sentences
    python_stub(types)                    the same list as Python's TypedDicts

A type is a tuple: ("name", NAME), ("literal", VALUE), ("array", TYPE), ("union", TYPES), ("tuple", TYPES),
("record", TYPE) or ("object", MEMBERS), where members are {key: (type, is_optional)}.
"""

import json
import keyword
import re
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).parents[1] / "src" / "query" / "replies.d.ts"
TOKEN = re.compile(r'\s*(?:(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<word>\w+)|(?P<text>"[^"]*")|(?P<sign>[][{}()<>|:;?=,]))', re.DOTALL)
ARRAYS = {"Uint8Array": "u8", "Uint16Array": "u16", "Uint32Array": "u32", "Int32Array": "i32", "BigUint64Array": "u64",
          "Float64Array": "f64"}  # of replies of columns, by the type that a column says of itself
SIMPLE = {"number": (int, float), "string": (str,), "boolean": (bool,), "null": (type(None),)}


class Interface(NamedTuple):
    bases: list
    members: dict  # its own: key -> (type, is_optional)


class Parser:
    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{LIST.name}: not understood: {text[at:at + 40]!r}")
            if match.lastgroup != "comment":
                self.tokens.append(match[match.lastgroup])
            at = match.end()
        self.at = 0

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, token):
        """Whether the next token is this one; if so, consumes it."""
        is_it = self.at < len(self.tokens) and self.tokens[self.at] == token
        self.at += is_it
        return is_it

    def must(self, *tokens):
        for token in tokens:
            if not self.take(token):
                raise ValueError(f"{LIST.name}: {token!r} expected before {' '.join(self.tokens[self.at:self.at + 8])!r}")

    def types(self):
        found = {}
        self.must("declare", "namespace", "Replies", "{")
        while not self.take("}"):
            kind, name = self.next(), self.next()
            if name in found:
                raise ValueError(f"{LIST.name}: {name} is there twice")
            if kind == "type":
                self.must("=")
                found[name] = self.union()
                self.must(";")
            else:
                bases = []
                if self.take("extends"):
                    bases.append(self.next())
                    while self.take(","):
                        bases.append(self.next())
                self.must("{")
                found[name] = Interface(bases, self.members())
        return found

    def members(self):
        members = {}
        while not self.take("}"):
            key = self.next()
            is_optional = self.take("?")
            self.must(":")
            members[key] = (self.union(), is_optional)
            if not self.take(";") and self.tokens[self.at] != "}":
                self.must(";")
        return members

    def union(self):
        self.take("|")
        types = [self.postfix()]
        while self.take("|"):
            types.append(self.postfix())
        return types[0] if len(types) == 1 else ("union", types)

    def postfix(self):
        found = self.single()
        while self.take("["):
            self.must("]")
            found = ("array", found)
        return found

    def single(self):
        if self.take("{"):
            return ("object", self.members())
        if self.take("("):
            found = self.union()
            self.must(")")
            return found
        if self.take("["):
            types = [self.union()]
            while self.take(","):
                types.append(self.union())
            self.must("]")
            return ("tuple", types)
        if self.take("Record"):
            self.must("<", "string", ",")
            found = ("record", self.union())
            self.must(">")
            return found
        word = self.next()
        return ("literal", json.loads(word)) if word[0] == '"' else ("name", word)


def read():
    return Parser(LIST.read_text()).types()


def members_of(types, name):
    """The members of an interface with those of its bases."""
    found = {}
    for base in types[name].bases:
        found |= members_of(types, base)
    return found | types[name].members


# ---- a reply against the list


def problems(types, kind, value, where="reply"):
    """The differences from the list, as sentences. A reply of columns is passed as the JSON of its header."""
    if isinstance(kind, str):
        kind = ("name", kind)
    form, what = kind
    if form == "name" and what in types and not isinstance(types[what], Interface):
        return [] if what == "Json" else problems(types, types[what], value, where) if what != "int" else wrong(
            type(value) is int, "a whole number", value, where)
    if form == "name" and what in types:
        return problems(types, ("object", members_of(types, what)), value, where)
    if form == "name" and what in ARRAYS:
        return wrong(isinstance(value, dict) and value.get("type") == ARRAYS[what], f"a column of {ARRAYS[what]}", value, where)
    if form == "name":
        is_so = isinstance(value, SIMPLE[what]) and (what == "boolean" or not isinstance(value, bool))
        return wrong(is_so, what, value, where)
    if form == "literal":
        return wrong(value == what, repr(what), value, where)
    if form == "union":
        all_of = [problems(types, one, value, where) for one in what]
        return [] if [] in all_of else min(all_of, key=lambda found: (-max(len(text) for text in found), len(found)))
    if form == "array":
        return wrong(isinstance(value, list), "a list", value, where) or [
            text for i, item in enumerate(value) for text in problems(types, what, item, f"{where}[{i}]")]
    if form == "tuple":
        return wrong(isinstance(value, list) and len(value) == len(what), f"{len(what)} values", value, where) or [
            text for one, item in zip(what, value, strict=True) for text in problems(types, one, item, where)]
    if form == "record":
        return wrong(isinstance(value, dict), "an object", value, where) or [
            text for key, item in value.items() for text in problems(types, what, item, f"{where}.{key}")]
    return wrong(isinstance(value, dict), "an object", value, where) or members_wrong(types, what, value, where)


def members_wrong(types, members, value, where):
    found = [f"{where}.{key} is not in the list" for key in value if key not in members]
    for key, (kind, is_optional) in members.items():
        if key in value:
            found += problems(types, kind, value[key], f"{where}.{key}")
        elif not is_optional:
            found.append(f"{where}.{key} is in the list and not in the reply")
    return found


def wrong(is_so, expected, value, where):
    return [] if is_so else [f"{where} is {json.dumps(value)[:60]}, not {expected}"]


# ---- the list as Python


class Stub:
    """TypedDicts. An object without a name gets that of the member that it is the value of: ReplayReplyCheck."""

    NAMES = {"int": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None", "Json": "Any",
             "ByName": "By", "ColourName": "Colour", "MeasureName": "Measure", "DrawnName": "Drawn", "AxisName": "Axis"}

    def __init__(self, types):
        self.types, self.classes, self.aliases = types, [], []

    def text(self):
        for name, kind in self.types.items():
            if isinstance(kind, Interface):
                self.define(name, kind.members, kind.bases)
            elif name not in self.NAMES:
                self.aliases.append(f"{name}: TypeAlias = {self.name_of(kind, name)}\n")
        return "\n".join(self.classes) + "\n" + "".join(self.aliases)

    def define(self, name, members, bases=()):
        """As a call where a key is no name in Python, which then has to name the members of its bases, too."""
        named = {key: (f"NotRequired[{self.name_of(kind, name + camel(key))}]" if is_optional
                       else self.name_of(kind, name + camel(key))) for key, (kind, is_optional) in members.items()}
        if any(keyword.iskeyword(key) for key in members):
            for base in bases:
                named = {key: self.name_of(kind, base + camel(key)) for key, (kind, _) in members_of(self.types, base).items()} | named
            inner = "".join(f'        "{key}": {kind},\n' for key, kind in named.items())
            self.classes.append(f'{name} = TypedDict(\n    "{name}",\n    {{\n{inner}    }},\n)\n')
            return
        inner = "".join(f"    {key}: {kind}\n" for key, kind in named.items()) or "    pass\n"
        self.classes.append(f"class {name}({', '.join(bases) or 'TypedDict'}):\n{inner}")

    def name_of(self, kind, path):
        form, what = kind
        if form == "name":
            return "Column" if what in ARRAYS else self.NAMES.get(what, what)
        if form == "literal":
            return f"Literal[{json.dumps(what)}]"
        if form == "array":
            return f"list[{self.name_of(what, path)}]"
        if form == "tuple":
            return f"tuple[{', '.join(self.name_of(one, path) for one in what)}]"
        if form == "record":
            return f"dict[str, {self.name_of(what, path)}]"
        if form == "union":
            literals = [json.dumps(value) for one, value in what if one == "literal"]
            objects = [one for one in what if one[0] == "object"]
            rest = [self.name_of(one, path if len(objects) < 2 else path + camel(next(iter(one[1]))) if one[0] == "object" else path)
                    for one in what if one[0] != "literal"]
            return " | ".join([f"Literal[{', '.join(literals)}]"] * bool(literals) + rest)
        self.define(path, what)
        return path


def camel(key):
    return "".join(part.capitalize() for part in key.split("_"))


def python_stub(types):
    return Stub(types).text()
