"""Frames: what kind each is, what a stack is attributed to, and the folded call tree.

Written from the text of docs/formats/query.md ("frame", "label", "tree"); nothing is shared with the program under test.
A frame is (function, file, line), a stack a tuple of them, innermost first. Behind BORDER stand frames of the forward pass.
"""

import functools
import re
from collections import defaultdict

BEFORE = "allocated before recording"
BACKWARD = "backward pass (no Python stack)"
UNRECORDED = "recorded without stacks"
BORDER = ("backward pass", "", 0)
BACKWARD_OF = "backward pass of "
WHYS = {BEFORE, BACKWARD, UNRECORDED}

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".inl", ".rs", ".S")
BINARIES = (".so", ".o", ".a", ".dll", ".pyd", ".dylib")
NOISE_NAMES = re.compile(
    r"unwind::unwind|CapturedTraceback::gather|gather_with_cpp|__libc_start_main|PyEval_|PyObject_|PyFunction_"
    r"|CachingAllocator|CachingHostAllocator"
)
START_NAMES = re.compile(r"(vs_live_|vs_torch_|__libc_start_).*|_start|(__|__GI___)?clone3?|start_thread|execute_native_thread_routine")
NOISE_FILES = re.compile(
    r"core/boxing|/Register|/Redispatch|pythonrun\.c|Modules/main\.c|Objects/call\.c|Objects/methodobject\.c|pycore_ceval\.h"
    r"|ceval\.c|cpython/abstract\.h"
)
PACKAGES = re.compile(
    r"site-packages|dist-packages|[/\\]torch[/\\]|lib/python3|\\Lib\\|torchinductor_|__torch__"
    r"|[/\\]([a-z2-7]{2})[/\\]c\1[a-z2-7]{49}\.py$"
    r"|^(torch[/\\]|<frozen|<string>|<eval_with_key>|<__)"
)
LIBRARY_SPACES = ("std::", "__gnu_cxx::", "at::", "c10::", "torch::", "caffe2::", "pybind11::", "thrust::", "cub::")


@functools.cache  # the same frames stand in many stacks
def is_python(frame):
    function, file, line = frame
    if any(mark in function for mark in ("::", "(", "+0x")) or function == "??":
        return False
    base = re.split(r"[/\\]", file)[-1]
    is_interpreter = base.startswith("python") and not base.endswith(".py")
    is_program = line <= 0 and "/" in file and "." not in base
    return not is_program and file not in ("", "??") and not file.endswith(SOURCES + BINARIES) and ".so." not in file and not is_interpreter


def line_of(frame):
    """Its line, None where the number is none."""
    return frame[2] if frame[2] > 0 and (is_python(frame) or frame[1].endswith(SOURCES)) else None


@functools.cache
def without_brackets(function):
    """A C++ name without template arguments, arguments and return type."""
    name = function.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"(?<!operator)(?<!operator<)<[^<>]*>", "", name)) != name:
        name = shorter
    return re.split(r"(?<!operator)\(", name)[0].split(" ")[-1]


def node_of(function):
    name = without_brackets(function)
    found = re.fullmatch(r"torch::autograd::(?:\w+::)*(\w+)::apply", name) or re.match(r"torch::autograd::(Engine::\w+)", name)
    return found[1] if found else None


def without_folders(label):
    """Folders in front of a file tell files of one name apart."""
    return re.sub(r"^(backward pass of )?\S*[/\\](?=[^\s/\\]+:\d+( |$))", r"\1", label)


