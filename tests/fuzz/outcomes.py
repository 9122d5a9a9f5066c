"""The judge of fuzzed calls: what a call may answer, and what it must never do.

Allowed are a finite, reproducible answer, and an error that was raised on purpose, by this library
or by scikit-learn's checks. Everything else is a finding.
"""

import dataclasses
import hashlib
import linecache
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import sklearn
from scipy import sparse

import kernsemble

ANSWERED, REFUSED = "answered", "refused"
ALLOWED = (ANSWERED, REFUSED)
OURS = str(Path(kernsemble.__file__).parent)
SKLEARN = str(Path(sklearn.__file__).parent)
INPUT_ERRORS = (
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
    MemoryError,
    ImportError,
    FileNotFoundError,
)
HARMFUL_WARNINGS = (RuntimeWarning, DeprecationWarning, FutureWarning, PendingDeprecationWarning)


class TimeLimitError(BaseException):
    """A call that used more processor time than it may; no ``except Exception`` catches it."""


class BrokenStateError(Exception):
    """A failed fit that left neither the last fit nor none."""


@dataclass(frozen=True)
class Call:
    """One fuzzed call.

    Parameters
    ----------
    name : str
        Subject and method.
    function : callable
        Called with the arguments, twice if `repeats`.
    arguments, settings : tuple, dict
        Arguments; arrays among them must not change.
    essence : callable
        Part of the answer that has to be finite and reproducible.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeats: bool = True
    is_finite: bool = True
    essence: Callable[[Any], Any] | None = None

    def run(self) -> tuple[Any, Any]:
        """Return the answer, and the part of it that is judged."""
        answer = self.function(*self.arguments, **self.settings)
        return answer, answer if self.essence is None else self.essence(answer)


Scene = Generator[Call, Any, None]


@dataclass(frozen=True)
class Outcome:
    """What became of a call: a kind, and where and how if it is a finding."""

    call: str
    kind: str
    place: str = ""
    detail: str = ""
    answer: Any = None

    @property
    def is_allowed(self) -> bool:
        return self.kind in ALLOWED


def play(scene: Scene, limit: float) -> Iterator[Outcome]:
    """Run the calls of a scene, which receives the answer of each, or None."""
    answer = None
    while True:
        try:
            call = scene.send(answer)
        except StopIteration:
            return
        outcome = judge(call, limit)
        answer = outcome.answer
        yield outcome


def judge(call: Call, limit: float) -> Outcome:
    """Run a call and return its outcome."""
    before = _fingerprint(_arrays(call))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        caught = _catch_harmful()
        try:
            with time_limit(limit):
                answer, essence = call.run()
        except TimeLimitError as error:
            return Outcome(call.name, "hang", place_of(error.__traceback__), f"{limit} s")
        except Exception as error:
            outcome = _of_error(call, error)
        else:
            outcome = _of_answer(call, answer, essence, limit)
    if caught:
        return Outcome(call.name, "warning", *caught[0])
    if _fingerprint(_arrays(call)) != before:
        return Outcome(call.name, "changed its input", call.name)
    return outcome


def _catch_harmful() -> list[tuple[str, str]]:
    """Return a list that receives the place and the text of each harmful warning from now on."""
    caught: list[tuple[str, str]] = []

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, HARMFUL_WARNINGS):
            text = f"{category.__name__}: {message}"
            caught.append((_innermost(traceback.extract_stack()[:-1]), text))

    warnings.showwarning = show
    return caught


def _of_error(call: Call, error: Exception) -> Outcome:
    place, detail = place_of(error.__traceback__), f"{type(error).__name__}: {error}"
    if isinstance(error, BrokenStateError):
        return Outcome(call.name, "broken state", call.name, str(error))
    if is_deliberate(error):
        return Outcome(call.name, REFUSED, place, detail)
    return Outcome(call.name, "error", place, detail)


def _of_answer(call: Call, answer: Any, essence: Any, limit: float) -> Outcome:
    if call.is_finite and not _is_finite(essence):
        return Outcome(call.name, "not finite", call.name, _brief(essence))
    if call.repeats:
        try:
            with time_limit(limit):
                _, again = call.run()
        except Exception as error:
            place = place_of(error.__traceback__)
            return Outcome(call.name, "not reproducible", place, f"then {error!r}")
        if fingerprint(again) != fingerprint(essence):
            detail = f"{_brief(essence)} then {_brief(again)}"
            return Outcome(call.name, "not reproducible", call.name, detail)
    return Outcome(call.name, ANSWERED, answer=answer)


def is_deliberate(error: Exception) -> bool:
    """Return whether an error was raised on purpose, with a message, by us or by scikit-learn.

    An error that NumPy or pandas raise within a check of scikit-learn counts as scikit-learn's:
    it is what any of its estimators would raise.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [k for k, frame in enumerate(frames) if frame.filename.startswith(OURS)]
    if not str(error).strip() or not isinstance(error, INPUT_ERRORS):
        return False
    last = frames[ours[-1] :] if ours else frames[1:]  # the first frame is the judge
    if any(frame.filename.startswith(SKLEARN) for frame in last):
        return _raises(frames[-1]) or isinstance(error, (ValueError, TypeError, OverflowError))
    return len(last) == 1 and _raises(last[0])


