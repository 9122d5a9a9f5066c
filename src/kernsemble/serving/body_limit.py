"""A limit on the size of request bodies, which are refused while they arrive."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

TOO_LARGE = 413


class _BodyTooLargeError(Exception):
    """A body exceeds the limit."""


class BodyLimit:
    """ASGI middleware that answers 413 to bodies of more than `max_bytes`."""

    def __init__(self, app: App, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, and count the bytes of its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        n_bytes = 0

        async def counted() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self.max_bytes:
                raise _BodyTooLargeError
            return message

        declared = dict(scope["headers"]).get(b"content-length", b"0")
        try:
            if declared.isdigit() and int(declared) > self.max_bytes:
                raise _BodyTooLargeError
            await self.app(scope, counted, send)
        except _BodyTooLargeError:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        detail = f"the body has more than {self.max_bytes:,} bytes: send fewer rows per request"
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": TOO_LARGE, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"detail": detail}).encode()})
