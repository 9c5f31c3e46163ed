"""One session with each vendor, as long as people have them: its rules hold from end to end.

Thirty turns with calls side by side, stopped at each kind of point and gone on with, steered, taken
up by a new host, compacted, and given to another vendor. The vendors' servers refuse what breaks a
rule. And wherever a key could be written down, it is not.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import NEVER, Editor
from tests.e2e.run import Run
from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Turn,
    VendorServer,
)

Vendor = type[VendorServer]
ALL: tuple[Vendor, ...] = (AnthropicVendor, OpenAIVendor, GeminiVendor, ChatVendor)
NAMES: Mapping[str, tuple[str, str]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "local": ("LOCAL_API_KEY", "LOCAL_BASE_URL"),
}
TURNS = 30
ASKED = Call("terminal_run", {"command": "touch made"})
BUSY = Call("terminal_run", {"command": "echo begun; tail -f /dev/null"})


class Player:
    """A vendor's server in a thread of its own; `waits` until it hangs in an answer."""

    def __init__(self, server: VendorServer) -> None:
        self.server = server
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._play()))

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        self._loop.close()

    def waits(self) -> None:
        asyncio.run_coroutine_threadsafe(self._hangs(), self._loop).result(20)

    async def _hangs(self) -> None:
        await self.server.hanging.wait()
        self.server.hanging.clear()

    async def _play(self) -> None:
        async with self.server:
            self._ready.set()
            await self._over.wait()


@contextmanager
def playing(*servers: VendorServer) -> Iterator[list[Player]]:
    players = [Player(server) for server in servers]
    try:
        for player in players:
            player.start()
        yield players
    finally:
        for player in players:
            player.close()


def environment(*servers: VendorServer, key: str = VendorServer.KEY) -> dict[str, str]:
    given = {"AGENT_HOST_MAX_TURNS": str(TURNS + 5)}
    for server in servers:
        key_name, url_name = NAMES[server.vendor]
        given |= {key_name: key, url_name: server.url}
    return given


def read(*numbers: int) -> tuple[Call, ...]:
    return tuple(Call("fs_read", {"path": f"f{number}.txt"}) for number in numbers)


class Story:
    """A session with one model."""

    def __init__(self, editor: Editor, player: Player, session: str | None = None) -> None:
        self.editor = editor
        self.player = player
        self.session = session

    def begin(self, *turns: Turn) -> Run:
        self.player.server.turns[:] = turns
        more = {"sessionId": self.session} if self.session else {}
        model = f"{self.player.server.vendor}/test-model"
        return self.editor.run("Go on.", model=model, **more)

    def ends(self, run: Run, status: str = "completed") -> Any:
        result = run.result(60)
        self.session = result["sessionId"]
        assert self.player.server.refused == []
        assert result["status"] == status, result
        return result

    def goes_on(self) -> None:
        """Another run, which calls and thinks, so that all that was before is sent."""
        result = self.ends(self.begin(Turn(thinking="On.", calls=read(1)), Turn("I went on.")))
        assert result["output"] == "I went on."

    def stopped(self, run: Run) -> None:
        self.editor.stop(runId=run.id)
        self.ends(run, "stopped")
        self.goes_on()

    def stopped_in_an_answer(self, place: str) -> None:
        text = "Half." if place == "text" else ""
        first = Turn(thinking="Hm.", calls=read(2, 3))
        hanging = Turn(text, thinking="Long.", calls=read(4, 5), hang=place)  # type: ignore[arg-type]
        run = self.begin(first, hanging)
        self.player.waits()
        if text:
            run.wait("text")
        self.stopped(run)


def long_run(story: Story) -> None:
    """As many turns as it takes, with two calls each, and what the vendor saved by its cache."""
    turns = [
        Turn(f"Step {n}.", thinking=f"Thought {n}.", calls=read(2 * n, 2 * n + 1))
        for n in range(TURNS)
    ]
    result = story.ends(story.begin(*turns, Turn("All is read.")))
    assert result["output"] == "All is read."
    assert result["usage"]["cachedTokens"] == 60 * (TURNS + 1)
    server = story.player.server
    if isinstance(server, AnthropicVendor):
        assert server.reused == [False] + [True] * TURNS


