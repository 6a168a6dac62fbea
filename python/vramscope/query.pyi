# Written by tools/make_python_stubs from the list of methods (src/query/methods.def).
from collections.abc import Callable
from typing import Any, Literal

from vramscope._native import Engine, Reply
from vramscope._report import Report

__all__ = [
    "Snapshot",
    "allocation",
    "allocations",
    "blocks",
    "events",
    "export",
    "find",
    "fragmentation",
    "groups",
    "holes",
    "info",
    "live",
    "map",
    "marks",
    "methods",
    "open",
    "pick",
    "picture",
    "replay",
    "report",
    "segments",
    "settings",
    "state",
    "stats",
    "timeline",
    "tree",
]

_By = Literal[
    "stack",
    "line",
    "stream",
    "pool",
    "size",
    "category",
    "annotation",
    "lifetime",
]
_Measure = Literal[
    "live",
    "grown",
    "freed",
    "allocated",
    "average",
]
_Axis = Literal[
    "event",
    "time",
]
_Drawn = Literal[
    "allocations",
    "segments",
]
_Colour = Literal[
    "stack",
    "line",
    "stream",
    "pool",
    "size",
    "category",
    "annotation",
    "lifetime",
    "allocation",
]
_Sort = Literal[
    "size",
    "start",
    "lifetime",
]
_Format = Literal[
    "pickle",
    "json",
    "vram",
    "csv",
    "sql",
    "collapsed",
    "speedscope",
    "pprof",
    "perfetto",
]
_What = Literal[
    "events",
    "blocks",
    "segments",
    "live",
]

class Snapshot:
    name: str
    def __init__(self, engine: Engine, name: str) -> None: ...
    def request(self, request: bytes) -> Reply: ...
    def query(self, method: str, **parameters: Any) -> Any: ...
    def close(self) -> None: ...
    def __enter__(self) -> Snapshot: ...
    def __exit__(self, *exception: object) -> None: ...
    def _repr_html_(self) -> str | None: ...
    def report(self, device: int | str | None = None, top: int = 10, frames: int = 0) -> Report: ...
    def stats(self, device: int | str | None = None) -> dict[str, Any]: ...
    def live(
        self,
        device: int | str | None = None,
        at: int | str | None = "peak",
        by: _By = "line",
        top: int = 20,
        frames: int = 0,
        filter: str = "",
        since: int | str | None = None,
        measure: _Measure = "live",
    ) -> dict[str, Any]: ...
    def tree(
        self,
        device: int | str | None = None,
        at: int | str | None = "peak",
        top: int = 200,
        inverted: bool = False,
        filter: str = "",
        since: int | str | None = None,
        measure: _Measure = "live",
    ) -> dict[str, Any]: ...
    def blocks(
        self,
        device: int | str | None = None,
        at: int | str | None = "end",
        top: int = 100,
        offset: int = 0,
        frames: int = 0,
        filter: str = "",
    ) -> dict[str, Any]: ...
    def events(
        self,
        device: int | str | None = None,
        from_: int | str | None = "start",
        to: int | str | None = "end",
        top: int = 100,
        offset: int = 0,
        frames: int = 0,
        filter: str = "",
        folded: bool = False,
    ) -> dict[str, Any]: ...
    def find(
        self,
        device: int | str | None = None,
        event: int | str | None = "start",
        backwards: bool = False,
        filter: str = "",
        folded: bool = False,
    ) -> dict[str, Any]: ...
    def segments(
        self,
        device: int | str | None = None,
        top: int = 100,
        offset: int = 0,
        frames: int = 0,
        filter: str = "",
    ) -> dict[str, Any]: ...
    def state(
        self,
        device: int | str | None = None,
        at: int | str | None = "end",
        frames: int = 0,
    ) -> dict[str, Any]: ...
    def timeline(
        self,
        device: int | str | None = None,
        from_: int | str | None = "start",
        to: int | str | None = "end",
        axis: _Axis = "event",
        points: int = 1000,
    ) -> dict[str, Any]: ...
    def marks(self, device: int | str | None = None, top: int = 1000) -> dict[str, Any]: ...
    def picture(
        self,
        device: int | str | None = None,
        what: _Drawn = "allocations",
        axis: _Axis = "event",
        x0: float | None = None,
        x1: float | None = None,
        y0: float | None = 0,
        y1: float | None = None,
        columns: int = 1000,
        rows: int = 400,
        by: _Colour = "line",
        filter: str = "",
        mark: str = "",
    ) -> dict[str, Any]: ...
    def groups(
        self,
        device: int | str | None = None,
        what: _Drawn = "allocations",
        by: _Colour = "line",
        top: int = 19,
        filter: str = "",
    ) -> dict[str, Any]: ...
    def pick(
        self,
        device: int | str | None = None,
        what: _Drawn = "allocations",
        at: int | str | None = "peak",
        y0: float | None = 0,
        y1: float | None = None,
        top: int = 5,
        filter: str = "",
    ) -> dict[str, Any]: ...
    def allocation(
        self,
        device: int | str | None = None,
        what: _Drawn = "allocations",
        row: int = 0,
        at: int | str | None = None,
        frames: int = 0,
    ) -> dict[str, Any]: ...
    def allocations(
        self,
        device: int | str | None = None,
        what: _Drawn = "allocations",
        at: int | str | None = None,
        sort: _Sort = "size",
        top: int = 100,
        offset: int = 0,
        frames: int = 1,
        filter: str = "",
    ) -> dict[str, Any]: ...
    def map(
        self,
        device: int | str | None = None,
        at: int | str | None = "end",
        by: _Colour = "line",
    ) -> dict[str, Any]: ...
    def holes(
        self,
        device: int | str | None = None,
        axis: _Axis = "event",
        x0: float | None = None,
        x1: float | None = None,
        points: int = 200,
    ) -> dict[str, Any]: ...
    def fragmentation(
        self,
        device: int | str | None = None,
        at: int | str | None = "end",
        top: int = 10,
    ) -> dict[str, Any]: ...
    def replay(
        self,
        device: int | str | None = None,
        settings: str | None = None,
        card: int = 0,
        top: int = 10,
    ) -> dict[str, Any]: ...
    def export(
        self,
        format: _Format,
        device: int | str | None = None,
        at: int | str | None = "peak",
        what: _What = "events",
        filter: str = "",
    ) -> bytes: ...
    def info(self, top: int = 100) -> dict[str, Any]: ...
    def settings(self, settings: str | None = None) -> dict[str, Any]: ...
    def methods(self) -> dict[str, Any]: ...

