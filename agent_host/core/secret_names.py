"""Which environment variables hold what nobody else is to see, by their names. Pure."""

from fnmatch import fnmatchcase

_SECRET = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSW*", "*CREDENTIAL*", "*AUTH*")


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name looks like a secret."""
    return any(fnmatchcase(name.upper(), pattern) for pattern in _SECRET)
