"""What an editor's answer for a workspace may change of the person's settings: it only narrows.

Such an answer may come out of a file of the folder. Where it equals what the person has set it
changes nothing, and nothing is said. Invariant: a setting that is not named here is not taken.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import cast

from agent_host.core.external import ServerConfig
from agent_host.core.model import SDK, Limits
from agent_host.core.permission import Rule
from agent_host.credentials import only_asks
from agent_host.settings.model import CONFIG_NAME, NO_TITLES, Settings, Trust

NOT_HERE = (
    f"counts in {CONFIG_NAME}, the environment and initializationOptions only: what an editor "
    "tells for a workspace may come with the folder."
)
NARROWS = f"can only be made stricter here; set it in {CONFIG_NAME} or initializationOptions."

STARTS = f"is only a vendor's here: what starts a program or plays a script {NOT_HERE}"

_PREFERENCES = ("effort", "context_windows")
"""What lets an agent do no more than before, whatever it is."""
_CHOICES: Mapping[str, Callable[[str], bool]] = {
    "model": only_asks,
    "title_model": lambda model: model == NO_TITLES or only_asks(model),
    "runtime": lambda runtime: runtime == SDK,
}
"""What is a preference too, as long as nothing is started by it that the person did not name."""
_TRUST: tuple[Trust, ...] = ("never", "ask", "always")

Report = Callable[[str, str], None]
"""Takes the name of a setting and why it was left out."""


def narrowed(below: Settings, over: Settings, report: Report) -> Settings:
    """`over` is the answer on top of `below`; what it would loosen stays as it is below."""
    narrower = replace(
        below,
        **{name: getattr(over, name) for name in _PREFERENCES},
        **{name: _choice(name, below, over, report) for name in _CHOICES},
        trust=_trust(below, over, report),
        save=below.save if below.save == "never" else over.save,
        limits=_limits(below.limits, over.limits, report),
        rules=_rules(below.rules, over.rules, report),
    )
    if narrower.save != over.save:
        report("save", NARROWS)
    for name in _others():
        if _plain(getattr(below, name)) != _plain(getattr(over, name)):
            report(_key(name), NOT_HERE)
    return narrower


def _others() -> tuple[str, ...]:
    looked_at = (*_PREFERENCES, *_CHOICES, "trust", "save", "limits", "rules")
    return tuple(each.name for each in fields(Settings) if each.name not in looked_at)


def _choice(name: str, below: Settings, over: Settings, report: Report) -> str | None:
    known, wished = getattr(below, name), getattr(over, name)
    if wished in (known, None) or _CHOICES[name](wished):
        return wished
    report(_key(name), STARTS)
    return known


def _trust(below: Settings, over: Settings, report: Report) -> Trust:
    if _TRUST.index(over.trust) > _TRUST.index(below.trust):
        report("trust", NOT_HERE)
        return below.trust
    return over.trust


def _limits(below: Limits, over: Limits, report: Report) -> Limits:
    narrower = below.narrowed(over)
    for each in fields(Limits):
        if getattr(narrower, each.name) != getattr(over, each.name):
            report(f"limits.{_key(each.name)}", NARROWS)
    return narrower


def _rules(below: tuple[Rule, ...], over: tuple[Rule, ...], report: Report) -> tuple[Rule, ...]:
    """The rules below, and those of the answer that narrow and are not among them."""
    known = [replace(rule, where="") for rule in below]
    new = [rule for rule in over[len(below) :] if replace(rule, where="") not in known]
    for rule in new:
        if rule.effect == "allow":
            report("rules", f"({rule.where}): an allow rule {NOT_HERE}")
    return (*below, *(rule for rule in new if rule.effect != "allow"))


def _plain(value: object) -> object:
    """A setting without the places where its parts stand."""
    if not isinstance(value, Mapping):
        return value
    each = cast("Mapping[str, object]", value).items()
    return {
        name: replace(part, where="") if isinstance(part, ServerConfig) else part
        for name, part in each
    }


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)
