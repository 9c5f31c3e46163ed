"""What an editor can do: what it declares, corrected by what was seen of the real one.

A table by client name; each entry is an observation, with the version it was made of. Pure.
"""

from dataclasses import dataclass, replace
from typing import Literal

from agent_host.core.model import JsonObject
from agent_host.lsp.host import ClientInfo
from agent_host.lsp.json_values import is_object, list_in, object_in


@dataclass(frozen=True, slots=True)
class Traits:
    """How to deal with the editor. Times in seconds.

    `checks_versions`: an edit for another version than the present one is not applied.
    `moves`: which open documents go along when it moves files: all, none, or those that hold no
    unsaved text. `quiet_seconds`: so long nothing must have been told before text is replaced,
    since what is typed is told late, and an edit of an older text is made all the same.
    `previews`: an edit is shown first where that is wished. `question_seconds` None: a question
    may stay open for ever, since closing it answers it.
    """

    asks_by: Literal["agent/ask", "window/showMessageRequest"] | None
    takes_document_changes: bool
    checks_versions: bool
    shows_documents: bool
    shows_progress: bool
    saves: bool
    diagnoses: bool
    moves: Literal["all", "clean", "none"]
    previews: bool
    edit_seconds: float = 10.0
    quiet_seconds: float = 0.0
    question_seconds: float | None = None


def traits_of(client: ClientInfo) -> Traits:
    """The traits of the editor that sent these `initialize` params."""
    traits = _declared(client)
    match _who(client):
        case "Neovim":
            # 0.7 to 0.12 take versioned edits without declaring them. A stale one is dropped,
            # with `applied: true`. 0.12 declares annotations; it was not seen to ask about them.
            seen = replace(
                traits, takes_document_changes=True, checks_versions=True, previews=False
            )
        case "Eglot":
            # 1.9 and 1.17 answer questions without declaring it; C-g never answers anything.
            # A buffer that isn't shown is edited only after a y/n question; 1.9 always asks.
            seen = replace(
                traits,
                asks_by=traits.asks_by or "window/showMessageRequest",
                checks_versions=True,
                edit_seconds=60.0,
                question_seconds=600.0,
            )
        case "emacs":
            # lsp-mode 8.0, as Eglot; showDocument and showMessage are declared as null.
            seen = replace(
                traits,
                asks_by=traits.asks_by or "window/showMessageRequest",
                checks_versions=True,
                question_seconds=600.0,
            )
        case "vim-lsp" | "Vim":
            # vim-lsp and yegappan/lsp answer questions and take versioned edits, both undeclared;
            # a stale edit is applied all the same. vim-lsp tells of what is typed up to 1.3 s
            # later, in one change with a stale edit, so that what that removed is never known.
            seen = replace(
                traits,
                asks_by=traits.asks_by or "window/showMessageRequest",
                takes_document_changes=True,
                quiet_seconds=1.3 if client.name == "vim-lsp" else 0.0,
            )
        case "Kate":
            # 22.12 declares no workspace at all but applies edits, stale ones too; it answers
            # showMessageRequest with -32601.
            seen = replace(traits, takes_document_changes=True)
        case "helix" | "other":
            # Helix 25.01 answers showMessageRequest with -32601; 25.07 declares it.
            seen = traits
    return seen


_Who = Literal["Neovim", "Eglot", "emacs", "vim-lsp", "Vim", "Kate", "helix", "other"]


def _who(client: ClientInfo) -> _Who:
    match client.name:
        case "Neovim" | "Eglot" | "emacs" | "vim-lsp" | "Vim" | "Kate" | "helix":
            return client.name
        case None:
            return _nameless(client)
        case _:
            return "other"


def _nameless(client: ClientInfo) -> _Who:
    """Two clients give no name: Kate 22.12 has no workspace, Eglot 1.9 has no window."""
    if not object_in(client.capabilities, "workspace"):
        return "Kate" if object_in(client.capabilities, "window") else "other"
    edit = object_in(client.capabilities, "workspace", "workspaceEdit")
    has_window = "window" in client.capabilities
    is_eglot = not has_window and dict(edit) == {"documentChanges": True}
    return "Eglot" if is_eglot else "other"


def _declared(client: ClientInfo) -> Traits:
    window = object_in(client.capabilities, "window")
    edit = object_in(client.capabilities, "workspace", "workspaceEdit")
    ours = object_in(client.capabilities, "experimental", "agentHost")
    return Traits(
        asks_by=_declared_asking(client),
        takes_document_changes=edit.get("documentChanges") is True,
        # VS Code's client library and Helix are the two that declare it, and both check.
        checks_versions="failureHandling" in edit,
        shows_documents=object_in(window, "showDocument").get("support") is True,
        shows_progress=window.get("workDoneProgress") is True,
        saves=ours.get("save") is True,
        diagnoses=ours.get("diagnostics") is True,
        moves=_declared_moves(edit),
        previews=is_object(edit.get("changeAnnotationSupport")),
    )


def _declared_moves(edit: JsonObject) -> Literal["all", "clean", "none"]:
    """VS Code's client library alone is known to keep unsaved text; Neovim saves it on the way."""
    if "rename" not in list_in(edit, "resourceOperations"):
        return "none"
    return "all" if edit.get("failureHandling") == "textOnlyTransactional" else "clean"


def _declared_asking(
    client: ClientInfo,
) -> Literal["agent/ask", "window/showMessageRequest"] | None:
    if object_in(client.capabilities, "experimental", "agentHost").get("ask") is True:
        return "agent/ask"
    window = object_in(client.capabilities, "window")
    if is_object(window.get("showMessage")):
        return "window/showMessageRequest"
    # Who tells of its windows, and is not known to refuse, is asked: an error costs nothing.
    refuses = _who(client) in ("Kate", "helix")
    return "window/showMessageRequest" if window and not refuses else None
