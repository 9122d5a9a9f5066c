"""A data set in blocks of rows, which estimators read twice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from kernsemble._arguments import check_count
from kernsemble._suggestions import suggest
from kernsemble.exceptions import ArgumentError

if TYPE_CHECKING:
    import polars as pl

BLOCK_ROWS = 250_000  # rows of a block: 5 million entries of 20 columns

Paths: TypeAlias = str | Path | Sequence[str | Path]


class Block(NamedTuple):
    """Some rows: features, targets, and weights unless they are equal."""

    X: Any
    y: Any
    sample_weight: Any = None


class Blocks:
    """A data set that is read in blocks of rows, as often as needed.

    Pass it to `fit` in place of `X` and `y`: the rows are read twice, and only one byte per entry
    and the state of the solver stay in memory. Estimators need a kernel on columns (stumps,
    categories) and the additive solver; ``solver="local"`` works too, and keeps all rows.

    Parameters
    ----------
    read : callable or sequence
        ``read()`` returns an iterator of the blocks from the start: pairs ``(X, y)`` or triples
        ``(X, y, sample_weight)``, where X is an array, or a pandas or polars table with the same
        columns in every block. A sequence of such blocks works too, an iterator that can be used
        only once does not.
    n_rows : int, optional
        Number of rows, for progress.

    Attributes
    ----------
    on_rows : callable or None
        Called as ``on_rows(n)`` after every block that is read, with its number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.streaming import Blocks
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> def read():
    ...     for seed in range(5):
    ...         X = np.random.default_rng(seed).normal(size=(1000, 3))
    ...         yield X, X[:, 0] + X[:, 1] ** 2 > 1.0
    >>> machine = InfiniteEnsembleClassifier(loss="logistic").fit(Blocks(read))
    >>> X, y = next(read())
    >>> machine.score(X, y)
    0.997

    From files larger than memory (the folder and its column are yours)::

        data = Blocks.from_parquet("data/*.parquet", target="price")
        InfiniteEnsembleRegressor(loss="squared").fit(data)
    """

    def __init__(
        self,
        read: Callable[[], Iterable[Any]] | Sequence[Any],
        n_rows: int | None = None,
    ) -> None:
        if not callable(read) and (isinstance(read, Iterator) or not hasattr(read, "__len__")):
            raise ArgumentError(
                "read", read, "use a function that returns a new iterator, as rows are read twice"
            )
        self._read, self.n_rows = read, n_rows
        self.on_rows: Callable[[int], None] | None = None

    def __len__(self) -> int:
        if self.n_rows is None:
            raise TypeError("the number of rows is not known before they are read")
        return self.n_rows

    def __repr__(self) -> str:
        return f"Blocks({'rows not counted' if self.n_rows is None else f'{self.n_rows:,} rows'})"

    def __iter__(self) -> Iterator[Block]:
        found = self._read() if callable(self._read) else self._read
        if not isinstance(found, Iterable):
            raise ArgumentError("read()", found, "return an iterator of blocks")
        for number, each in enumerate(found):
            if not isinstance(each, (tuple, list)) or not 2 <= len(each) <= 3:
                raise ValueError(
                    f"block {number} is a {type(each).__name__}: yield pairs (X, y) or triples "
                    "(X, y, sample_weight)"
                )
            block = Block(*each)
            yield block
            if self.on_rows is not None:
                self.on_rows(len(block.y))

    @classmethod
    def from_parquet(
        cls,
        paths: Paths,
        target: str,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        block_rows: int = BLOCK_ROWS,
    ) -> Self:
        """Return the rows of Parquet files; those without a target are left out.

        Parameters
        ----------
        paths : str, path or list of those
            Files, folders of files, or patterns such as ``"data/*.parquet"``.
        target : str
            Column to predict.
        weight : str, optional
            Column of weights.
        columns : list of str, optional
            Columns to use; by default all others.
        block_rows : int
            Maximum number of rows of a block.
        """
        pl = _import_polars()
        found = files(paths, (".parquet", ".pq"))
        scan = pl.scan_parquet(found, glob=False)
        return cls._from_scan(scan, found, target, weight, columns, block_rows, can_seek=True)

    @classmethod
    def from_csv(
        cls,
        paths: Paths,
        target: str,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        block_rows: int = BLOCK_ROWS,
        **settings: Any,
    ) -> Self:
        """Return the rows of CSV files; those without a target are left out.

        Parameters
        ----------
        paths, target, weight, columns, block_rows
            As for `from_parquet`.
        **settings
            Settings of ``polars.scan_csv``, such as ``separator``, ``null_values`` or
            ``schema_overrides``. By default types are inferred from the first 10,000 rows.
        """
        pl = _import_polars()
        found = files(paths, (".csv", ".tsv", ".txt"))
        settings = {"infer_schema_length": 10_000, "try_parse_dates": True, **settings}
        scan = pl.scan_csv(found, glob=False, **settings)
        return cls._from_scan(scan, found, target, weight, columns, block_rows)

    @classmethod
    def _from_scan(
        cls,
        scan: "pl.LazyFrame",
        paths: Sequence[Path],
        target: str,
        weight: str | None,
        columns: Sequence[str] | None,
        block_rows: int,
        can_seek: bool = False,
    ) -> Self:
        check_count("block_rows", block_rows)
        names = scan.collect_schema().names()
        for name in [target, *([] if weight is None else [weight]), *(columns or ())]:
            if name not in names:
                raise ValueError(f"{paths[0]} has no column {name!r}: {suggest(name, names)}")
        if weight == target:
            raise ArgumentError("weight", weight, "use another column than the target")
        asked = dict.fromkeys(columns or names)  # each once
        chosen = [n for n in asked if n not in {target, weight}]
        if not chosen:
            raise ValueError(f"{paths[0]} has no columns besides the target: add features")
        scan = scan.select([*chosen, target, *([] if weight is None else [weight])])

        def read() -> Iterator[Block]:
            for frame in frames(scan, target, block_rows, can_seek):
                weights = None if weight is None else frame[weight].to_numpy()
                yield Block(frame.select(chosen), frame[target].to_numpy(), weights)

        return cls(read, n_known(scan, target))


def n_known(scan: "pl.LazyFrame", target: str) -> int:
    """Return the number of rows with a target."""
    return int(scan.select(_is_known(scan, target).sum()).collect().item())


def frames(
    scan: "pl.LazyFrame", target: str, block_rows: int, can_seek: bool
) -> Iterator["pl.DataFrame"]:
    """Yield the rows with a target, at most `block_rows` at a time.

    Files that can be read from any row on, such as Parquet, are read slice by slice, which needs
    the least memory.
    """
    pl = _import_polars()
    known = _is_known(scan, target)
    if not can_seek:
        for frame in scan.filter(known).collect_batches(chunk_size=block_rows, maintain_order=True):
            yield from frame.iter_slices(block_rows)
        return
    for start in range(0, int(scan.select(pl.len()).collect().item()), block_rows):
        yield scan.slice(start, block_rows).filter(known).collect()


def _is_known(scan: "pl.LazyFrame", target: str) -> "pl.Expr":
    pl = _import_polars()
    known = pl.col(target).is_not_null()
    if scan.collect_schema()[target].is_float():
        known = known & pl.col(target).is_not_nan()
    return known


def files(paths: Paths, endings: Sequence[str]) -> list[Path]:
    """Return the files that paths, folders and patterns name, in order."""
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found: list[Path] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            mine = sorted(p for p in path.rglob("*") if p.suffix.lower() in endings)
        elif any(sign in str(each) for sign in "*?[") and not path.exists():
            anchor = path.anchor or "."
            mine = sorted(Path(anchor).glob(str(path.relative_to(path.anchor))))
        else:
            mine = [path]
        if not mine:
            raise FileNotFoundError(f"{each} names no file: check the folder and the pattern")
        found.extend(mine)
    if not found:
        raise ArgumentError("paths", paths, "use at least one file")
    return found


def _import_polars() -> Any:
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading files in blocks needs polars, which is not installed: pip install "
            "'kernsemble[cli]', or pass Blocks(read) with a function that reads them"
        ) from error
    return polars
