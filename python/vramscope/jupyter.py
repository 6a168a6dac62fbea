"""In notebooks: `%load_ext vramscope`.

    %vramscope                     shows the GPUs with their used, total and free memory
    %%vramscope [OPTION]...        runs the cell, then reports its memory: peak and remaining bytes, the curve, the owners

        --device N      the GPU to report on (default: the current one)
        --top N         show at most N owners (default: 5)
        --leaks         the owners of memory that the cell did not free, instead of the owners of the peak
        --no-picture    only the numbers
        --save FILE     write PyTorch's memory snapshot of the cell to FILE

The result is also the variable `_vramscope` of the notebook: its figures as numbers, and its opened snapshot. Terminals get
text.
"""

from __future__ import annotations

import argparse
import html
import shlex
from typing import TYPE_CHECKING, Any

from vramscope._report import picture
from vramscope._sizes import bytes_text
from vramscope._watch import Watch, device_text, owners_text, why_not

if TYPE_CHECKING:
    from vramscope.query import Snapshot

__all__ = ["CellMemory", "load_ipython_extension"]


class CellMemory:
    """The GPU memory of one cell. Bytes: `peak_bytes` is its peak above `start_bytes`, `left_bytes` the bytes that it allocated
    and did not free (negative: it freed more than it allocated)."""

    def __init__(self, watch: Watch, device: int | None, leaks: bool, top: int, picture: bool):
        figures = watch.figures("allocated", device)
        self.device: int = watch.number(device)
        self.name: str = device_text(self.device)
        self.start_bytes: int = figures.start
        self.peak_bytes: int = figures.peak - figures.start
        self.left_bytes: int = figures.used
        self.note: str = watch.note("allocated", device)
        self.of: str = "left" if leaks else "peak"
        self.owners: dict[str, Any] | None = watch.owners(self.of, self.device, top)
        self.snapshot: Snapshot | None = watch.snapshot()  #: `vramscope.open`ed; None where PyTorch keeps no history
        self._curve = _curve(self.snapshot, self.device) if picture and self.snapshot is not None else None

    @property
    def _heading(self) -> str:
        return "Left behind by" if self.of == "left" else "Requested at the peak"

    def __repr__(self) -> str:
        lines = [f"GPU memory of this cell ({self.name})",
                 f"  peak       {bytes_text(self.peak_bytes)} above the {bytes_text(self.start_bytes)} allocated before",
                 f"  left over  {_signed(self.left_bytes)}"]
        lines += [f"  {self.note}"] if self.note else []
        return "\n".join([*lines, self._heading + ":", *owners_text(self.owners)])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td style='text-align:right'>{_escaped(bytes_text(group['bytes']))}</td>"
                       f"<td style='text-align:left'>{_escaped(group['label'])}</td></tr>"
                       for group in (self.owners or {"groups": []})["groups"])
        if not rows:
            rows = "<tr><td style='text-align:left'>" + _escaped(" ".join(owners_text(self.owners)).strip()) + "</td></tr>"
        note = f"<div>{_escaped(self.note)}</div>" if self.note else ""
        return (
            "<div style='font-family:system-ui,sans-serif'>"
            f"<div style='display:flex;gap:2.5em'>{_number('peak', bytes_text(self.peak_bytes))}"
            f"{_number('left over', _signed(self.left_bytes))}</div>"
            f"<div style='opacity:.7'>{_escaped(self.name)}, above the {_escaped(bytes_text(self.start_bytes))} that were "
            f"there before</div>{note}{self._curve or ''}"
            f"<table><thead><tr><th colspan='2' style='text-align:left'>{_escaped(self._heading)}</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )


def _number(what: str, value: str) -> str:
    return (f"<div><div style='font-size:1.6em;font-weight:600'>{_escaped(value)}</div>"
            f"<div style='opacity:.7'>{_escaped(what)}</div></div>")


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)


def _signed(size: int) -> str:
    return ("+" if size > 0 else "-" if size < 0 else "") + bytes_text(abs(size))


def _curve(snapshot: Any, device: int) -> str:
    """Requested bytes over the cell's events, reserved behind them."""
    return picture(snapshot.query("timeline", device=device, axis="event", points=720)["columns"])


# ---- the magics


class _Wrong(Exception):
    """An invalid magic line; the text is printed."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _Wrong(f"%%vramscope: {message}\n{self.format_usage()}")


def _parsed(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%vramscope", add_help=False)
    parser.add_argument("--device", type=int)
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--leaks", action="store_true")
    parser.add_argument("--no-picture", action="store_true")
    parser.add_argument("--save", metavar="FILE")
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise _Wrong(f"%%vramscope: {error}") from error


def _run_cell(shell: Any, line: str, cell: str) -> None:
    options = _parsed(line)
    if (why := why_not()) is not None:
        shell.run_cell(cell)
        print(f"vramscope: GPU memory was not measured: {why}")
        return
    watch = Watch([options.device])
    try:
        with watch:
            result = shell.run_cell(cell)
        if result.error_before_exec is not None:
            return  # it did not run
        memory = CellMemory(watch, options.device, options.leaks, options.top, not options.no_picture)
        if options.save and memory.snapshot is not None:
            with open(options.save, "xb") as file:
                file.write(watch.snapshot_bytes())
    finally:
        watch.close()
    shell.user_ns["_vramscope"] = memory
    from IPython.display import display

    display(memory)


def _show_devices(line: str) -> None:
    if line.strip():
        raise _Wrong(f"%vramscope takes no arguments ({line.strip()!r}); to measure a cell, use %%vramscope")
    from vramscope import devices

    print(devices.text())


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext vramscope`."""

    def vramscope(line: str, cell: str | None = None) -> None:
        """%vramscope shows GPUs; %%vramscope [--device N] [--top N] [--leaks] [--no-picture] [--save FILE] measures a cell."""
        try:
            if cell is None:
                _show_devices(line)
            else:
                _run_cell(shell, line, cell)
        except _Wrong as error:
            print(error)

    shell.register_magic_function(vramscope, "line_cell", "vramscope")