def stops(story: Story) -> None:
    for place in ("nothing", "thinking", "text", "half_call", "call"):
        story.stopped_in_an_answer(place)
    story.editor.answers = "Allow once"
    run = story.begin(Turn(thinking="Hm.", calls=(*read(6), BUSY)))
    run.wait("toolOutput")
    story.stopped(run)
    story.editor.answers = NEVER
    count = len(story.editor.questions())
    run = story.begin(Turn(thinking="Hm.", calls=(*read(7), ASKED)))
    story.editor.wait_question(count + 1)
    story.stopped(run)


def steered(story: Story) -> None:
    """What is said while a call waits for its answer comes behind its result."""
    count = len(story.editor.questions())
    run = story.begin(Turn(thinking="Hm.", calls=(*read(8), ASKED)), Turn("As you say."))
    question = story.editor.wait_question(count + 1)
    said = {"sessionId": story.session, "prompt": "Be brief."}
    assert story.editor.request("agent/steer", said).result()["accepted"] == "steered"
    story.editor.answer(question, "Allow once")
    assert story.ends(run)["output"] == "As you say."
    assert "Be brief." in str(story.player.server.bodies[-1])


@pytest.mark.parametrize("number", range(len(ALL)), ids=[vendor.vendor for vendor in ALL])
def test_a_long_story(hosts: Hosts, number: int) -> None:
    for each in range(2 * TURNS):
        hosts.file(f"f{each}.txt", f"line {each}\n")
    one, other = ALL[number](), ALL[(number + 1) % len(ALL)]()
    with playing(one, other) as (player, another):
        env = environment(one, other)
        story = Story(hosts.start(env=env), player)
        long_run(story)
        stops(story)
        steered(story)
        assert story.editor.shutdown() == 0
        story = Story(hosts.start(env=env), player, story.session)
        story.goes_on()
        one.turns[:] = [Turn("Summed up.")]
        params = {"sessionId": story.session}
        assert story.editor.request("agent/session/compact", params).result()["status"]
        story.goes_on()
        assert "Summed up." in str(one.bodies[-1])
        moved = Story(story.editor, another, story.session)
        moved.goes_on()
        back = Story(story.editor, player, story.session)
        back.goes_on()
        assert one.refused == other.refused == []


ENVIRONMENT = "env; cat /proc/$PPID/environ"
CANARY = "canary-7f3a9c-of-no-known-form"


def test_no_key_is_ever_written_down(hosts: Hosts) -> None:
    """Vendors repeat it in what they refuse; then commands, the store, logs and what is told."""
    said = f"the key {CANARY} is not good (Bearer {CANARY})"
    page = ("text/html", f"<html><title>{CANARY}</title>{CANARY}</html>")
    servers = [vendor() for vendor in ALL]
    with playing(*servers):
        editor = hosts.start(env=environment(*servers, key=CANARY) | {"AGENT_HOST_LOG": "debug"})
        for server in servers:
            server.KEY = CANARY
            model = f"{server.vendor}/test-model"
            for turns in (
                [Turn(status=401, message=said)],
                [Turn(status=400, message=said)],
                [Turn(status=403, page=page)],
                [Turn(page=page)] * 4,
                [Turn(status=429, message=said, retry_after=3600.0)],
                [Turn("Half.", error_in_stream=True, message=said)],
                [Turn("No.", finish="refused", message=said)],
                [Turn(calls=(Call("terminal_run", {"command": ENVIRONMENT}),)), Turn("Done.")],
            ):
                server.turns[:] = turns
                result = editor.run(model=model).result(30)
                assert result["status"] in ("failed", "refused", "completed"), result
        assert all(server.refused == [] for server in servers)
        editor.request("agent/models", {}).result()
        assert editor.shutdown() == 0
    told = [str(message) for message in editor.received() if CANARY in str(message)]
    assert told == []
    written = [path for path in hosts.folder.rglob("*") if path.is_file()]
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
