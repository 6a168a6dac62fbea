"""Questions about a snapshot: `open` one, then ask. Every method of the C library is a method here.

    snapshot = vramscope.open("snapshot.pickle")
    snapshot.report()                           # what `vramscope report` says
    snapshot.live(at="peak", by="line", top=5)  # plain dicts and lists
    snapshot.picture(columns=800)["columns"]    # NumPy arrays over the library's own bytes, where NumPy is installed

The methods, their parameters and defaults come from the library itself (its method "methods"), the shapes of the
replies are written in docs/formats/query.md: sizes are bytes, times microseconds, what is not known is None.

Each is also a function of this module that takes the snapshot, or anything that `open` takes, first:
`vramscope.query.live("snapshot.pickle", at="peak")`. A parameter `from` is spelt `from_` in Python.
"""

from __future__ import annotations

import inspect
import json
import operator
import re
from collections.abc import Callable
from typing import Any, Self

from vramscope import _native, errors
from vramscope._intake import Progress, load

__all__ = ["Snapshot", "open"]  # and the methods, below

_SCHEMA = json.loads(str(_native.Engine().request(b'{"method":"methods"}'), "utf-8"))
_METHODS = {method["name"]: method for method in _SCHEMA["methods"]}


class Snapshot:
    """A loaded snapshot. Made by `vramscope.open`; `with` closes it, or `close`, or nothing: it goes with its last
    reference.

    Several threads may ask it; they take turns. Different snapshots have nothing in common."""

    name: str  # as it was given, and as replies quote it

    def __init__(self, engine: _native.Engine, name: str) -> None:
        self._engine: _native.Engine | None = engine
        self.name = name

    def request(self, request: bytes) -> _native.Reply:
        """One request of docs/formats/query.md, as JSON bytes, and the bytes of its reply, where the library wrote
        them: `bytes(reply)`, `memoryview(reply)`, `numpy.frombuffer(reply, ...)`.

        Raises ArgumentError (unknown method or parameter, with "did you mean"; JSON that is none, with the `offset`),
        NotFoundError."""
        if self._engine is None:
            raise errors.NotFoundError(f"{self.name}: it was closed")
        return self._engine.request(request)

    def query(self, method: str, **parameters: Any) -> Any:
        """Asks by name: `snapshot.query("live", at="peak")`. JSON replies come as dicts, those of columns as dicts with
        arrays in `columns`, those of `export` as bytes.

        Raises ArgumentError for unknown methods, parameters and choices, with the nearest known one; NotFoundError for
        a device, an event or a moment that is not in the snapshot."""
        reply = self.request(_request(method, parameters))
        return _READERS[_METHODS[method]["reply"]](reply)

    def close(self) -> None:
        """Gives the memory back; arrays of earlier replies stay valid."""
        self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._engine is None:
            return f"<vramscope.Snapshot {self.name!r}, closed>"
        info = self.query("info", top=1)
        events = sum(device["events"] for device in info["devices"])
        reserved = sum(device["reserved_bytes"] for device in info["devices"])
        count = len(info["devices"])
        return (f"<vramscope.Snapshot {self.name!r}: {count} GPU{'' if count == 1 else 's'}, {events:,} events, "
                f"{_native.bytes_text(reserved)} reserved at the end>")

    def _repr_html_(self) -> str | None:
        return None if self._engine is None else _report(self)._repr_html_()


def open(source: Any, *, name: str | None = None, progress: Progress | None = None) -> Snapshot:
    """Reads a snapshot: a pickle of any age as `torch.cuda.memory._dump_snapshot` writes it, its JSON form, or a
    recording (.vram); also compressed with gzip. Nothing of a pickle is run.

    source: a path, bytes, an open binary file, or the dict of `torch.cuda.memory._snapshot()`. A Snapshot is returned
    as it is.
    name: how replies call it; by default the path.
    progress(bytes_read, total): called now and then, with bytes of the file as it is stored; `total` is None where it is
    unknown, as of a pipe. False cancels (CancelledError).

    Raises FormatError (damaged, or no snapshot; `offset` has the byte), RefusedError (a pickle with more than plain
    data), LimitError, UnsupportedError, FileNotFoundError and other OSErrors, TypeError."""
    if isinstance(source, Snapshot):
        return source
    engine = _native.Engine()
    return Snapshot(engine, load(engine, source, name, progress))


# ---- requests and replies


def _plain(value: Any) -> Any:
    """What JSON does not know: whole numbers of NumPy and the like, and torch.device."""
    if hasattr(value, "type") and hasattr(value, "index") and not callable(value.index):
        return value.index or 0
    return operator.index(value)


def _request(method: str, parameters: dict[str, Any]) -> bytes:
    """The keys of `parameters` are the library's, or those with an underscore behind (from_)."""
    named = {name.removesuffix("_"): value for name, value in parameters.items()}
    return json.dumps({"method": method, "params": named}, default=_plain).encode()


