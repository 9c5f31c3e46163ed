"""One file that is open under several names, through links: which of its documents is the one.

The one that holds unsaved text; where two hold different ones, none is. Nothing is changed here.
"""

from agent_host.core.actions import PathFacts
from agent_host.core.document import Document
from agent_host.core.errors import ActionFailed
from agent_host.core.ports import Actions, Editor
from agent_host.editing.landed import is_same_but_for_endings
from agent_host.editing.text import decode
from agent_host.session.opened import opened


async def the_open(
    editor: Editor, actions: Actions, path: str, facts: PathFacts | None
) -> Document | None:
    """The document of a path or URI to read and to edit, None if the file is not open.

    Raises ActionFailed `unavailable` where that can't be told.
    """
    document = opened(editor, path)
    twins = twins_of(editor, facts.true_path) if facts else []
    if document is None and twins:
        document = opened(editor, twins[0].uri)
    if facts is None or len({each.text for each in twins}) < 2:
        return document
    saved = (
        "" if facts.kind == "missing" else decode((await actions.read(facts.true_path)).data).text
    )
    unsaved = [each for each in twins if not is_same_but_for_endings(saved, each.text)]
    if len({each.text for each in unsaved}) > 1 or any(each.doubtful for each in twins):
        names = " and ".join(each.path or each.uri for each in unsaved)
        raise ActionFailed(
            "unavailable",
            f"{names} are one file, and both are open with unsaved text that is not the same. "
            "Ask the user to save one of them and to close the other, then try again.",
        )
    return unsaved[0] if unsaved else document


def twins_of(editor: Editor, true_path: str) -> list[Document]:
    """The open documents of one file, by whatever names."""
    return [each for each in editor.documents() if (each.true_path or each.path) == true_path]
