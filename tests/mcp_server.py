"""A real MCP server, written with the `mcp` package: `stdio`, or `http` on a free port.

With `http` it prints its address as its first line, on stdout.
"""

import asyncio
import os
import socket
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.shared.exceptions import MCPError

PNG = b"\x89PNG" + bytes(100)


def make() -> MCPServer:
    server = MCPServer("test")

    @server.tool(description="Adds two numbers.")
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    def environment() -> str:
        return "\n".join(sorted(os.environ))

    @server.tool()
    def where() -> str:
        return str(Path.cwd())

    @server.tool(structured_output=False)
    def picture() -> list[object]:
        return ["a picture:", Image(data=PNG, format="png")]

    @server.tool()
    def broken() -> str:
        raise ValueError("it went wrong")

    @server.tool()
    def refused() -> str:
        raise MCPError(-32000, "not today")

    @server.tool()
    def long(count: int) -> str:
        return "x" * count

    @server.tool()
    async def slow(ctx: Context, seconds: float, progress: bool = False) -> str:
        print("begun", file=sys.stderr, flush=True)
        for number in range(int(seconds * 10)):
            await asyncio.sleep(0.1)
            if progress:
                await ctx.report_progress(number, seconds * 10)
        return "done"

    return server


def main() -> None:
    server = make()
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app(host="127.0.0.1", json_response="json" in sys.argv)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none")).run(sockets=[listener])


if __name__ == "__main__":
    main()
