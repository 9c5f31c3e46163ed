"""A vendor's failures in our words: which error, whether to ask again, and what the user can do.

No sentence ever holds a key. Not here: the vendors' exception classes; providers take them apart.
"""

import html
import math
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from agent_host.core.errors import (
    AgentHostError,
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    NoApiKey,
    Overloaded,
    RateLimited,
    RuntimeFailed,
)
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.masking import masked
from agent_host.runtimes.provider import Trouble

_TOO_LONG = re.compile(
    r"prompt is too long|context.{0,20}(length|window|size|limit|overflow)|maximum context"
    r"|context_length_exceeded|too many tokens"
    r"|exceeds? the maximum number of tokens|input token count",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"invalid .?signature|blocks.{0,40}cannot be modified|expected .?thinking"
    r"|could not be (verified|decrypted)|invalid_encrypted_content"
    r"|required following item|required .?reasoning.? item|thought.signature",
    re.IGNORECASE,
)
_BLIND = re.compile(
    r"(not|n't|no|unknown|only|missing|at most 0)\b.{0,60}(image|vision|multi.?modal)"
    r"|(image|vision|multi.?modal).{0,60}\b(not|un|only)|mmproj",
    re.IGNORECASE,
)
_PAGE = re.compile(r"<(!doctype html|html|head|body)\b", re.IGNORECASE)
_SIGN_IN = (
    "the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names wants to know who you are: write it "
    "as http://name:password@host:port"
)
_HOPELESS = (
    (
        re.compile("CERTIFICATE_VERIFY_FAILED.*mismatch"),
        "its certificate is that of another server: check the host in the URL",
    ),
    (
        re.compile("CERTIFICATE_VERIFY_FAILED.*(expired|not yet valid)"),
        "its certificate is out of date: check the clock of this machine, or have it renewed",
    ),
    (
        re.compile("CERTIFICATE_VERIFY_FAILED"),
        "if your network has certificates of its own, name their file in SSL_CERT_FILE",
    ),
    (
        re.compile("WRONG_VERSION_NUMBER|record layer failure"),
        "it does not speak TLS: write the URL with http:// if it has none",
    ),
    (
        re.compile("^(UnsupportedProtocol|InvalidURL|LocalProtocolError)"),
        "write the URL as http://host:port or https://host",
    ),
    (re.compile("^ProxyError: 407"), _SIGN_IN),
)
"""What a connection fails of each time, and what to do about it."""
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Vendor:
    """How a vendor is called in sentences, and the variables that hold its key."""

    label: str
    key_variables: tuple[str, ...]

    def no_key(self) -> NoApiKey:
        """There is no key at all."""
        return NoApiKey(
            f"There is no key for {self.label}: set {' or '.join(self.key_variables)}.",
            variables=list(self.key_variables),
        )


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a vendor answered instead of a stream. `message` is the vendor's own sentence."""

    status: int
    message: str
    after: float | None = None


def trouble_of_status(
    vendor: Vendor, config: ProviderConfig, model: str, complaint: Complaint
) -> Trouble:
    """A refused request, by its HTTP status."""
    said = _said(complaint.message, config)
    error: AgentHostError
    match complaint.status:
        case 401:
            error = AuthFailed(_auth_sentence(vendor, config, said), source=config.key_source)
        case 403:
            error = AuthFailed(_forbidden_sentence(vendor, config, said), source=config.key_source)
        case 404:
            where = _where(config)
            check = "its name and the URL" if where else "its name"
            error = ModelNotFound(
                f"{vendor.label}{where} does not know the model {model!r}: check {check}{said}."
            )
        case 429:
            error = RateLimited(
                f"{vendor.label} limits the rate: {_wait_sentence(complaint.after)}{said}.",
                retry_after=complaint.after,
            )
        case 503 | 529:
            error = Overloaded(f"{vendor.label} is overloaded: try again later{said}.")
        case 407:
            error = RuntimeFailed(f"{vendor.label} was not reached{said}: {_SIGN_IN}.", status=407)
        case 413:
            error = too_long(vendor, model)
        case status if status in (400, 422) and _TOO_LONG.search(complaint.message):
            error = too_long(vendor, model)
        case status if 300 <= status < 400:
            where = _where(config)
            error = RuntimeFailed(
                f"{vendor.label}{where} points to another address (status {status}), and a key is "
                "never sent on: set the URL to where it points.",
                status=status,
            )
        case status:
            did = "refused the request" if status < 500 else "failed"
            error = RuntimeFailed(
                f"{vendor.label} {did} with status {status}{said}.", status=status
            )
    again = complaint.status in _AGAIN or complaint.status >= 500
    hidden = complaint.status in (400, 422) and refuses_hidden(complaint.message)
    return Trouble(error, again=again, after=complaint.after, hidden=hidden)


