"""Addresses, proxies and certificates that can't be used: one sentence that names the variable."""

import subprocess
import sys

import pytest

from agent_host.core.errors import RuntimeFailed
from agent_host.runtimes import ProviderConfig, RuntimeSettings
from agent_host.runtimes.sdk import SdkRuntime
from tests.vendors import AnthropicVendor, ChatVendor, GeminiVendor, OpenAIVendor, Turn
from tests.vendors.runs import Gate, Pauses, Sink, request

MAKES = """
from agent_host.core.errors import RuntimeFailed
from agent_host.runtimes.http_client import shared_client
try:
    shared_client()
    print("made")
except RuntimeFailed as error:
    print(error.message)
"""


@pytest.mark.parametrize("vendor", ["anthropic", "openai", "gemini", "local"])
@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://x", "http://h:99999", "http://", "http://a\x00b", "http://[x"]
)
async def test_what_is_no_address_is_named(vendor: str, url: str) -> None:
    sdk = SdkRuntime(RuntimeSettings({vendor: ProviderConfig("k", "KEY", f"{url}")}))
    result = await sdk.run(request(f"{vendor}/m"), Sink(), Gate())
    await sdk.close()
    assert isinstance(result.error, RuntimeFailed)
    assert "which is no address" in result.error.message


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ALL_PROXY", "socks5://u:secret@127.0.0.1:1", "pip install socksio"),
        ("HTTPS_PROXY", "ftp://u:secret@127.0.0.1:1", "write it as http://host:port"),
        ("SSL_CERT_FILE", "/no/such.pem", "SSL_CERT_FILE"),
        ("HTTPS_PROXY", "http://u:secret@127.0.0.1:1", "made"),
    ],
)
def test_what_the_environment_can_t_mean_is_named(name: str, value: str, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAKES], env={name: value}, capture_output=True, text=True, check=True
    )
    assert told in done.stdout
    assert "secret" not in done.stdout


@pytest.mark.parametrize(
    "vendor", [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor], ids=lambda v: v.vendor
)
@pytest.mark.parametrize("end", ["", "/"])
async def test_an_address_may_have_a_path_and_a_slash(vendor: type, end: str) -> None:
    async with vendor(Turn("Hi.")) as server:
        check = server.check
        server.check = lambda path, *more: check(path.removeprefix("/deep/base"), *more)
        url = server.url.replace(f":{server.port}", f":{server.port}/deep/base") + end
        configs = RuntimeSettings({server.vendor: ProviderConfig(server.KEY, "KEY", url)})
        sdk = SdkRuntime(configs, pause=Pauses())
        result = await sdk.run(request(f"{server.vendor}/test-model"), Sink(), Gate())
        await sdk.close()
    assert result.output == "Hi.", result.error
    assert server.asked[0][0].startswith("/deep/base/v1/")