def _read_json(reply: _native.Reply) -> Any:
    return json.loads(str(reply, "utf-8"))


# The types of docs/formats/query.md, "Replies of columns", as NumPy and as memoryview call them.
_TYPES: dict[str, tuple[str, Any]] = {
    "u8": ("<u1", "B"), "u16": ("<u2", "H"), "u32": ("<u4", "I"), "i32": ("<i4", "i"), "u64": ("<u8", "Q"),
    "f64": ("<f8", "d"),
}


def _read_columns(reply: _native.Reply) -> dict[str, Any]:
    """The JSON of the header, with each column as an array that looks at the reply's own bytes: nothing is copied, and
    the reply lives as long as one of them. Read-only. Without NumPy they are memoryviews."""
    view = memoryview(reply)
    header: dict[str, Any] = json.loads(bytes(view[8 : 8 + int.from_bytes(view[4:8], "little")]))
    try:
        import numpy
    except ImportError:
        numpy = None
    for name, column in header["columns"].items():
        array_type, format = _TYPES[column["type"]]
        count, at = column["count"], column["at"]
        if numpy is not None:
            header["columns"][name] = numpy.frombuffer(view, array_type, count, at if count else 0)
        else:
            size = count * memoryview(b"").cast(format).itemsize
            header["columns"][name] = view[at : at + size].cast(format)
    return header


_READERS: dict[str, Callable[[_native.Reply], Any]] = {"json": _read_json, "columns": _read_columns, "bytes": bytes}


# ---- the methods, from the library's own list


_WORDS = {"null": "None", "true": "True", "false": "False"}  # JSON's, as Python says them


def _describe(method: dict[str, Any]) -> str:
    lines = [method["sentence"][0].upper() + method["sentence"][1:] + "."]
    if method["params"]:
        lines.append("")
    for parameter in method["params"]:
        sentence = re.sub(r"\b(null|true|false)\b", lambda word: _WORDS[word[0]], parameter["sentence"])
        lines.append(f"{_python_name(parameter['name'])}: {sentence}.")
        if parameter["choices"]:
            lines.append("    " + ", ".join(repr(choice["name"]) for choice in parameter["choices"]))
    returns = {"json": "a dict", "columns": 'a dict with arrays in "columns"', "bytes": "bytes"}[method["reply"]]
    lines += ["", f'Returns {returns}: docs/formats/query.md, "{method["name"]}".']
    return "\n".join(lines)


def _python_name(name: str) -> str:
    return name + "_" if name == "from" else name


def _signature(method: dict[str, Any], *before: str) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in before]
    needed = [p for p in method["params"] if method["name"] == "export" and p["name"] == "format"]
    for parameter in method["params"]:
        default = inspect.Parameter.empty if parameter in needed else parameter["default"]
        parameters.append(inspect.Parameter(_python_name(parameter["name"]), kind, default=default))
    return inspect.Signature(parameters)


def _make_method(method: dict[str, Any]) -> Callable[..., Any]:
    signature = _signature(method, "self")
    name = method["name"]

    def ask(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        return given.pop("self").query(name, **given)

    return _dress(ask, name, f"Snapshot.{name}", signature, _describe(method))


def _make_function(method: dict[str, Any]) -> Callable[..., Any]:
    name = method["name"]
    before = ["snapshot"] if method["needs_file"] else []
    signature = _signature(method, *before)

    def ask(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        source = given.pop("snapshot", None)
        of = open(source) if method["needs_file"] else Snapshot(_native.Engine(), "")
        return getattr(of, name)(**given)

    text = _describe(method)
    if method["needs_file"]:
        text = text.replace("\n\n", "\n\nsnapshot: a Snapshot, or what `vramscope.open` takes.\n", 1)
    return _dress(ask, name, name, signature, text)


def _dress(
    function: Any, name: str, qualified: str, signature: inspect.Signature, text: str
) -> Callable[..., Any]:
    function.__name__, function.__qualname__, function.__module__ = name, qualified, __name__
    function.__signature__, function.__doc__ = signature, text
    dressed: Callable[..., Any] = function
    return dressed


def _report(self: Snapshot, *arguments: Any, **named: Any) -> Any:
    from vramscope._report import make_report

    return make_report(self, _plain_report(self, *arguments, **named))


_plain_report = _make_method(_METHODS["report"])

for _name, _method in _METHODS.items():
    setattr(Snapshot, _name, _make_method(_method))
    globals()[_name] = _make_function(_method)
    __all__.append(_name)  # noqa: PYI056 (query.pyi names them for type checkers)
_text = _describe(_METHODS["report"]) + "\n\nThe dict prints as text, and in notebooks with a picture."
_dress(_report, "report", "Snapshot.report", _signature(_METHODS["report"], "self"), _text)
setattr(Snapshot, "report", _report)  # noqa: B010 (the stubs have it)
del _name, _method, _text