class Frames:
    """Kinds depend on whether there is any Python at all."""

    def __init__(self, stacks, events):
        frames = {frame for stack in stacks for frame in stack}
        self.has_python = any(map(is_python, frames))
        self.was_recorded = events > 0 or bool(frames)
        self.kind = functools.cache(self.kind)

    def kind(self, frame):
        function, file, _ = frame
        if frame == BORDER:
            return "backward"
        python = is_python(frame)
        is_freeing = not python and ("::~" in function.split("(")[0] or "c10::intrusive_ptr<" in function.split("(")[0])
        if is_freeing or NOISE_NAMES.search(function) or (not python and (START_NAMES.fullmatch(function) or NOISE_FILES.search(file))):
            return "noise"
        if python:
            return "library" if PACKAGES.search(file) else "user"
        if node_of(function):
            return "backward"
        is_foreign = without_brackets(function).startswith(LIBRARY_SPACES) or file.startswith(("/usr/", "../sysdeps/", "../csu/", "./nptl/", "./stdlib/"))
        is_own = line_of(frame) and not self.has_python and not is_foreign and not PACKAGES.search(file)
        return "user" if is_own else "native"

    def first(self, stack, *ranks):
        """The innermost frame of the first of these kinds that there is; a kind may be several."""
        for kinds in ranks:
            for frame in stack:
                if self.kind(frame) in kinds:
                    return frame
        return None

    def owner(self, stack):
        return self.first(stack, ("user",), ("library",), ("backward",), ("native",))

    def label(self, frame):
        """In words, with the last part of the file's path only."""
        function, file, _ = frame
        if frame == BORDER:
            return function
        if self.kind(frame) == "backward":
            return f"backward pass, {node_of(function)}"
        name = function if is_python(frame) else without_brackets(function) or function
        base = re.split(r"[/\\]", file)[-1]
        line = line_of(frame)
        return (f"{base}:{line} {name}" if name else f"{base}:{line}") if line else name or base or "??"

    def owner_place(self, stack):
        """The index of the owner in the recorded stack; None if it is not in it."""
        recorded = stack[: stack.index(BORDER)] if BORDER in stack else stack
        owner = self.owner(stack)
        return recorded.index(owner) if owner in recorded else None

    def owner_label(self, stack):
        if stack[0][0] in WHYS:
            return stack[0][0]
        owner = self.owner(stack)
        is_forward = owner is not None and owner != BORDER and self.owner_place(stack) is None
        return UNRECORDED if owner is None else (BACKWARD_OF if is_forward else "") + self.label(owner)

    def innermost(self, stack):
        return self.first(stack, ("user", "library"), ("backward",), ("native",))

    def innermost_place(self, stack):
        """The label of the innermost line, and what tells it from lines with the same label."""
        if stack[0][0] in WHYS:
            return stack[0][0], None
        found = self.innermost(stack)
        if found is None:
            return UNRECORDED, None
        recorded = stack[: stack.index(BORDER)] if BORDER in stack else stack
        is_forward = found != BORDER and found not in recorded
        by_line = line_of(found) is not None and self.kind(found) != "backward"
        return (BACKWARD_OF if is_forward else "") + self.label(found), found[1] if by_line else found[0]

    def why(self, stack, is_older):
        """The label of what has no owner. `stack` is None where none was recorded."""
        if is_older and not stack and self.was_recorded:
            return BEFORE
        return BACKWARD if stack == () and self.has_python else UNRECORDED

    def shown(self, stack, frames):
        """What is left of a stack in a tree; `frames` is the parameter."""
        end = self.innermost(stack)
        kinds = {"calls": ("user",), "python": ("user", "library")}.get(frames)
        if kinds is None:
            return list(stack)
        place = stack.index(end) if end is not None else None
        return [frame for i, frame in enumerate(stack) if i == place or frame == BORDER or self.kind(frame) in kinds]

    def tree(self, live, frames, inverted):
        """{path: [bytes, count]} of [(address, size, stack)]; a path begins at the root and has (function, file, line)."""
        sums = defaultdict(lambda: [0, 0], {(): [0, 0]})
        for _, size, stack in live:
            shown = self.shown(stack, frames) or [(UNRECORDED, "", 0)]
            path = [(f, file, line_of((f, file, line))) for f, file, line in (shown if inverted else reversed(shown))]
            for depth in range(len(path) + 1):
                sums[tuple(path[:depth])][0] += size
                sums[tuple(path[:depth])][1] += 1
        return dict(sums)
