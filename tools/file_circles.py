"""Which C files of one folder use each other in a circle; tools/check_floors asks for each module.

A file uses another when it names a function or an object that the other defines and that is not static: in a call, in a
table, as a callback. That is read from the text, without a compiler: comments and strings are taken out, macros are expanded
with those of the file and of its headers (so a row VS_METHOD(report) of a .def names vs_method_report), every branch of an
#if counts, and a use of an inline function of the folder's headers is a use of what that function names. A member that has a
function's name (`x.name`, `x->name`) is no use of the function. Not seen: what assembly names (trampolines of names.def), and
aliases.
"""
import re
from functools import cache
from typing import NamedTuple

NOISE = re.compile(r"""^[ \t]*\#[ \t]*include[^\n]*|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
                   re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*([^\n]*)", re.MULTILINE)
SPACE = re.compile(r"\s*")
BRACKET = re.compile(r"[(){}\[\],]")
DEFINE = re.compile(r"(\w+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
NAME = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!union )(?<!enum )[A-Za-z_]\w*")
INLINE = re.compile(r"^(?:VS_\w+ )?static inline [^;{(]*?(\w+)\([^;{]*\)\s*\{(?:([^\n]*)\}$|(.*?)^\})",
                    re.DOTALL | re.MULTILINE)

# In code whose brackets are folded: \x01 stands for ( ), \x02 for { }.
ATTRIBUTE = re.compile(r"\b__attribute__\s*\x01")
HIDDEN = re.compile(r"\b(?:static|typedef|extern)\b|^\s*(?:struct|union|enum)\s*$")
FUNCTION = re.compile(r"(\w+)\s*\x01\s*\x02$")
OBJECT = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?;$", re.DOTALL)


class Macro:
    """A macro's parameters (None: it has no brackets) and its body in pieces: names, and what stands between them."""

    def __init__(self, parameters, body):
        self.parameters = parameters and [name.strip() for name in parameters.split(",")]
        body = re.sub(r"(?<!#)#\s*\w+", '""', re.sub(r"\s", " ", body))  # #name is a string
        self.pieces = [piece for part in body.split("##") for piece in re.split(r"(\w+)", part.strip())]

    def substitute(self, arguments):
        """The body with the arguments in it. What `##` joins is joined, as all pieces are."""
        values = dict(zip(self.parameters or (), arguments))
        values["__VA_ARGS__"] = ", ".join(arguments[len(values) - ("..." in values):])
        return "".join([values.get(piece, piece) for piece in self.pieces])


class Use(NamedTuple):
    user: str
    line: int
    name: str
    owner: str
    owner_line: int

    def __str__(self):
        return f"{self.user}:{self.line} uses {self.name} ({self.owner}:{self.owner_line})"


def strip_noise(text):
    """The text without comments and strings, as many lines long; where a line goes on in the next one stands a \\v."""
    def blank(found):
        if found[0].lstrip().startswith("#"):
            return found[0]  # an #include keeps its name
        return '""' if found[0][0] == '"' else re.sub(r"[^\n\v]", "", found[0]) or " "
    return NOISE.sub(blank, text.replace("\\\n", "\v"))


def arguments_of(text, start):
    """The arguments in the brackets that open at `start`, and the offset behind them."""
    depth, arguments, begin = 0, [], start + 1
    for found in BRACKET.finditer(text, start):
        depth += (found[0] in "({[") - (found[0] in ")}]")
        if depth == 0 or depth == 1 and found[0] == ",":
            arguments.append(text[begin:found.start()].strip())
            begin = found.end()
        if depth == 0:
            return arguments, begin
    return None, start


def expand(text, macros, within=frozenset()):
    """The text with its macros expanded, as many lines long."""
    if macros.keys().isdisjoint(NAME.findall(text)):
        return text
    parts, done = [], 0
    for found in NAME.finditer(text):
        macro = macros.get(found[0])
        if macro is None or found[0] in within or found.start() < done:
            continue
        arguments, end = [], found.end()
        if macro.parameters is not None:
            bracket = SPACE.match(text, end).end()
            arguments, end = arguments_of(text, bracket) if text.startswith("(", bracket) else (None, end)
            if arguments is None:
                continue
        body = expand(macro.substitute(arguments).replace("\n", " "), macros, within | {found[0]})
        parts += [text[done:found.start()], body, "\n" * text.count("\n", found.start(), end)]
        done = end
    return "".join([*parts, text[done:]])


def fold(code, opening, closing, sign):
    """The code with each outermost pair of brackets as one sign, as many lines long."""
    pair = re.compile(rf"{opening}[^{opening}{closing}]*{closing}")
    while (folded := pair.sub(lambda found: sign + "\n" * found[0].count("\n"), code)) != code:
        code = folded
    return code


def definitions(code):
    """What the code defines: (name, line, whether other files can see it)."""
    code = fold(fold(code, r"\(", r"\)", "\x01"), r"\{", r"\}", "\x02")
    code = ATTRIBUTE.sub("", code)
    at = 0
    for found in re.finditer(r";|\x02(?!\s*[\w;,*=\[])|\x01\s*\x02", code):
        declared = code[at:found.end()]
        name = FUNCTION.search(declared) or "\x01" not in declared.split("=")[0] and OBJECT.search(declared)
        if name and name[1] != "main":
            line = 1 + code.count("\n", 0, at + name.start())
            yield name[1], line, not HIDDEN.search(declared[:name.start()])
        at = found.end()


class Sources:
    """The C files, headers and lists of a tree, each read once."""

    def __init__(self, root):
        self.root = root
        self.text = cache(lambda path: strip_noise(path.read_text(errors="replace")))
        self.inline_text = lambda path: re.sub(r"__attribute__\s*\(\(.*?\)\)\s*", "", self.text(path))
        self.header_macros = cache(lambda path: self.walk(path, {})[1])

    def code(self, path):
        """A C file as a compiler sees it, but with every branch of an #if and without what its headers declare."""
        return self.walk(path, {})[0]

    def walk(self, path, macros):
        """The file's code with macros expanded, and the macros that are known at its end."""
        text, parts, done = self.text(path), [], 0
        for found in DIRECTIVE.finditer(text):
            word, rest = found[1], found[2]
            parts += [text[done:found.start()] if path.suffix == ".h" else expand(text[done:found.start()], macros)]
            done = found.end()
            if word == "define":
                name, parameters, body = DEFINE.match(rest).groups()
                macros[name] = Macro(parameters, body)
            elif word == "undef":
                macros.pop(rest.strip(), None)
            elif word == "include" and (included := self.find(rest)):
                if included.suffix == ".def":
                    parts.append(self.walk(included, macros)[0].replace("\n", " "))
                else:
                    macros.update(self.header_macros(included))
            parts.append("\n" * rest.count("\v"))
        parts.append(text[done:] if path.suffix == ".h" else expand(text[done:], macros))
        return "".join(parts), macros

    def find(self, target):
        name = re.match(r'["<]([^">]+)[">]', target)
        path = name and self.root / ("include" if name[1].startswith("vramscope/") else "src") / name[1]
        return path if path and path.is_file() else None


def uses_of(folder, sources):
    """The uses between the C files of a folder: {user: {owner: the first Use}}."""
    codes = {path.name: sources.code(path) for path in sorted(folder.glob("*.c"))}
    defined = {file: list(definitions(code)) for file, code in codes.items()}
    owners = {name: (file, line) for file in codes for name, line, is_visible in defined[file] if is_visible}
    inlines = {name: NAME.findall(short + long) for header in folder.glob("*.h")
               for name, short, long in INLINE.findall(sources.inline_text(header))}

    def meant(name, seen):
        if name in inlines and name not in seen:
            return [other for inner in inlines[name] for other in meant(inner, seen | {name})]
        return [name] if name in owners else []

    uses = {file: {} for file in codes}
    for user, code in codes.items():
        own = {name for name, _, _ in defined[user]}
        for number, line in enumerate(code.split("\n"), 1):
            for name in (name for word in NAME.findall(line) for name in meant(word, frozenset())):
                owner, owner_line = owners[name]
                if name not in own:
                    uses[user].setdefault(owner, Use(user, number, name, owner, owner_line))
    return uses


def shortest_way(uses, start, goal):
    """The uses that lead from one file to another, or None."""
    ways = {start: []}
    queue = [start]
    for file in queue:
        for owner, use in sorted(uses[file].items()):
            if owner == goal:
                return [*ways[file], use]
            if owner not in ways:
                ways[owner] = [*ways[file], use]
                queue.append(owner)
    return None


def circles(folder, sources):
    """For each set of files that all use each other: (the set, a shortest circle in it as Uses)."""
    uses = uses_of(folder, sources)
    ways = {(a, b): shortest_way(uses, a, b) for a in uses for b in uses}
    left = sorted(uses)
    while left:
        knot = [b for b in left if ways[left[0], b] and ways[b, left[0]]]
        if knot:
            yield knot, min((ways[file, file] for file in knot), key=len)
        left = [file for file in left[1:] if file not in knot]
