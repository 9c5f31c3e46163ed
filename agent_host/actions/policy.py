"""Names that the action server treats apart, and where the host keeps what belongs to it."""

from dataclasses import dataclass

SECRET_NAMES = (
    ".env*",
    "!.env.example",
    "*.pem",
    "*.key",
    "*.kdbx",
    "id_*",
    "!id_*.pub",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials*",
)
"""Globs over file names, case aside; `!` takes back. Search shows nothing of such files."""


@dataclass(frozen=True, slots=True)
class ActionPolicy:
    """What is special about names; `environment` are variables to pass on beyond the usual."""

    secret: tuple[str, ...] = SECRET_NAMES
    environment: tuple[str, ...] = ()
