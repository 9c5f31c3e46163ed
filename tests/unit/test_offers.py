"""What a conversation offers where a list shows no places: one of a title, that of the cursor."""

import pytest

from agent_host.conversation.offers import Offer, nearest

OFFERS = (
    Offer("Undo its changes", "agentHost.revert", {"runId": "1"}, 4),
    Offer("Undo its changes", "agentHost.revert", {"runId": "2"}, 20),
    Offer("Take back", "agentHost.takeBack", {"prompt": "first"}, 30),
    Offer("Take back", "agentHost.takeBack", {"prompt": "second"}, 33),
    Offer("Send", "agentHost.send", {}, 36),
)


@pytest.mark.parametrize(
    ("line", "run", "prompt"),
    [
        (0, "1", "first"),
        (4, "1", "first"),
        (19, "1", "first"),
        (20, "2", "first"),
        (32, "2", "first"),
        (33, "2", "second"),
        (99, "2", "second"),
    ],
)
def test_of_offers_with_one_title_the_cursor_chooses(line: int, run: str, prompt: str) -> None:
    undo, back, send = nearest(OFFERS, line)
    assert (undo.arguments, back.arguments) == ({"runId": run}, {"prompt": prompt})
    assert send is OFFERS[-1]
