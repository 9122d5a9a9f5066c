"""Worker processes of a server, which are started again when they die."""

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernsemble.export.refusals import import_extra
from kernsemble.persistence import load
from kernsemble.serving.app import MAX_BYTES, MAX_EXPLAINED_ROWS, MAX_ROWS, create_app

VARIABLE = "KERNSEMBLE_SERVED"  # environment variable with the settings of workers
SECONDS_TO_FINISH = 10  # for requests in progress when a server is stopped


@dataclass(frozen=True)
class Settings:
    """The model file and the report of a server, and its limits."""

    model: str
    report: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    max_rows: int = MAX_ROWS
    max_explained_rows: int = MAX_EXPLAINED_ROWS
    max_bytes: int = MAX_BYTES


def app_of_worker() -> Any:
    """Return the application of a worker, whose settings are in the environment."""
    settings = Settings(**json.loads(os.environ[VARIABLE]))
    report = None if settings.report is None else Path(settings.report).read_text(encoding="utf-8")
    return create_app(
        load(settings.model),
        report,
        max_rows=settings.max_rows,
        max_explained_rows=settings.max_explained_rows,
        max_bytes=settings.max_bytes,
    )


def serve(settings: Settings) -> None:
    """Serve a model file until SIGINT or SIGTERM.

    The file is opened with skops, which runs no code of it. A supervisor starts the workers, and
    starts one again when it dies; a signal lets requests in progress finish.

    Parameters
    ----------
    settings : Settings
        Model file, address and limits.
    """
    uvicorn = import_extra("uvicorn", "serve")
    supervisors = import_extra("uvicorn.supervisors", "serve")
    import_extra("fastapi", "serve")
    os.environ[VARIABLE] = json.dumps(asdict(settings))
    config = uvicorn.Config(
        "kernsemble.serving.server:app_of_worker",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    with _bound(settings) as listener:
        supervisors.Multiprocess(config, sockets=[listener]).run()


def _bound(settings: Settings) -> socket.socket:
    """Return a socket at the address; raise an error that names it if it is in use."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small answers without delay only if the protocol is explicit
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise OSError(
            f"port = {settings.port}: {settings.host} cannot be listened to there ({error}): use "
            "another port"
        ) from error
    listener.set_inheritable(True)
    return listener
