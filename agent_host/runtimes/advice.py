"""What a vendor's refusal leaves open: which models there are, what to leave out."""

import asyncio
import contextlib
import difflib
import re

from agent_host.core.errors import ModelNotFound
from agent_host.runtimes.provider import ModelAsk, Provider, Trouble
from agent_host.runtimes.trouble import sees_nothing

SECONDS = 5.0
"""How long a vendor may take to tell which models it has."""
_FEW, _NEAR = 8, 5
_SETTINGS = (("effort", r"effort|reasoning|thinking"), ("outputSchema", r"schema|format"))


async def advised(trouble: Trouble, ask: ModelAsk, provider: Provider) -> Trouble:
    """The trouble with what can be said to it."""
    error = trouble.error
    added = await _near(ask.name, provider) if isinstance(error, ModelNotFound) else ""
    if error.details.get("status") in (400, 422):
        given = {"effort": ask.options.effort, "outputSchema": ask.options.output_schema}
        for name, words in _SETTINGS:
            if given[name] is not None and re.search(words, error.message, re.IGNORECASE):
                added += f" Leave out `{name}` if the model does not have that."
    if sees_nothing(error.message):
        added += " Leave out the image, or use a model that sees."
    told = type(error)(f"{error.message}{added}", **error.details)
    return Trouble(told, again=trouble.again, after=trouble.after, hidden=trouble.hidden)


async def _near(wished: str, provider: Provider) -> str:
    known: list[str] = []
    with contextlib.suppress(Trouble, TimeoutError):
        async with asyncio.timeout(SECONDS):
            known = [name for name in await provider.names() if name]
    near = known if len(known) <= _FEW else difflib.get_close_matches(wished, known, _NEAR, 0.5)
    if not near:
        return ""
    return f" {'It has' if near == known else 'Much the same are'}: {', '.join(near)}."
