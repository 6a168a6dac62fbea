"""The viewer from Python: in a notebook's cell, or in the browser. The command `vramscope view` makes the page and serves it."""

from __future__ import annotations

import atexit
import base64
import html
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from vramscope._command import binary
from vramscope._sizes import bytes_text
from vramscope.errors import Error
from vramscope.query import Snapshot

__all__ = ["ServedView", "View", "view"]

_MOST_PAGE_BYTES = 8 << 20  # a notebook stores the page, a third larger, with the cell, and sends it with every save
_MOST_FILE_BYTES = 256 << 20  # a larger file is not compressed to see what remains of it
# Scripts without the notebook's origin: the page cannot see the notebook, its cookies or its kernel.
_SANDBOX = "allow-scripts allow-downloads"
# Runs the server until it, or the process that holds the other end of the pipe, ends: also if that is killed.
_KEEPER = '"$@" & read -r _; kill $!; wait'


class View:
    """The viewer with a file inside, as `view` returns it in a notebook: it shows itself as the value of a cell, or by
    `IPython.display.display`. `html` is its page, for a program that shows HTML by itself."""

    def __init__(self, name: str, page: bytes, height: int) -> None:
        self.name = name
        self.height = height
        self._page = page

    @property
    def html(self) -> str:
        """The page: one HTML file with the engine and the data, as `vramscope view --html` writes it."""
        return self._page.decode()

    def __repr__(self) -> str:
        return f"<vramscope.View of {self.name!r}: a page of {bytes_text(len(self._page))}>"

    def _repr_html_(self) -> str:
        address = "data:text/html;base64," + base64.b64encode(self._page).decode()
        return (f'<iframe title="{html.escape(f"vramscope: {self.name}")}" sandbox="{_SANDBOX}" src="{address}" '
                f'style="width:100%;height:{self.height}px;border:0"></iframe>')


class ServedView:
    """A local server of the viewer, as `view` returns it in place of a large page, and in an interactive interpreter. It ends
    with `close`, at the end of a `with` block, or with this process."""

    def __init__(self, file: _File, why: str, *, is_opened: bool) -> None:
        self.name: str = file.name
        self.why = why  #: a sentence why it is served and not in the cell; "" outside of notebooks
        self._file = file
        file.keep()
        command = [str(binary()), "view", "-q", *(["--open"] if is_opened else []), "--", file.path]
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "vramscope", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True)
        assert self._process.stdout is not None
        #: what to open in a browser on this machine; only someone with the address can open it
        self.address: str = self._process.stdout.readline().decode().strip()
        atexit.register(self.close)
        if not self.address:
            self.close()
            raise Error(f"{self.name}: the local server did not start")

    def close(self) -> None:
        """Ends the server."""
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(self.close)
            process.communicate()  # the end of the pipe ends it
            self._file.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _state(self) -> str:
        return self.address if self._process is not None else "closed"

    def __repr__(self) -> str:
        return f"<vramscope.ServedView of {self.name!r}: {self._state()}>" + (f"\n{self.why}" if self.why else "")

    def _repr_html_(self) -> str:
        port = self.address.split(":")[-1].split("/")[0]
        link = f'<a href="{html.escape(self.address)}" target="_blank" rel="noopener noreferrer">{html.escape(self.address)}</a>'
        shown = "The server has ended."
        if self._process is not None:
            shown = (f"Open {link} in a browser on the machine of this kernel, or after "
                     f"<code>ssh -N -L {port}:127.0.0.1:{port}</code> to it. The server ends with the kernel.")
        return f"<div>{html.escape(self.why)}</div><div>{shown}</div>"


