"""Users, passwords, tokens and certificates on both sides, from the environment: with them it works, without them it is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest
from tests.service.brokers_here import BODIES, running, serve
from tests.service.certificates import TlsFront, make_certificates

from benchmarks.brokers import LocalMqtt, LocalNats, LocalRedis, ended, forked
from oboro.errors import BrokerError, FileError, OboroError

pytestmark = pytest.mark.skipif(which("openssl") is None, reason="no openssl to make certificates with")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    (folder / "in.ndjson").write_bytes(b"\n".join(BODIES[:30]) + b"\n")
    return folder


@pytest.fixture
def known(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets all secrets, some of them otherwise."""
    files = {"CA": "ca.pem", "CERT": "client.pem", "KEY": "client.key"}
    given = {**{name: str(certificates / file) for name, file in files.items()}, "USER": "me", "PASSWORD": "secret"}

    def set_all(**more: str) -> None:
        for name, value in {**given, **more}.items():
            monkeypatch.setenv(f"OBORO_BROKER_{name}", value)

    return set_all


def through(source: str, place: str, folder: Path, name: str, **more: object) -> int:
    """How many records came through."""
    return int(serve(source, place, state=folder / name, patience=0.1, **more)["records"])


class TlsNats(LocalNats):
    """Only those with a certificate of the authority may come in, by a password."""

    certificates = Path()
    more: tuple[str, ...] = ("--user", "me", "--pass", "secret")

    def command(self) -> list[str]:
        own = {"tlscert": "server.pem", "tlskey": "server.key", "tlscacert": "ca.pem"}
        words = [word for name, file in own.items() for word in (f"--{name}", str(self.certificates / file))]
        return [*super().command(), "--tls", *words, "--tlsverify", *self.more]

    def place(self, name: str) -> str:
        return super().place(name).replace("nats:", "natss:")

    def awake(self) -> None:
        """The tests find out."""


@pytest.mark.parametrize("token", [False, True], ids=["password", "token"])
def test_nats(certificates: Path, known: Callable[..., None], tmp_path: Path, token: bool) -> None:
    TlsNats.certificates, source = certificates, str(certificates / "in.ndjson")
    TlsNats.more = ("--auth", "word") if token else ("--user", "me", "--pass", "secret")
    own = {"USER": "", "PASSWORD": "", "TOKEN": "word"} if token else {}
    wrong = {**own, "TOKEN" if token else "PASSWORD": "wrong"}
    with running(TlsNats, tmp_path) as broker:
        known(**own)
        assert through(source, broker.place("OUT"), tmp_path, "one") == 30
        assert through(broker.place("OUT"), str(tmp_path / "again"), tmp_path, "two") == 30
        known(**wrong)
        with pytest.raises(OboroError, match="refuses"):
            through(source, broker.place("NOT"), tmp_path, "three")
        known(**{**own, "CERT": "", "KEY": ""})
        with pytest.raises(BrokerError):
            through(source, broker.place("NOT"), tmp_path, "four")
        assert "secret" not in (tmp_path / "nats.log").read_text()


class GuardedRedis(LocalRedis):
    """A user with a password, and a password alone."""

    def command(self) -> list[str]:
        return [*super().command(), "--user", "me", "on", ">secret", "~*", "+@all", "--requirepass", "word"]

    def awake(self) -> None:
        """The tests find out."""


def test_redis(certificates: Path, known: Callable[..., None], tmp_path: Path) -> None:
    source = str(certificates / "in.ndjson")
    with running(GuardedRedis, tmp_path) as broker:
        front = TlsFront(certificates, broker.port)
        try:
            known()
            assert through(source, front.place(broker.place("OUT")), tmp_path, "one") == 30
            assert through(front.place(broker.place("OUT")), str(tmp_path / "again"), tmp_path, "two") == 30
            known(PASSWORD="wrong")
            with pytest.raises(OboroError, match="refuses"):
                through(source, front.place(broker.place("NOT")), tmp_path, "three")
            known(USER="", PASSWORD="", TOKEN="word")  # the same as a password
            assert through(source, broker.place("PLAIN"), tmp_path, "four") == 30
            known(CERT="", KEY="")
            with pytest.raises(BrokerError):
                through(source, front.place(broker.place("NOT")), tmp_path, "five")
            known(CA=str(certificates / "none.pem"))
            with pytest.raises(FileError, match="none.pem|certificate"):
                through(source, front.place(broker.place("NOT")), tmp_path, "six")
        finally:
            front.close()


class TlsMqtt(LocalMqtt):
    """Mosquitto that knows one user, who must show a certificate."""

    certificates = Path()

    def command(self) -> list[str]:
        words = super().command()
        users, settings = self.folder / "users", self.folder / "mosquitto.conf"
        subprocess.run([which("mosquitto_passwd") or "", "-b", "-c", str(users), "me", "secret"], check=True)
        files = {"cafile": "ca.pem", "certfile": "server.pem", "keyfile": "server.key"}
        more = [f"{name} {self.certificates / file}" for name, file in files.items()]
        more += ["require_certificate true", f"password_file {users}"]
        text = settings.read_text().replace("allow_anonymous true", "allow_anonymous false")
        settings.write_text(text + "\n".join(more) + "\n")
        return words

    def place(self, name: str) -> str:
        return super().place(name).replace("mqtt:", "mqtts:")


@pytest.mark.skipif(which("mosquitto_passwd") is None, reason="no mosquitto_passwd: apt-get install mosquitto")
def test_mqtt(certificates: Path, known: Callable[..., None], tmp_path: Path) -> None:
    TlsMqtt.certificates, source = certificates, str(certificates / "in.ndjson")

    def work() -> None:  # the client has threads, which a fork would lose
        place = broker.place("out")
        known()
        assert through(source, place, tmp_path, "one") == 30
        known(PASSWORD="wrong")
        with pytest.raises(OboroError, match="refuses"):
            through(source, place, tmp_path, "two")
        known(CERT="", KEY="")
        with pytest.raises(BrokerError):
            through(source, place, tmp_path, "three")
        known(CA=str(certificates / "none.pem"))
        with pytest.raises(FileError, match="none.pem|certificate"):
            through(source, place, tmp_path, "four")

    with running(TlsMqtt, tmp_path) as broker:
        assert ended(forked(work)) == 0