def _raises(frame: traceback.FrameSummary) -> bool:
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return line == "raise" or line.startswith("raise ")


def place_of(trace: TracebackType | None) -> str:
    """Return the innermost line of the library in a traceback, or of all if there is none."""
    return _innermost(traceback.extract_tb(trace))


def _innermost(frames: Sequence[traceback.FrameSummary]) -> str:
    frames = [frame for frame in frames if not frame.filename.endswith("warnings.py")]
    ours = [frame for frame in frames if frame.filename.startswith(OURS)]
    frame = (ours or frames)[-1]
    return f"{_short(frame.filename)}:{frame.lineno} {frame.name}"


def _short(path: str) -> str:
    return "/".join(path.replace(os.sep, "/").split("/")[-3:])


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitError` after a processor time, which other processes do not shorten."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeLimitError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


def _arrays(call: Call) -> list[Any]:
    kinds = (np.ndarray, pd.DataFrame, pd.Series)
    return [each for each in call.arguments if isinstance(each, kinds)]


def _fingerprint(arrays: list[Any]) -> list[str]:
    return [fingerprint(each) for each in arrays]


def fingerprint(answer: Any) -> str:
    """Return a hash of all numbers and texts in an answer."""
    digest = hashlib.blake2b(digest_size=16)
    for leaf in leaves(answer):
        is_plain = isinstance(leaf, np.ndarray) and leaf.dtype.kind != "O"
        digest.update(leaf.tobytes() if is_plain else repr(leaf).encode("utf-8", "replace"))
    return digest.hexdigest()


def _is_finite(answer: Any) -> bool:
    return all(
        bool(np.isfinite(leaf).all())
        for leaf in leaves(answer)
        if (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc") or isinstance(leaf, float)
    )


PLAIN = (type(None), str, bytes, bool, int, float, complex, np.ndarray)
TABLES = (pd.DataFrame, pd.Series, pl.DataFrame, pl.Series)


def leaves(answer: Any, depth: int = 8) -> Iterator[Any]:
    """Yield the arrays, numbers and texts that an answer consists of."""
    if isinstance(answer, PLAIN):
        yield answer
    elif isinstance(answer, (np.generic, *TABLES)):
        yield np.asarray(answer)
    elif sparse.issparse(answer):
        yield answer.toarray()
    else:
        parts = list(_parts(answer)) if depth else []
        yield f"{type(answer).__name__} of {len(parts)}"
        for each in parts:
            yield from leaves(each, depth - 1)


def _parts(answer: Any) -> Iterator[Any]:
    """Yield the items of a container, or the fields of a value."""
    if isinstance(answer, Mapping):
        for key, value in answer.items():
            yield from (repr(key), value)
    elif isinstance(answer, (list, tuple)):
        yield from answer
    elif dataclasses.is_dataclass(answer):
        yield from (getattr(answer, each.name) for each in dataclasses.fields(answer))


def _brief(answer: Any) -> str:
    return " ".join(repr(answer).split())[:200]
