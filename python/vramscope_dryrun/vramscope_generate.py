"""transformers' generate() on a GPU that computes nothing: it generates up to max_length.

After each token generate() reads from the GPU whether every sequence has ended, and zeros always mean "no". The host knows
the length, so here only MaxLengthCriteria decides: no sequence ends earlier, by its end-of-sequence token or another
criterion, so the run needs the most memory that it can need. generate() still makes all of its own computations.

Two more decisions are read where no function of Python can be wrapped, as the end of a slice. For those lines the simulation is
told the value that the read gets (vs_simcuda_give):
    assisted generation   how many of the drafted tokens are accepted: all of them
    beam search           the length of the longest sequence: that at the last step

Continuous batching (generate_batch) decides on the host, with the token that it read. Here no token ends a request.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import inspect
import textwrap
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

    Lines = tuple[CodeType, int, int]  # lines of a function, the first and the last

SENTENCE = "generate() of transformers runs to max_length, because no end-of-sequence token is computed"
ASSISTED = "assisted generation of transformers accepts every drafted token, because nothing is computed"
BATCHED = "generate_batch() of transformers runs each request to max_new_tokens, because no end-of-sequence token is computed"


class _State(threading.local):
    depth: int = 0  # how many calls of generate() the thread is in: an assistant's is inside that of its model
    # Of the innermost one:
    is_reached: bool | None = None  # whether it has reached max_length, at its last step; None before its first step
    prompt: int | None = None  # the length at its first step, before the token


def _give() -> Callable[[CodeType | None, int, int, int], None]:
    """The simulated GPU's function that gives a read a value, for the lines of a code object."""
    function = ctypes.CDLL(None).vs_simcuda_give
    function.argtypes = [ctypes.py_object, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    function.restype = None
    clear = ctypes.CDLL(None)["vs_simcuda_give"]
    clear.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    clear.restype = None

    def give(code: CodeType | None, first: int, last: int, value: int) -> None:
        if code is None:
            clear(None, 0, 0, 0)
        else:
            function(code, first, last, value)

    return give


def _lines_of(function: Any, wanted: Callable[[ast.AST], bool]) -> Iterator[Lines]:
    """The lines of the expressions in a function that `wanted` is true for."""
    plain = inspect.unwrap(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    above = plain.__code__.co_firstlineno - 1
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and wanted(node):
            yield plain.__code__, above + node.lineno, above + (node.end_lineno or node.lineno)


def _is_slice_to(end: str) -> Callable[[ast.AST], bool]:
    """x[..., :end]"""

    def wanted(node: ast.AST) -> bool:
        if not isinstance(node, ast.Subscript):
            return False
        slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(part, ast.Slice) and part.upper is not None and ast.unparse(part.upper) == end for part in slices)

    return wanted


def _is_expression(text: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Compare) and ast.unparse(node) == text


def follow(utils: Any, assume: Callable[[str], None], note: Callable[[str, BaseException], None]) -> None:
    """`utils`: the module transformers.generation.utils. `assume` is called with a sentence when what it says begins. `note`
    reports what cannot be followed in this version of transformers, with the reason."""
    state = _State()
    try:
        give: Callable[[CodeType | None, int, int, int], None] | None = _give()
    except AttributeError as error:  # a simulation of another version
        note("values of generate()", error)
        give = None
    _follow_end(utils, assume, state, give)
    if give is None:
        return
    for what, part in (("the length of beam search", _follow_beams), ("the end of assisted generation", _follow_assistant)):
        try:
            part(utils, assume, state, give)
        except Exception as error:
            note(what, error)


def _follow_end(utils: Any, assume: Callable[[str], None], state: _State, give: Any) -> None:
    mixin, criteria = utils.GenerationMixin, utils.MaxLengthCriteria
    generate, has_unfinished, call = mixin.generate, mixin._has_unfinished_sequences, criteria.__call__
    marker = (lambda: None).__code__  # no read comes from it

    @functools.wraps(call)
    def _call(self: Any, input_ids: Any, *args: Any, **kwargs: Any) -> Any:
        state.is_reached = input_ids.shape[1] >= self.max_length
        if state.prompt is None:
            state.prompt = input_ids.shape[1] - 1
        return call(self, input_ids, *args, **kwargs)

    @functools.wraps(has_unfinished)
    def _has_unfinished_sequences(self: Any, this_peer_finished: Any, synced_gpus: bool, *args: Any, **kwargs: Any) -> bool:
        read: bool = has_unfinished(self, this_peer_finished, synced_gpus, *args, **kwargs)
        reached, state.is_reached = state.is_reached, None
        if reached is not None:
            return not reached
        return True if synced_gpus else read  # before the first step other ranks have not ended either

    @functools.wraps(generate)
    def _generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        assume(SENTENCE)
        outer = state.is_reached, state.prompt
        state.is_reached = state.prompt = None
        state.depth += 1
        try:
            if give is not None:  # with a value the thread's loops count as ones that end; this one changes nothing
                give(marker, 0, 0, 0)
            return generate(self, *args, **kwargs)
        finally:
            state.depth -= 1
            state.is_reached, state.prompt = outer
            if give is not None and state.depth == 0:
                give(None, 0, 0, 0)

    criteria.__call__, mixin._has_unfinished_sequences, mixin.generate = _call, _has_unfinished_sequences, _generate


def _follow_beams(utils: Any, assume: Callable[[str], None], state: _State, give: Any) -> None:
    """The results are cut to the length of the longest sequence, which the host knows: that of the last step."""
    mixin, criteria = utils.GenerationMixin, utils.MaxLengthCriteria
    if not hasattr(mixin, "_beam_search"):
        return
    whole = list(_lines_of(mixin._beam_search, _is_slice_to("output_length")))
    generated = list(_lines_of(mixin._beam_search, _is_slice_to("max_generated_length")))
    if not whole or not generated:
        raise LookupError("_beam_search has no slice to output_length and to max_generated_length")
    call = criteria.__call__

    @functools.wraps(call)
    def _call(self: Any, input_ids: Any, *args: Any, **kwargs: Any) -> Any:
        done = call(self, input_ids, *args, **kwargs)
        length = input_ids.shape[1]
        for lines in whole:
            give(*lines, length)
        for lines in generated:
            give(*lines, length - (state.prompt or 0))
        return done

    criteria.__call__ = _call


def _follow_assistant(utils: Any, assume: Callable[[str], None], state: _State, give: Any) -> None:
    """One generation step drafts some tokens, whose number the host knows, and reads how many of them are accepted."""
    mixin = utils.GenerationMixin
    if not hasattr(mixin, "_assisted_decoding"):
        return
    greedy = list(_lines_of(mixin._assisted_decoding, _is_slice_to("n_matches + 1")))
    sampled = list(_lines_of(utils._speculative_sampling, _is_slice_to("n_matches")))
    some = list(_lines_of(utils._speculative_sampling, _is_expression("n_matches > 0")))
    if not greedy or not sampled or not some:
        raise LookupError("_assisted_decoding and _speculative_sampling have no slice to n_matches")
    get_generator = mixin._get_candidate_generator

    def accept(count: int) -> None:
        for lines in greedy:
            give(*lines, count + 1)
        for lines in sampled:
            give(*lines, count)
        for lines in some:
            give(*lines, int(count > 0))

    @functools.wraps(get_generator)
    def _get_candidate_generator(self: Any, *args: Any, **kwargs: Any) -> Any:
        assume(ASSISTED)
        generator = get_generator(self, *args, **kwargs)
        get_candidates = generator.get_candidates

        @functools.wraps(get_candidates)
        def _get_candidates(input_ids: Any, *more: Any, **named: Any) -> Any:
            result = get_candidates(input_ids, *more, **named)
            accept(result[0].shape[1] - input_ids.shape[1])
            return result

        generator.get_candidates = _get_candidates
        return generator

    mixin._get_candidate_generator = _get_candidate_generator


def follow_requests(requests: Any, assume: Callable[[str], None]) -> None:
    """`requests`: the module transformers.generation.continuous_batching.requests."""
    state = requests.RequestState
    after_init = state.__post_init__

    @functools.wraps(after_init)
    def __post_init__(self: Any) -> None:
        after_init(self)
        assume(BATCHED)
        self._eos_token_ids.clear()

    state.__post_init__ = __post_init__


def follow_server(manager: Any, keep_model: Callable[[Any], None]) -> None:
    """`manager`: the module transformers.cli.serving.model_manager. `transformers serve` deletes its models when it ends, so each
    is measured once it is loaded."""
    timed = manager.TimedModel
    init = timed.__init__

    @functools.wraps(init)
    def __init__(self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        keep_model(model)
        init(self, model, *args, **kwargs)

    timed.__init__ = __init__
