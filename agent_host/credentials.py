"""Each vendor's key and address, with the name of the variable they come from.

Read from the environment only, never from the workspace, and never shown: `repr` has no value.
Not here: keys from an editor or a keyring, and whether a vendor takes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
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

SECRET_VARIABLES = tuple(name for vendor in VENDORS for name in vendor.key_variables)
"""What no child of the host may find in its environment."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What there is for one vendor; the sources are names of environment variables."""

    vendor: Vendor
    key: str | None = field(default=None, repr=False)
    key_source: str | None = None
    base_url: str | None = field(default=None, repr=False)
    base_url_source: str | None = None

    @property
    def usable(self) -> bool:
        return bool(self.key if self.vendor.needs_key else self.base_url)

    @property
    def source(self) -> str | None:
        """The variables that were found, for people."""
        found = [name for name in (self.key_source, self.base_url_source) if name]
        return ", ".join(found) or None

    @property
    def missing(self) -> str | None:
        """What to do when it can't be used, as a sentence."""
        if self.usable:
            return None
        if self.vendor.needs_key:
            return f"Set {' or '.join(self.vendor.key_variables)}."
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
        if vendor == KEYLESS and name:
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


def read_credentials(environ: Mapping[str, str]) -> Credentials:
    """What the environment holds; empty variables count as not set."""
    return Credentials(tuple(_read(vendor, environ) for vendor in VENDORS))


def _read(vendor: Vendor, environ: Mapping[str, str]) -> Credential:
    key_source = next(
        (name for name in vendor.key_variables if environ.get(name, "").strip()), None
    )
    base_url = environ.get(vendor.url_variable, "").strip() or None
    return Credential(
        vendor=vendor,
        key=environ[key_source].strip() if key_source else None,
        key_source=key_source,
        base_url=base_url,
        base_url_source=vendor.url_variable if base_url else None,
    )


def _asked(vendor: Vendor) -> tuple[str, ...]:
    return vendor.key_variables[:1] if vendor.needs_key else (vendor.url_variable,)
