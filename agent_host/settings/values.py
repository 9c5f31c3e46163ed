"""Values that stand in several places of the settings: environments, lists of words."""

import re

from agent_host.fields.reader import Fields

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def environment_of(source: Fields) -> dict[str, str]:
    """A mapping of names of variables to texts."""
    env: dict[str, str] = {}
    for name, value in source.rest().items():
        text = value.value
        if not _VARIABLE_NAME.fullmatch(name):
            source.report(name, "can't be the name of a variable.")
        elif isinstance(text, str) and "\0" not in text:
            env[name] = text
        else:
            source.report(name, "must be text (put it in quotes).")
    return env


def words_of(source: Fields, key: str) -> tuple[str, ...]:
    """A list of texts; a single text is a list of one."""
    given = source.get(key)
    if given is not None and isinstance(given.value, str):
        return (given.value,)
    return tuple(str(word.value) for word in source.texts(key))
