"""What `report` answers, as people read it: the dict itself, with a text for terminals and a picture for notebooks.

Nothing is computed here but shares of widths: the figures and sentences are the library's.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vramscope._native import bytes_text

if TYPE_CHECKING:
    from vramscope.query import Snapshot

_OWNERS = 5  # lines of the list of owners
_POINTS = 400  # of the curve in notebooks
_WIDTH, _HEIGHT = 720, 160  # of the picture, in its own units
_COLOURS = ("#4c78a8", "#9aa5b1")  # in use; reserved


class Report(dict[str, Any]):
    """The reply of the method `report` (docs/formats/query.md): a plain dict that prints as text. `json.dumps` and `==`
    see the dict; in a notebook it shows the curve of the trace, too."""

    curves: dict[int, dict[str, Any]]  # by device number: the columns of the method `timeline`, for the picture

    def __init__(self, reply: dict[str, Any], curves: dict[int, dict[str, Any]] | None = None) -> None:
        super().__init__(reply)
        self.curves = curves or {}

    def text(self) -> str:
        """Out-of-memory errors, the peak and its owners, the end, what is unused, what grows, how far to trust it."""
        file = self["file"]
        lines = [f"{file['name']}: {_FORMATS.get(file['format'], file['format'])}"]
        for device in self["devices"]:
            lines.append("")
            if len(self["devices"]) > 1:
                lines.append(f"GPU {device['device']}")
            for what, sentence in _sentences(device):
                lines.append(f"{what:<13}  {sentence}" if what else f"{'':<15}{sentence}")
        return "\n".join(lines)

    __str__ = text

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return "".join([f"<div style='max-width:{_WIDTH + 20}px'>", *map(self._html_of, self["devices"]), "</div>"])

    def _html_of(self, device: dict[str, Any]) -> str:
        title = f"{html.escape(self['file']['name'])}, GPU {device['device']}"
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top;white-space:nowrap'>{html.escape(what)}</th>"
            f"<td style='text-align:left'>{html.escape(sentence)}</td></tr>"
            for what, sentence in _sentences(device)
        )
        return f"<p><b>{title}</b></p>{picture(self.curves.get(device['device']))}<table>{rows}</table>"


_FORMATS = {"pickle": "PyTorch memory snapshot", "json": "PyTorch memory snapshot (JSON)", "vram": "recording"}


def make_report(snapshot: Snapshot, reply: dict[str, Any]) -> Report:
    """The reply with a curve for each device, so that the snapshot itself need not be kept for it."""
    curves = {}
    for device in reply["devices"]:
        number = device["device"]
        curves[number] = snapshot.query("timeline", device=number, points=_POINTS)["columns"]
    return Report(reply, curves)


# ---- sentences


def _sentences(device: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(what, sentence), in the order in which one reads them; "" continues the last one."""
    yield from _ooms(device["ooms"])
    yield from _peak(device["peak"])
    end, holes = device["end"], device["fragmentation"]
    yield ("End", f"{bytes_text(end['reserved_bytes'])} reserved: {bytes_text(end['active_bytes'])} in use, "
                  f"{bytes_text(end['inactive_bytes'])} unused")
    if holes["free_bytes"]:
        yield "Unused", holes["sentence"]
    for row in device["growth"]:
        more = bytes_text(max(0, round(row["bytes_per_step"])))
        yield "Growing", f"{row['label']}: {bytes_text(row['live_bytes'])} by now, {more} each step; {row['sentence']}"
    yield from _trust(device["trust"], device["trace"])


def _ooms(ooms: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    if not ooms:
        return
    oom = ooms[0]
    yield "Out of memory", f"{bytes_text(oom['requested_bytes'])} could not be had (event {oom['event']:,})" + (
        f", and {len(ooms) - 1:,} more times" if len(ooms) > 1 else "")
    free = bytes_text(oom["device_free_bytes"])
    yield "", f"{bytes_text(oom['reserved_bytes'])} were reserved, {free} free on the GPU"
    yield "  why", oom["sentence"]
    if oom["advice"]:
        yield "  try", oom["advice"]


def _peak(peak: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield ("Peak", f"{bytes_text(peak['requested_bytes'])} in use (event {peak['event']:,}); "
                   f"{bytes_text(peak['reserved_bytes'])} reserved")
    for owner in peak["owners"][:_OWNERS]:
        yield "", f"{bytes_text(owner['bytes']):>10}  {owner['share']:6.1%}  {owner['label']}"
    if (others := peak["owner_count"] - _OWNERS) > 0:
        yield "", f"and {others:,} other lines"


def _trust(trust: dict[str, Any], trace: dict[str, Any]) -> Iterator[tuple[str, str]]:
    complete = "complete" if trust["complete"] else "some figures may be off"
    yield "Recording", f"{complete}: {trace['events']:,} events"
    for finding in trust["findings"]:
        yield "", finding["sentence"]


# ---- the picture: reserved and requested bytes over the events


def picture(curve: dict[str, Any] | None) -> str:
    """The columns of a timeline as SVG: each piece as high as its highest event; "" where there are none."""
    if curve is None or not curve["event"]:
        return ""
    requested, reserved = ([value or 0 for value in curve[name]] for name in ("requested_high_bytes", "reserved_high_bytes"))
    top = max(*requested, *reserved, 1)
    shapes = [_area(reserved, top, _COLOURS[1], 0.35), _area(requested, top, _COLOURS[0], 0.9)]
    label = (f"<text x='4' y='12' font-size='11' fill='currentColor'>{bytes_text(top)}; "
             "in use (dark) of reserved (light), over the events</text>")
    return (f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' width='100%' role='img' aria-label='GPU memory over the events, at most "
            f"{bytes_text(top)}' style='max-width:{_WIDTH}px' xmlns='http://www.w3.org/2000/svg'>{''.join(shapes)}{label}</svg>")


def _area(values: list[int], top: int, colour: str, opacity: float) -> str:
    """Steps: each piece of the curve is as high as its highest moment."""
    room = _HEIGHT - 18
    points = [f"M0,{_HEIGHT}"]
    for i, value in enumerate(values):
        y = _HEIGHT - room * value / top
        points.append(f"L{_WIDTH * i / len(values):.1f},{y:.1f}L{_WIDTH * (i + 1) / len(values):.1f},{y:.1f}")
    return f"<path d='{''.join(points)}L{_WIDTH},{_HEIGHT}Z' fill='{colour}' fill-opacity='{opacity}'/>"