def view(source: Any, *, height: int = 640, inline: bool | None = None, block: bool | None = None) -> View | ServedView | None:
    """Shows a snapshot or recording in the viewer: a timeline of every allocation, the allocator's state at any moment, the
    owners of the memory.

        vramscope.view("snapshot.pickle")

    source   what `vramscope.open` takes: a path, bytes, an open file, the dict of `torch.cuda.memory._snapshot()`, or a Snapshot
    height   of the cell's frame, in pixels
    inline   True: in the notebook's cell; False: in the browser; None: in the cell if this is a notebook
    block    in the browser: True waits until Ctrl-C and returns None, as `vramscope view` does; False returns a ServedView, whose
             server runs until it is closed; None: True in a script, False in an interactive interpreter

    In a notebook (Jupyter, VS Code, Colab) it returns a View, which shows itself as the value of the cell. The page has the data
    and the engine in it and needs no server; it is in a frame that cannot see the notebook. The output of the cell, and with it
    the notebook's file, contains the page: 0.5 MB and the data, compressed. If the page has more than 8 MiB, a ServedView is
    returned, which shows the address of a local server and says why.

    Outside of a notebook it starts that server and opens the browser.

    Raises vramscope.Error with the command's sentence if the file cannot be read or a page cannot show it, FileNotFoundError and
    other OSErrors, and TypeError for a source of another type.
    """
    if inline is None:
        inline = _is_notebook()
    if block is None:
        block = not hasattr(sys, "ps1") and _shell() is None
    file = _File(source)
    try:
        if inline:
            why, page = _page_of(file)
            return View(file.name, page, int(height)) if page is not None else ServedView(file, why, is_opened=False)
        if block:
            _serve(file.path)
            return None
        served = ServedView(file, "", is_opened=True)
        print(f"{file.name}: {served.address}")
        return served
    finally:
        file.release()


# ---- where


def _shell() -> Any:
    """IPython's shell, if this process has one."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _is_notebook() -> bool:
    """Whether the front end of this process shows HTML: IPython runs in a kernel."""
    return getattr(_shell(), "kernel", None) is not None


# ---- the file


class _File:
    """A source as a file. What is only in memory is written into a temporary folder, until the last `release`."""

    def __init__(self, source: Any) -> None:
        name = None
        if isinstance(source, Snapshot):
            name = source.name
            source = source._source
            if source is None:
                raise Error(f"{name}: it is closed, or was read from an open file: give vramscope.view the file's path")
        self._users = 1
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(source, str | os.PathLike):
            self.path: str = os.path.abspath(os.fsdecode(source))
            self.name: str = os.fsdecode(source)
            os.stat(self.path)  # FileNotFoundError
            return
        self.name = name or str(getattr(source, "name", "snapshot"))
        data = _bytes_of(source)
        self._folder = tempfile.TemporaryDirectory(prefix="vramscope-")
        self.path = os.path.join(self._folder.name, _file_name(self.name))
        Path(self.path).write_bytes(data)

    def keep(self) -> None:
        self._users += 1

    def release(self) -> None:
        self._users -= 1
        if self._users == 0 and self._folder is not None:
            self._folder.cleanup()


def _file_name(name: str) -> str:
    """The name of a file that is as much like `name` as a file's can be; the page shows it."""
    last = name.replace("\0", "").rsplit("/", 1)[-1].encode(errors="replace")[:200].decode(errors="ignore")
    return last if last not in ("", ".", "..") else "snapshot"


def _bytes_of(source: Any) -> bytes:
    if isinstance(source, Mapping | list):
        return pickle.dumps(source, protocol=4)
    if hasattr(source, "read"):
        return bytes(source.read())
    try:
        return bytes(memoryview(source))
    except TypeError:
        raise TypeError(f"a snapshot is a path, bytes, an open file or torch's dict, not {type(source).__name__}") from None


# ---- the command


def _page_of(file: _File) -> tuple[str, bytes | None]:
    """("", the page), or (why it is too large for a cell, None)."""
    size = os.stat(file.path).st_size
    if size > _MOST_FILE_BYTES:
        return f"{file.name} has {bytes_text(size)}, which is too large for a cell.", None
    done = subprocess.run([str(binary()), "view", "-q", "--html", "-", "--", file.path], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True)
    if done.returncode != 0:
        sentence = done.stderr.decode(errors="replace").strip().removeprefix("vramscope: ")
        raise Error(sentence.replace(file.path, file.name))
    if len(done.stdout) > _MOST_PAGE_BYTES:
        return (f"The page of {file.name} has {bytes_text(len(done.stdout))}; a cell takes up to "
                f"{bytes_text(_MOST_PAGE_BYTES)}."), None
    return "", done.stdout


def _serve(path: str) -> None:
    """The command as it is, until Ctrl-C, which ends it and not this program."""
    command = [str(binary()), "view", "--open", "--", path]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.wait()
