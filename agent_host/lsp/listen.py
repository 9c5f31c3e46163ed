"""Waits for one editor on a loopback port; for debugging, since nobody has to show who they are."""

import asyncio
import ipaddress
import os
import socket
import sys


async def accept_one(address: str) -> tuple[int, int]:
    """Listen at HOST:PORT (port 0: any free one) and take the first client.

    Returns its socket as two fds, to read from and to write to. Says on stderr where it listens.
    Raises ValueError for an address that isn't loopback, OSError for one that can't be had.
    """
    loop = asyncio.get_running_loop()
    host, port = _parse(address)
    listening = socket.create_server((host, port), family=_family(host), backlog=1)
    try:
        listening.setblocking(False)  # noqa: FBT003 - the socket API's own
        name, number = listening.getsockname()[:2]
        print(f"agent-host listens at {name}:{number}", file=sys.stderr, flush=True)  # noqa: T201
        client, _ = await loop.sock_accept(listening)
    finally:
        listening.close()
    source = client.detach()
    return source, os.dup(source)


def _parse(address: str) -> tuple[str, int]:
    name, _, number = address.rpartition(":")
    host = name.strip("[]")
    host = "127.0.0.1" if host in ("", "localhost") else host
    try:
        port = int(number)
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ValueError("Give --tcp a loopback address as 127.0.0.1:PORT.") from None
    if not loopback or not 0 <= port <= 65535:
        raise ValueError("Only loopback addresses can be served: --tcp 127.0.0.1:PORT.")
    return host, port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
