"""Networks with certificates of their own, and with a proxy: reached, or told what to do."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent_host.core.errors import RuntimeFailed
from agent_host.core.ports import RuntimeResult
from agent_host.runtimes import ProviderConfig, RuntimeSettings
from agent_host.runtimes.sdk import SdkRuntime
from tests.vendors import AnthropicVendor, ChatVendor, GeminiVendor, OpenAIVendor, Turn
from tests.vendors.runs import Gate, Pauses, Sink, request, run
from tests.vendors.server import VendorServer

Vendor = type[VendorServer]
each_vendor = pytest.mark.parametrize(
    "vendor", [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor], ids=lambda v: v.vendor
)
NOW = datetime.now(UTC)


def certificate(folder: Path, *, host: str = "127.0.0.1", until: datetime | None = None) -> Path:
    """A file with a key and a certificate that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=2))
        .not_valid_after(until or NOW + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    hidden = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, hidden)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


async def asked(vendor: Vendor, file: Path) -> tuple[RuntimeResult, Sink]:
    """A run with a vendor that shows this certificate."""
    server = vendor(Turn("Hi."))
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(file)
    async with server:
        return await run(server)


@each_vendor
async def test_a_network_may_have_its_own_certificates(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    result, sink = await asked(vendor, file)
    assert type(result.error) is RuntimeFailed
    assert "name their file in SSL_CERT_FILE" in result.error.message
    assert sink.retries == []
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    result, _ = await asked(vendor, file)
    assert result.output == "Hi.", result.error


@pytest.mark.parametrize(
    ("host", "until", "advice"),
    [
        ("127.0.0.2", None, "check the host in the URL"),
        ("127.0.0.1", NOW - timedelta(days=1), "check the clock"),
    ],
)
async def test_a_wrong_certificate_says_what_is_wrong_with_it(
    host: str,
    until: datetime | None,
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = certificate(tmp_path, host=host, until=until)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    result, sink = await asked(OpenAIVendor, file)
    assert type(result.error) is RuntimeFailed
    assert advice in result.error.message
    assert sink.retries == []


@asynccontextmanager
async def answering(status: str) -> AsyncIterator[str]:
    """Where a proxy is, or a server without TLS, that answers everybody so."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@each_vendor
@pytest.mark.parametrize("scheme", ["https", "http"])
@pytest.mark.parametrize(
    ("status", "advice", "tries"),
    [
        ("407 Proxy Authentication Required", "http://name:password@host:port", 1),
        ("502 Bad Gateway", "", 4),
    ],
)
async def test_a_proxy_that_lets_nobody_through_is_named(
    vendor: Vendor,
    scheme: str,
    status: str,
    advice: str,
    tries: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink = Sink()
    async with answering(status) as place:
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://user:hush@{place}")
        config = ProviderConfig("k", "KEY", f"{scheme}://vendor.test")
        sdk = SdkRuntime(RuntimeSettings({vendor.vendor: config}), pause=Pauses())
        result = await sdk.run(request(f"{vendor.vendor}/m"), sink, Gate())
        await sdk.close()
    assert type(result.error) is RuntimeFailed
    assert advice in result.error.message
    assert "hush" not in result.error.message
    assert len(sink.retries) == tries - 1


async def test_a_server_without_tls_is_told() -> None:
    async with answering("400 Bad Request") as place:
        config = ProviderConfig("k", "KEY", f"https://{place}")
        sdk = SdkRuntime(RuntimeSettings({"openai": config}), pause=Pauses())
        result = await sdk.run(request("openai/m"), Sink(), Gate())
        await sdk.close()
    assert type(result.error) is RuntimeFailed
    assert "write the URL with http://" in result.error.message
