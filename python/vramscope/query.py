"""Questions about a snapshot: `open` one, then ask. Every method of the C library is a method here.

    snapshot = vramscope.open("snapshot.pickle")
    snapshot.report()                           # what `vramscope report` says
    snapshot.live(at="peak", by="line", top=5)  # plain dicts and lists
    snapshot.picture(columns=800)["columns"]    # NumPy arrays over the library's own bytes, if NumPy is installed

The methods, their parameters and defaults come from the library itself (its method "methods"). docs/formats/query.md
describes the replies: sizes are bytes, times microseconds, unknown values None.

Each method is also a function of this module, whose first argument is the snapshot or anything that `open` accepts:
`vramscope.query.live("snapshot.pickle", at="peak")`. The parameter `from` is spelt `from_` in Python.
"""

from __future__ import annotations

import inspect
import json
import operator
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from vramscope import _native, errors
from vramscope._intake import Progress, load

if TYPE_CHECKING:
    from vramscope._table import Table
    from vramscope._view import ServedView, View

__all__ = ["Snapshot", "open"]  # and the methods, below

_SCHEMA = json.loads(str(_native.Engine().request(b'{"method":"methods"}'), "utf-8"))
_METHODS = {method["name"]: method for method in _SCHEMA["methods"]}


class Snapshot:
    """A loaded snapshot, made by `vramscope.open`. `close` or `with` frees its memory; else that is freed with its last
    reference.

    Several threads may use one snapshot; their requests are answered one after the other. Different snapshots are
    independent."""

    name: str  # as it was given, and as replies quote it

    def __init__(self, engine: _native.Engine, name: str, source: Any = None) -> None:
        self._engine: _native.Engine | None = engine
        self._source = source  # what it was made of, for `view`: a path, bytes or PyTorch's dict; None of a stream
        self.name = name

    def request(self, request: bytes) -> _native.Reply:
        """Sends a request of docs/formats/query.md, as JSON bytes, and returns the reply in the library's own memory: use
        `bytes(reply)`, `memoryview(reply)` or `numpy.frombuffer(reply, ...)`.

        Raises ArgumentError (an unknown method or parameter, with "did you mean"; invalid JSON, with the `offset`),
        NotFoundError."""
        if self._engine is None:
            raise errors.NotFoundError(f"{self.name}: it was closed")
        return self._engine.request(request)

    def query(self, method: str, **parameters: Any) -> Any:
        """Calls a method by name: `snapshot.query("live", at="peak")`. Returns JSON replies as dicts, replies of columns as
        dicts with arrays in `columns`, and exports as bytes.

        Raises ArgumentError for unknown methods, parameters and choices, with the nearest known one; NotFoundError for
        a device, an event or a moment that the snapshot does not have."""
        reply = self.request(_request(method, parameters))
        return _READERS[_METHODS[method]["reply"]](reply)

    def table(self, what: str = "events", **parameters: Any) -> Table:
        """A table for pandas, polars, DuckDB and pyarrow: "events", "allocations" (of the whole trace), "blocks", "segments"
        (of the end), "live" (allocations at a moment) or "owners" (the lines that allocated these). `parameters` are those of
        `export`: `device`, `filter`, and of "live" and "owners" `at`.
        docs/formats/query.md, "export", describes the columns.

        Raises ArgumentError, NotFoundError."""
        from vramscope._table import Table

        return Table(what, self.request(_request("export", {"format": "arrow", "what": what, **parameters})))

    def close(self) -> None:
        """Frees the memory of the snapshot; arrays of earlier replies stay valid."""
        self._engine = self._source = None

    def view(self, *, height: int = 640, inline: bool | None = None, block: bool | None = None) -> View | ServedView | None:
        """Shows it in the viewer, in a notebook's cell or in the browser: `vramscope.view`, which explains the parameters. The
        file that it was opened from is read again."""
        from vramscope._view import view

        return view(self, height=height, inline=inline, block=block)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._engine is None:
            return f"<vramscope.Snapshot {self.name!r}, closed>"
        info = self.query("info", top=1)
        events = sum(device["events"] for device in info["devices"])
        known = [device["reserved_bytes"] for device in info["devices"] if device["reserved_bytes"] is not None]
        count = len(info["devices"])
        end = f", {_native.bytes_text(sum(known))} reserved at the end" if len(known) == count else ""
        return f"<vramscope.Snapshot {self.name!r}: {count} GPU{'' if count == 1 else 's'}, {events:,} events{end}>"

    def _repr_html_(self) -> str | None:
        return None if self._engine is None else _report(self)._repr_html_()


def open(source: Any, *, name: str | None = None, progress: Progress | None = None) -> Snapshot:
    """Reads a snapshot: a pickle of any age as `torch.cuda.memory._dump_snapshot` writes it, its JSON form, a
    recording (.vram), or the account of another program (docs/guide/accounts.md); also compressed with gzip.
    Nothing in a pickle is executed.

    source: a path, bytes, an open binary file, or the dict of `torch.cuda.memory._snapshot()`. A Snapshot is returned
    unchanged.
    name: the name of the file in replies; by default the path.
    progress(bytes_read, total): called from time to time with bytes of the file on disk; `total` is None if it is unknown, as
    for a pipe. If it returns False, reading is cancelled (CancelledError).

    Raises FormatError (damaged, or not a snapshot; `offset` is the byte), RefusedError (a pickle with more than plain
    data), LimitError, UnsupportedError, FileNotFoundError and other OSErrors, TypeError."""
    if isinstance(source, Snapshot):
        return source
    engine = _native.Engine()
    shown = load(engine, source, name, progress)
    return Snapshot(engine, shown, os.path.abspath(source) if isinstance(source, str | os.PathLike) else
                    None if hasattr(source, "read") else source)


# ---- requests and replies


def _plain(value: Any) -> Any:
    """Converts values that JSON does not have: integers of NumPy and similar types, and torch.device."""
    if hasattr(value, "type") and hasattr(value, "index") and not callable(value.index):
        return value.index or 0
    return operator.index(value)


def _request(method: str, parameters: dict[str, Any]) -> bytes:
    """The JSON of a request. Keys of `parameters` may end in an underscore (from_)."""
    named = {name.removesuffix("_"): value for name, value in parameters.items()}
    return json.dumps({"method": method, "params": named}, default=_plain).encode()


def _read_json(reply: _native.Reply) -> Any:
    return json.loads(str(reply, "utf-8"))


# The types of docs/formats/query.md, "Replies of columns": NumPy's name and memoryview's.
_TYPES: dict[str, tuple[str, Any]] = {
    "u8": ("<u1", "B"), "u16": ("<u2", "H"), "u32": ("<u4", "I"), "i32": ("<i4", "i"), "u64": ("<u8", "Q"),
    "f64": ("<f8", "d"),
}


def _read_columns(reply: _native.Reply) -> dict[str, Any]:
    """The JSON header, with each column as a read-only array over the bytes of the reply. Nothing is copied, so the reply lives
    as long as one of the arrays. Without NumPy they are memoryviews."""
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
