"""The reply of `report` as a dict that prints as text, and in a notebook shows a picture.

All figures and sentences come from the library; this module only lays them out.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vramscope._native import bytes_text

if TYPE_CHECKING:
    from vramscope.query import Snapshot

_POINTS = 400  # of the curve in notebooks
_WIDTH, _HEIGHT = 720, 160  # of the picture, in its own units
_COLOURS = ("#4c78a8", "#9aa5b1")  # allocated; reserved


class Report(dict[str, Any]):
    """The reply of the method `report` (docs/formats/query.md): a plain dict that prints as text. `json.dumps` and `==`
    see the dict; in a notebook it shows the curve of the trace, too."""

    curves: dict[int, dict[str, Any]]  # by device number: the columns of the method `timeline`, for the picture

    def __init__(self, reply: dict[str, Any], curves: dict[int, dict[str, Any]] | None = None) -> None:
        super().__init__(reply)
        self.curves = curves or {}

    def text(self) -> str:
        """The report as text: out-of-memory errors, the peak and its owners, the end, cached memory, growth, and whether the
        recording is complete."""
        lines = [f"{self['file']['name']}: {self['file']['title']}", *(text for _, text in _rows(self["lines"]))]
        for device in self["devices"]:
            lines.append("")
            if len(self["devices"]) > 1:
                lines.append(f"GPU {device['device']}")
            lines += [f"{label:<13}  {text}" for label, text in _rows(device["lines"])]
        return "\n".join(lines)

    __str__ = text

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return "".join([f"<div style='max-width:{_WIDTH + 20}px'>", *map(self._html_of, self["devices"]), "</div>"])

    def _html_of(self, device: dict[str, Any]) -> str:
        title = f"{html.escape(self['file']['name'])}, GPU {device['device']}"
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top;white-space:pre'>{html.escape(label)}</th>"
            f"<td style='text-align:left;white-space:pre-wrap'>{html.escape(text)}</td></tr>"
            for label, text in _rows(device["lines"])
        )
        return f"<p><b>{title}</b></p>{picture(self.curves.get(device['device']))}<table>{rows}</table>"


def _rows(lines: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """(label, text) of each line that is not a detail, followed by its rows."""
    for line in lines:
        if not line["detail"]:
            yield "  " * line["depth"] + line["label"], line["text"]
            for row in line["rows"]:
                yield "", f"{row['size']:>10}  {row['percent']:>7}  {'  ' * row['depth']}{row['label']}"


def make_report(snapshot: Snapshot, reply: dict[str, Any]) -> Report:
    """The reply with a curve for each device, so that the report does not need the snapshot any more."""
    curves = {}
    for device in reply["devices"]:
        number = device["device"]
        curves[number] = snapshot.query("timeline", device=number, points=_POINTS)["columns"]
    return Report(reply, curves)


# ---- the picture: reserved and requested bytes over the events


def picture(curve: dict[str, Any] | None) -> str:
    """The columns of a timeline as SVG; "" without events. Each interval of the curve has the height of its highest event."""
    if curve is None or not curve["event"]:
        return ""
    requested, reserved = ([value or 0 for value in curve[name]] for name in ("requested_high_bytes", "reserved_high_bytes"))
    top = max(*requested, *reserved, 1)
    shapes = [_area(reserved, top, _COLOURS[1], 0.35), _area(requested, top, _COLOURS[0], 0.9)]
    drawn = "requested (dark) of reserved (light)" if any(reserved) else "requested"
    label = f"<text x='4' y='12' font-size='11' fill='currentColor'>{bytes_text(top)}; {drawn}, over the events</text>"
    return (f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' width='100%' role='img' aria-label='GPU memory over the events, at most "
            f"{bytes_text(top)}' style='max-width:{_WIDTH}px' xmlns='http://www.w3.org/2000/svg'>{''.join(shapes)}{label}</svg>")


def _area(values: list[int], top: int, colour: str, opacity: float) -> str:
    """A step curve: each interval has the height of its highest moment."""
    room = _HEIGHT - 18
    points = [f"M0,{_HEIGHT}"]
    for i, value in enumerate(values):
        y = _HEIGHT - room * value / top
        points.append(f"L{_WIDTH * i / len(values):.1f},{y:.1f}L{_WIDTH * (i + 1) / len(values):.1f},{y:.1f}")
    return f"<path d='{''.join(points)}L{_WIDTH},{_HEIGHT}Z' fill='{colour}' fill-opacity='{opacity}'/>"