def sees_nothing(said: str) -> bool:
    """Whether a vendor says that the model takes no images."""
    return _BLIND.search(said) is not None


def no_effort(vendor: Vendor, model: str, effort: str | None) -> Trouble:
    """A model that can't be told how much to think."""
    return Trouble(
        RuntimeFailed(
            f"The model {model!r} of {vendor.label} does not think, so it can't be told to with "
            f"effort {effort!r}: leave out `effort`, or use another model."
        )
    )


def refuses_hidden(said: str) -> bool:
    """Whether a vendor says that it does not take back what it had signed or encrypted."""
    return _HIDDEN.search(said) is not None


def trouble_of_connection(vendor: Vendor, config: ProviderConfig, reason: str) -> Trouble:
    """The server can't be reached, or the connection was lost in the middle of an answer."""
    where = _where(config)
    found = next((hopeless for seen, hopeless in _HOPELESS if seen.search(reason)), None)
    advice, again = found or "check the network and the URL, then try again", found is None
    if found is None and reason.startswith("ProxyError"):
        advice = "check the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names"
    said = reason or "no reason given"
    error = RuntimeFailed(f"The connection to {vendor.label}{where} failed ({said}): {advice}.")
    return Trouble(error, again=again)


def trouble_of_stream(vendor: Vendor, reason: str) -> Trouble:
    """The answer ended before it was whole, or can't be understood."""
    return Trouble(
        RuntimeFailed(f"The answer of {vendor.label} broke off ({reason}): try again."), again=True
    )


def trouble_of_page(vendor: Vendor, config: ProviderConfig, page: str) -> Trouble:
    """Somebody in between, or at a wrong address, has answered with a page for people."""
    where = _where(config)
    return Trouble(
        RuntimeFailed(
            f"What answers for {vendor.label}{where} is no model but sends a page"
            f"{_said(page, config)}: check the URL, and whether a proxy wants you to sign in."
        )
    )


def without_key(text: str, config: ProviderConfig) -> str:
    """Words of a vendor without the key, or what looks like one, should the vendor repeat it."""
    return masked(text, (config.key,) if config.key else ())


def is_page(said: str) -> bool:
    """Whether it is a web page."""
    return _PAGE.search(said) is not None


@contextmanager
def understood(vendor: Vendor) -> Generator[None]:
    """An answer that is not as the vendor's protocol has it is Trouble and not a bug of ours."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise trouble_of_stream(
            vendor, f"it can't be understood: {type(error).__name__}"
        ) from error


def too_long(vendor: Vendor, model: str) -> ContextOverflow:
    """The conversation does not fit into the model."""
    return ContextOverflow(
        f"The conversation is too long for {model} of {vendor.label}: compact the session, start a "
        "new one, or use a model with a larger context window."
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of `retry-after-ms` or `retry-after`, which may be a date; None: not said."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if not math.isnan(seconds):
            return max(0.0, seconds)
    return _until(headers.get("retry-after", ""), headers.get("date", ""))


def _until(then: str, now: str) -> float | None:
    """Seconds from one HTTP date to another; without the second one, from now on."""
    try:
        end = parsedate_to_datetime(then)
    except ValueError:
        return None
    try:
        begin = parsedate_to_datetime(now)
    except ValueError:
        begin = datetime.now(UTC)
    try:
        return max(0.0, (end - begin).total_seconds())
    except TypeError:  # one of them has no time zone
        return None


def _auth_sentence(vendor: Vendor, config: ProviderConfig, said: str) -> str:
    variables = " or ".join(vendor.key_variables)
    if config.key is None:
        return f"{vendor.label} wants a key: set {variables}{said}."
    source = config.key_source or "an unknown source"
    return f"{vendor.label} refused the key from {source}: renew it or set {variables}{said}."


def _forbidden_sentence(vendor: Vendor, config: ProviderConfig, said: str) -> str:
    if config.key is None:
        return f"{vendor.label} wants a key: set {' or '.join(vendor.key_variables)}{said}."
    source = config.key_source or "an unknown source"
    return (
        f"{vendor.label} does not allow this with the key from {source}{said}: check what its "
        "owner may use, and whether a proxy stands in between."
    )


def _wait_sentence(after: float | None) -> str:
    return "wait a little" if after is None else f"wait {after:g} s"


def _where(config: ProviderConfig) -> str:
    return f" at {_shown(config.base_url)}" if config.base_url else ""


def _shown(url: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _said(message: str, config: ProviderConfig) -> str:
    """The vendor's sentence in brackets, short, without the key should the vendor repeat it.

    Of a web page it is the title.
    """
    if is_page(message):
        title = re.search(r"<title[^>]*>(.*?)</title", message, re.IGNORECASE | re.DOTALL)
        message = html.unescape(title[1]) if title else ""
    text = without_key(" ".join(message.split()).rstrip("."), config)
    return f" ({text[:300]})" if text else ""
