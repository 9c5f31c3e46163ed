"""The OS keyring as a place for vendors' keys: macOS Keychain, Secret Service, Windows.

Which vendors have a key there is noted in the state folder by empty files, so that the keyring,
which may have to be unlocked by its owner, is asked only for a key that is needed.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from agent_host.core.errors import KeyringFailed

SERVICE = "agent-host"
UNLOCK_SECONDS = 60.0
"""How long a keyring may take: its owner may have to type a password."""

_Found = TypeVar("_Found")


class Ring(Protocol):
    """What a platform's keyring can do; each method may block and raise anything."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def _of_the_system() -> Ring:
    import keyring

    return cast("Ring", keyring.get_keyring())


class Keychain:
    """Keys of vendors by name; every method may block, `stored` only on a small folder."""

    def __init__(
        self,
        state: Path,
        seconds: float = UNLOCK_SECONDS,
        keyring: Callable[[], Ring] = _of_the_system,
    ) -> None:
        self._notes = state / "keyring"
        self._seconds = seconds
        self._keyring = keyring

    def stored(self) -> tuple[str, ...]:
        """The vendors that have a key in the keyring."""
        try:
            return tuple(sorted(note.name for note in self._notes.iterdir()))
        except OSError:
            return ()

    def get(self, vendor: str) -> str:
        """The key of a vendor. Raises KeyringFailed."""
        key = self._ask(lambda keyring: keyring.get_password(SERVICE, vendor))
        if not key:
            raise KeyringFailed(
                f"The OS keyring has no key for {vendor}. Run `agent-host auth set {vendor}`."
            )
        return key

    def set(self, vendor: str, key: str) -> None:
        """Keep a key in place of an earlier one. Raises KeyringFailed."""
        self._ask(lambda keyring: keyring.set_password(SERVICE, vendor, key))
        self._notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._notes / vendor).touch(mode=0o600)

    def remove(self, vendor: str) -> bool:
        """Forget a key; False if there was none. Raises KeyringFailed."""
        from keyring.errors import PasswordDeleteError

        if vendor not in self.stored():
            return False
        try:
            self._ask(lambda keyring: keyring.delete_password(SERVICE, vendor))
        except KeyringFailed as failure:
            if not isinstance(failure.__cause__, PasswordDeleteError):
                raise
            # Somebody removed it with another program; what is left is our note.
        (self._notes / vendor).unlink(missing_ok=True)
        return True

    def _ask(self, use: Callable[[Ring], _Found]) -> _Found:
        """Use the keyring in a thread of its own: one that never answers holds up nobody."""
        asked = _Asked(self._keyring, use)
        threading.Thread(target=asked.run, name="keyring", daemon=True).start()
        if not asked.done.wait(self._seconds):
            raise KeyringFailed(
                f"The OS keyring did not answer for {self._seconds:.0f} s. Unlock it, or set the "
                "key in the environment."
            )
        if asked.failure is not None:
            reason = str(asked.failure) or type(asked.failure).__name__
            raise KeyringFailed(
                f"The OS keyring can't be used ({reason.splitlines()[0]}). Set the key in the "
                "environment instead; `agent-host auth --help` names the variables."
            ) from asked.failure
        (found,) = asked.found
        return found


@dataclass(slots=True)
class _Asked(Generic[_Found]):
    keyring: Callable[[], Ring]
    use: Callable[[Ring], _Found]
    done: threading.Event = field(default_factory=threading.Event)
    found: list[_Found] = field(default_factory=list[_Found])
    failure: Exception | None = None

    def run(self) -> None:
        try:
            self.found.append(self.use(self.keyring()))
        except Exception as error:  # noqa: BLE001 - whatever a platform's keyring raises
            self.failure = error
        finally:
            self.done.set()
