"""Model vendors on loopback, for tests: each speaks its protocol and refuses wrong requests.

    async with AnthropicVendor(Turn("I look.", calls=(Call("fs_read", {"path": "a"}),))) as vendor:
        ...  # base URL `vendor.url`, key `vendor.KEY`
    assert vendor.refused == []

`vendor.bodies` are the requests taken; `hanging`, `left` are events; `open` counts connections.
"""

from tests.vendors.anthropic import AnthropicVendor
from tests.vendors.chat import ChatVendor
from tests.vendors.gemini import GeminiVendor
from tests.vendors.openai import OpenAIVendor
from tests.vendors.server import VendorServer
from tests.vendors.turns import Call, Place, Tokens, Turn

__all__ = [
    "AnthropicVendor",
    "Call",
    "ChatVendor",
    "GeminiVendor",
    "OpenAIVendor",
    "Place",
    "Tokens",
    "Turn",
    "VendorServer",
]
