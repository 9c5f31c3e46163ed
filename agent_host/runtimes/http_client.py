"""The HTTP client that all vendors' SDKs share, and what of the environment it can't use.

Proxies come from HTTPS_PROXY and its kin, further certificates from SSL_CERT_FILE and SSL_CERT_DIR.
"""

from urllib.parse import urlsplit

import httpx2

from agent_host.core.errors import RuntimeFailed
from agent_host.runtimes import ProviderConfig


def shared_client() -> httpx2.AsyncClient:
    """A client for any number of runs. Raises RuntimeFailed for settings that it can't use."""
    # A local server is never behind the proxy that the environment may name.
    direct = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}
    try:
        return httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=200, max_keepalive_connections=100),
            timeout=httpx2.Timeout(600, connect=10),
            mounts=direct,
            # A redirect would take the key along to wherever it points.
            follow_redirects=False,
        )
    except ImportError as error:
        raise RuntimeFailed(
            "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names a SOCKS proxy, for which a package is "
            "missing: run pip install socksio, or name an HTTP proxy."
        ) from error
    except OSError as error:
        raise RuntimeFailed(
            f"The certificates that SSL_CERT_FILE or SSL_CERT_DIR name can't be read ({error}): "
            "correct the variable."
        ) from error
    except (ValueError, httpx2.InvalidURL) as error:
        raise RuntimeFailed(
            "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names no proxy that can be used "
            f"({type(error).__name__}): write it as http://host:port."
        ) from error


def check_address(vendor: str, config: ProviderConfig) -> None:
    """Raises RuntimeFailed for an address that can't be one."""
    url = config.base_url
    if not url:
        return
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        good = False
    if not good:
        shown = url.rpartition("@")[2]
        raise RuntimeFailed(
            f"The base URL for {vendor} is {shown!r}, which is no address: write it as "
            "http://host:port or https://host."
        )
