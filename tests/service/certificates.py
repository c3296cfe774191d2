"""Certificates for tests: an authority, what it signs for a server and a client, and a front that speaks TLS for a server."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["TlsFront", "make_certificates"]


def make_certificates(folder: Path) -> None:
    """`ca.pem`, and `server` and `client`, each a `.pem` and a `.key`."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")


class TlsFront:
    """TLS for a server that was built without it: who has no certificate of the authority does not come through."""

    def __init__(self, folder: Path, to: int) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self._context.load_verify_locations(folder / "ca.pem")
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._to, self._server = to, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def place(self, address: str) -> str:
        """An address by way of this front."""
        kind, _, rest = address.partition("://")
        return f"{kind}s://{rest}".replace(f":{self._to}/", f":{self.port}/")

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with plain, suppress(OSError), self._context.wrap_socket(plain, server_side=True) as near:
            near.settimeout(0.05)
            with socket.create_connection(("127.0.0.1", self._to)) as far:
                far.settimeout(0.005)
                while True:
                    for one, other in ((near, far), (far, near)):
                        with suppress(TimeoutError):
                            data = one.recv(1 << 14)
                            if not data:
                                return
                            other.sendall(self.passed(data, one is far, near))
                    near.settimeout(0.005)

    def passed(self, data: bytes, answer: bool, near: socket.socket) -> bytes:
        """What goes on of what came."""
        return data

    def close(self) -> None:
        """No more connections."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
