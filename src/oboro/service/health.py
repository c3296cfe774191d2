"""Health and metrics endpoints of a service: `/metrics` (Prometheus), `/health/live` and `/health/ready`."""

from __future__ import annotations

import errno
import hmac
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from oboro.errors import FileError, UsageError
from oboro.stream.engine import Watch
from oboro.system.files import secret_key
from oboro.text import Message
from oboro.text.language import os_reason

__all__ = ["health_page", "listen_secrets", "metrics_page"]


COUNTS = {
    "records": "Records taken from the input",
    "released": "Records released to the output",
    "dead_letters": "Records refused",
    "repeats": "Records passed over, since their id was there before",
    "elsewhere": "Records passed over, since they belong to other partitions",
    "interruptions": "Times that a broker did not answer",
    "blocks": "Blocks that went through",
}
BY_REASON = "oboro_dead_letters_by_reason"
STATES = {
    "ready": "1 once the state is restored and the first block can be taken",
    "connected": "1 while the brokers answer",
    "leading": "1 if this process publishes, 0 if it stands by",
    "behind": "Records that wait in the input, when it was last asked",
}
FIGURES = {
    "smallest_crowd": "The fewest records, or people, that were counted behind a release when it was decided",
    "suppressed_cells": "Released cells that are suppressed, of the whole stream",
    "held": "Records that wait in the window",
    "state_age_seconds": "Seconds since the latest snapshot of this process",
}
MOST = 16  # who may ask at a time
PATIENCE = 5.0  # seconds in which they say something, and take the answer
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)


@contextmanager
def health_page(
    address: str, watch: Watch, tls: ssl.SSLContext | None = None, token: bytes | None = None
) -> Iterator[None]:
    """Answer at an address while this lasts. A process that cannot be watched does not start.

    `tls`: how to speak HTTPS. `token`: what those who ask for `/metrics` must send as a bearer token; `/health/…` is for everybody.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise UsageError(Message("error_service.listen", address=address))
    try:
        server = _Server((host, int(port)), _answers(watch, token), tls)
    except OSError as error:
        said = Message("error_stream.cannot_listen", place=address, why=os_reason(error))
        raise FileError(said, transient=error.errno == errno.EADDRINUSE) from None
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    serving.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def listen_secrets() -> tuple[ssl.SSLContext | None, bytes | None]:
    """Return how to speak HTTPS and the bearer token, if the environment names any.

    `OBORO_LISTEN_CERT` and `OBORO_LISTEN_KEY` are files (the key may stand in the same one); the token is in `OBORO_LISTEN_TOKEN`
    or in the file that `OBORO_LISTEN_TOKEN_FILE` names. A variable that is set and empty is an error: nobody meant it.
    """
    certificate, key = os.environ.get("OBORO_LISTEN_CERT"), os.environ.get("OBORO_LISTEN_KEY")
    tls = None
    if certificate is not None or key is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            tls.load_cert_chain(certificate or "", key, password=lambda: "")
        except (OSError, ValueError) as error:  # errors of TLS are of the system's, too
            why = os_reason(error) if isinstance(error, FileNotFoundError | PermissionError) else str(error)
            place = certificate or "OBORO_LISTEN_CERT"
            raise FileError(Message("error_service.listen_certificate", path=place, why=why)) from None
    token = file = None
    if "OBORO_LISTEN_TOKEN" in os.environ:
        token = secret_key("--listen", "OBORO_LISTEN_TOKEN", None, Path())
    elif (file := os.environ.get("OBORO_LISTEN_TOKEN_FILE")) is not None:
        token = secret_key("--listen", None, file, Path())
    return tls, token


class _Server(ThreadingHTTPServer):
    """Those who ask and say nothing, or do not listen, hold neither the stream's threads nor its files: the oldest of many goes."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], answers: type[BaseHTTPRequestHandler], tls: Any = None) -> None:
        self._asking: dict[Any, None] = {}
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = tls
        super().__init__(address, answers)

    def get_request(self) -> tuple[Any, Any]:
        request, address = super().get_request()
        if self._tls is None:
            return request, address
        try:  # the handshake is made by the thread that answers: who never makes it holds nobody up
            return self._tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False), address
        except (OSError, ValueError):
            request.close()
            raise ConnectionError("closed") from None

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            oldest = next(iter(self._asking)) if len(self._asking) >= MOST else None
            self._asking.pop(oldest, None)
            self._asking[request] = None
        if oldest is not None:
            with suppress(OSError):  # it is gone
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._asking.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, *_: Any) -> None:
        """Whoever went away before the answer is nobody's news."""


def _answers(watch: Watch, token: bytes | None) -> type[BaseHTTPRequestHandler]:
    metrics = metrics_page(watch)

    class _Answers(BaseHTTPRequestHandler):
        timeout = PATIENCE

        def setup(self) -> None:
            super().setup()
            if isinstance(self.request, ssl.SSLSocket):
                self.request.do_handshake()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics" and not self._allowed():
                self._answer(401, b"a bearer token is needed\n")
            elif path == "/metrics":
                self._answer(200, metrics(), "text/plain; version=0.0.4; charset=utf-8")
            elif path == "/health/live":
                self._answer(200, b"live\n") if watch.live else self._answer(503, b"the loop does not turn\n")
            elif path == "/health/ready":
                self._answer(200, b"ready\n") if watch.ready and watch.connected else self._answer(503, b"not ready\n")
            else:
                self._answer(404, b"/metrics, /health/live, /health/ready\n")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _allowed(self) -> bool:
            scheme, _, given = self.headers.get("Authorization", "").partition(" ")
            right = token is None or hmac.compare_digest(given.strip().encode("latin-1", "replace"), token)
            return right and (token is None or scheme.lower() == "bearer")

        def _answer(self, code: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(code)
            if code == 401:
                self.send_header("WWW-Authenticate", "Bearer")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Those who ask are not logged."""

    return _Answers


def metrics_page(watch: Watch) -> Callable[[], bytes]:
    """Return a function that writes the page for Prometheus."""
    try:
        from prometheus_client import CollectorRegistry, Histogram, generate_latest  # noqa: PLC0415  (an extra)
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric  # noqa: PLC0415
    except ImportError:
        raise UsageError(Message("error_service.prometheus")) from None

    class _Counts:
        def collect(self) -> Iterator[Metric]:
            for name, about in COUNTS.items():
                yield CounterMetricFamily(f"oboro_{name}", about, value=float(getattr(watch, name)))
            by_reason = CounterMetricFamily(BY_REASON, "Records refused, by reason", labels=["reason"])
            for reason, count in watch.reasons.copy().items():
                by_reason.add_metric([reason], float(count))
            yield by_reason
            for name, about in STATES.items():
                yield GaugeMetricFamily(f"oboro_{name}", about, value=float(getattr(watch, name)))
            for name, value in watch.figures().items():
                yield GaugeMetricFamily(f"oboro_{name}", FIGURES[name], value=float(value))

    registry = CollectorRegistry()
    registry.register(_Counts())
    about = "From the arrival of a block until it is published"
    seconds = Histogram("oboro_block_seconds", about, buckets=SECONDS, registry=registry)
    watch.told.append(lambda count, done, took: seconds.observe(took))
    return lambda: generate_latest(registry)
