"""Each vendor's key and address, with the name of the place that they come from.

The editor's secret store comes first, then the environment, then the OS keyring; the workspace
never counts. A key is never shown: `repr` has no value. Reading the keyring: keychain.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

from agent_host.core.errors import ModelNotFound, NoApiKey
from agent_host.core.model import ModelInfo


@dataclass(frozen=True, slots=True)
class Vendor:
    """Where a vendor's key and address may stand (first one first), and what to use by default.

    `needs_key` False: an address is enough.
    """

    name: str
    key_variables: tuple[str, ...]
    url_variable: str
    default_model: str
    needs_key: bool = True


VENDORS = (
    Vendor("anthropic", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", "claude-sonnet-5-5"),
    Vendor("openai", ("OPENAI_API_KEY",), "OPENAI_BASE_URL", "gpt-5.5"),
    Vendor(
        "gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "GOOGLE_GEMINI_BASE_URL",
        "gemini-3.8-flash",
    ),
    Vendor("local", ("LOCAL_API_KEY",), "LOCAL_BASE_URL", "default", needs_key=False),
)
"""In this order a vendor is picked when nobody chose a model."""

KEYLESS = "scripted"
"""The vendor that plays a file instead of asking a model; never picked by itself."""

EMBEDDED = "local/embedded"
"""The model that the host runs itself: it needs neither key nor address."""

EDITOR = "the editor's secret store"
KEYRING = "the OS keyring"


def only_asks(model: str) -> bool:
    """Whether a model is a vendor's, asked at its address: no program runs, no script is played."""
    vendor, _, name = model.partition("/")
    return bool(name) and model != EMBEDDED and any(vendor == each.name for each in VENDORS)


SECRET_VARIABLES = tuple(name for vendor in VENDORS for name in vendor.key_variables)
"""What no child of the host may find in its environment."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What there is for one vendor; sources are environment variables, EDITOR or KEYRING.

    `key` is None while it lies in the keyring, which is asked only when a run needs it.
    `unused` are further places that hold a key of this vendor.
    """

    vendor: Vendor
    key: str | None = field(default=None, repr=False)
    key_source: str | None = None
    base_url: str | None = field(default=None, repr=False)
    base_url_source: str | None = None
    unused: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return bool(self.key_source if self.vendor.needs_key else self.base_url)

    @property
    def source(self) -> str | None:
        """Where what is used was found, for people."""
        found = [name for name in (self.key_source, self.base_url_source) if name]
        return ", ".join(found) or None

    @property
    def missing(self) -> str | None:
        """What to do when it can't be used, as a sentence."""
        if self.usable:
            return None
        if self.vendor.needs_key:
            variables = " or ".join(self.vendor.key_variables)
            return f"Set {variables}, or run `agent-host auth set {self.vendor.name}`."
        return f"Set {self.vendor.url_variable} to the address of an OpenAI-compatible server."

    @property
    def shown_url(self) -> str | None:
        """The address without user, password and query."""
        if self.base_url is None:
            return None
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """All vendors' credentials, in the order of VENDORS."""

    all: tuple[Credential, ...]

    def of(self, vendor: str) -> Credential | None:
        """The credential of a vendor by its name; None for a name that is no vendor's."""
        return next((each for each in self.all if each.vendor.name == vendor), None)

    def default_model(self) -> str:
        """The model when nobody chose one: the first usable vendor's. Raises NoApiKey."""
        for each in self.all:
            if each.usable:
                return f"{each.vendor.name}/{each.vendor.default_model}"
        names = [name for each in self.all for name in _asked(each.vendor)]
        raise NoApiKey(
            f"No model is chosen and no key is set. Set one of {', '.join(names)}, or choose "
            "`scripted/demo`, which needs no key."
        )

    def require(self, model: str) -> Credential | None:
        """What `vendor/name` needs; None: nothing. Raises ModelNotFound or NoApiKey."""
        vendor, slash, name = model.partition("/")
        if model == EMBEDDED or (vendor == KEYLESS and name):
            return None
        credential = self.of(vendor)
        if credential is None or not slash or not name:
            known = ", ".join(f"{each.vendor.name}/..." for each in self.all)
            raise ModelNotFound(f"There is no model `{model}`. Name one as {known}.")
        if credential.missing is not None:
            raise NoApiKey(f"`{model}` can't be used yet. {credential.missing}", vendor=vendor)
        return credential

    def models(self) -> tuple[ModelInfo, ...]:
        """One line for each vendor; any model name of a usable vendor may be used."""
        return tuple(
            ModelInfo(
                name=f"{each.vendor.name}/{each.vendor.default_model}",
                provider=each.vendor.name,
                usable=each.usable,
                source=each.source,
                reason=each.missing,
            )
            for each in self.all
        )


_NOTHING: Mapping[str, str] = MappingProxyType({})


def read_credentials(
    environ: Mapping[str, str],
    editor: Mapping[str, str] = _NOTHING,
    stored: Collection[str] = (),
) -> Credentials:
    """What the environment holds, and who else has a key; empty variables count as not set.

    `editor`: keys that the editor gave, by vendor. `stored`: the vendors in the keyring.
    """
    return Credentials(tuple(_read(vendor, environ, editor, stored) for vendor in VENDORS))


def _read(
    vendor: Vendor, environ: Mapping[str, str], editor: Mapping[str, str], stored: Collection[str]
) -> Credential:
    given = [(EDITOR, editor.get(vendor.name, ""))]
    given += [(name, environ.get(name, "")) for name in vendor.key_variables]
    places: list[tuple[str, str | None]] = [
        (name, value.strip()) for name, value in given if value.strip()
    ]
    if vendor.name in stored:
        places.append((KEYRING, None))
    source, key = places[0] if places else (None, None)
    base_url = environ.get(vendor.url_variable, "").strip() or None
    return Credential(
        vendor=vendor,
        key=key,
        key_source=source,
        base_url=base_url,
        base_url_source=vendor.url_variable if base_url else None,
        unused=tuple(name for name, _ in places[1:]),
    )


def _asked(vendor: Vendor) -> tuple[str, ...]:
    return vendor.key_variables[:1] if vendor.needs_key else (vendor.url_variable,)