def open(
    source: Any, *, name: str | None = None, progress: Callable[[int, int | None], bool | None] | None = None
) -> Snapshot: ...
def report(snapshot: Any, device: int | str | None = None, top: int = 10, frames: int = 0) -> Report: ...
def stats(snapshot: Any, device: int | str | None = None) -> dict[str, Any]: ...
def live(
    snapshot: Any,
    device: int | str | None = None,
    at: int | str | None = "peak",
    by: _By = "line",
    top: int = 20,
    frames: int = 0,
    filter: str = "",
    since: int | str | None = None,
    measure: _Measure = "live",
) -> dict[str, Any]: ...
def tree(
    snapshot: Any,
    device: int | str | None = None,
    at: int | str | None = "peak",
    top: int = 200,
    inverted: bool = False,
    filter: str = "",
    since: int | str | None = None,
    measure: _Measure = "live",
) -> dict[str, Any]: ...
def blocks(
    snapshot: Any,
    device: int | str | None = None,
    at: int | str | None = "end",
    top: int = 100,
    offset: int = 0,
    frames: int = 0,
    filter: str = "",
) -> dict[str, Any]: ...
def events(
    snapshot: Any,
    device: int | str | None = None,
    from_: int | str | None = "start",
    to: int | str | None = "end",
    top: int = 100,
    offset: int = 0,
    frames: int = 0,
    filter: str = "",
    folded: bool = False,
) -> dict[str, Any]: ...
def find(
    snapshot: Any,
    device: int | str | None = None,
    event: int | str | None = "start",
    backwards: bool = False,
    filter: str = "",
    folded: bool = False,
) -> dict[str, Any]: ...
def segments(
    snapshot: Any,
    device: int | str | None = None,
    top: int = 100,
    offset: int = 0,
    frames: int = 0,
    filter: str = "",
) -> dict[str, Any]: ...
def state(
    snapshot: Any,
    device: int | str | None = None,
    at: int | str | None = "end",
    frames: int = 0,
) -> dict[str, Any]: ...
def timeline(
    snapshot: Any,
    device: int | str | None = None,
    from_: int | str | None = "start",
    to: int | str | None = "end",
    axis: _Axis = "event",
    points: int = 1000,
) -> dict[str, Any]: ...
def marks(snapshot: Any, device: int | str | None = None, top: int = 1000) -> dict[str, Any]: ...
def picture(
    snapshot: Any,
    device: int | str | None = None,
    what: _Drawn = "allocations",
    axis: _Axis = "event",
    x0: float | None = None,
    x1: float | None = None,
    y0: float | None = 0,
    y1: float | None = None,
    columns: int = 1000,
    rows: int = 400,
    by: _Colour = "line",
    filter: str = "",
    mark: str = "",
) -> dict[str, Any]: ...
def groups(
    snapshot: Any,
    device: int | str | None = None,
    what: _Drawn = "allocations",
    by: _Colour = "line",
    top: int = 19,
    filter: str = "",
) -> dict[str, Any]: ...
def pick(
    snapshot: Any,
    device: int | str | None = None,
    what: _Drawn = "allocations",
    at: int | str | None = "peak",
    y0: float | None = 0,
    y1: float | None = None,
    top: int = 5,
    filter: str = "",
) -> dict[str, Any]: ...
def allocation(
    snapshot: Any,
    device: int | str | None = None,
    what: _Drawn = "allocations",
    row: int = 0,
    at: int | str | None = None,
    frames: int = 0,
) -> dict[str, Any]: ...
def allocations(
    snapshot: Any,
    device: int | str | None = None,
    what: _Drawn = "allocations",
    at: int | str | None = None,
    sort: _Sort = "size",
    top: int = 100,
    offset: int = 0,
    frames: int = 1,
    filter: str = "",
) -> dict[str, Any]: ...
def map(
    snapshot: Any,
    device: int | str | None = None,
    at: int | str | None = "end",
    by: _Colour = "line",
) -> dict[str, Any]: ...
def holes(
    snapshot: Any,
    device: int | str | None = None,
    axis: _Axis = "event",
    x0: float | None = None,
    x1: float | None = None,
    points: int = 200,
) -> dict[str, Any]: ...
def fragmentation(
    snapshot: Any,
    device: int | str | None = None,
    at: int | str | None = "end",
    top: int = 10,
) -> dict[str, Any]: ...
def replay(
    snapshot: Any,
    device: int | str | None = None,
    settings: str | None = None,
    card: int = 0,
    top: int = 10,
) -> dict[str, Any]: ...
def export(
    snapshot: Any,
    format: _Format,
    device: int | str | None = None,
    at: int | str | None = "peak",
    what: _What = "events",
    filter: str = "",
) -> bytes: ...
def info(snapshot: Any, top: int = 100) -> dict[str, Any]: ...
def settings(settings: str | None = None) -> dict[str, Any]: ...
def methods() -> dict[str, Any]: ...
