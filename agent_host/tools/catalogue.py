"""All tools of the host itself: names, descriptions, schemas, and what each wish comes to."""

from agent_host.core.actions import (
    Action,
    CallAgent,
    CreateDirectory,
    DeletePath,
    EditFile,
    EditFiles,
    ListDirectory,
    MovePath,
    OpenInEditor,
    ReadDiagnostics,
    ReadFile,
    RunCommand,
    SearchFiles,
    UseSkill,
    WriteFile,
)
from agent_host.core.model import JsonObject
from agent_host.tools.arguments import Arguments
from agent_host.tools.tool import Tool

DIAGNOSTICS = "editor_diagnostics"
"""The tool that needs an editor which declares `agent/diagnostics`."""

MAX_TIMEOUT = 600.0
DEFAULT_TIMEOUT = 120.0


# ---- what each tool comes to


def _read(given: Arguments) -> Action:
    return ReadFile(given.path("path"), given.whole("offset", 1) or 1, given.whole("limit"))


def _list(given: Arguments) -> Action:
    return ListDirectory(given.path("path", "."), given.whole("depth", 1) or 1)


def _search(given: Arguments) -> Action:
    return SearchFiles(
        given.text("pattern"),
        given.path("path", "."),
        given.optional_text("glob"),
        given.flag("ignoreCase"),
    )


def _write(given: Arguments) -> Action:
    return WriteFile(given.path("path"), given.text("text"))


def _edit(given: Arguments) -> Action:
    return EditFile(given.path("path"), given.replacements("edits"))


def _edit_files(given: Arguments) -> Action:
    return EditFiles(given.files("files"))


def _create_directory(given: Arguments) -> Action:
    return CreateDirectory(given.path("path"))


def _move(given: Arguments) -> Action:
    return MovePath(given.path("path"), given.path("to"))


def _delete(given: Arguments) -> Action:
    return DeletePath(given.path("path"))


def _run(given: Arguments) -> Action:
    timeout = given.whole("timeout", int(DEFAULT_TIMEOUT)) or int(DEFAULT_TIMEOUT)
    return RunCommand(
        given.text("command"),
        given.path("cwd", "."),
        min(float(timeout), MAX_TIMEOUT),
        given.flag("network"),
    )


def _diagnostics(given: Arguments) -> Action:
    return ReadDiagnostics(given.path("path"))


def _open(given: Arguments) -> Action:
    return OpenInEditor(given.path("path"), given.whole("line"))


def _skill(given: Arguments) -> Action:
    return UseSkill(given.text("name"), given.optional_text("file"))


def _call(given: Arguments) -> Action:
    return CallAgent(given.text("role"), given.text("prompt"))


# ---- the catalogue


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def _whole(description: str) -> JsonObject:
    return {"type": "integer", "minimum": 1, "description": description}


def _flag(description: str) -> JsonObject:
    return {"type": "boolean", "description": description}


_EDITS: JsonObject = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {
            "old": _text("The exact text to replace, without line numbers."),
            "new": _text("What stands there afterwards."),
        },
        "required": ["old", "new"],
        "additionalProperties": False,
    },
}
_PATH = _text("A path, relative to the working directory or absolute.")
_DIRECTORY = _text("A directory; the working directory if left out.")

CALL = Tool(
    "agent_call",
    "agent.call",
    "low",
    "Have another agent do a part of the work, and get its answer. It knows nothing of this "
    "conversation: tell it all that it needs. Several calls at once are worked on side by side.",
    {"role": _text("Which agent."), "prompt": _text("What it is to do.")},
    ("role", "prompt"),
    _call,
)


CATALOGUE = (
    Tool(
        "fs_read",
        "fs.read",
        "low",
        "Read a text file as it is in the editor now, unsaved changes included. Lines are "
        "numbered from 1 in the answer; the numbers are not part of the text.",
        {
            "path": _PATH,
            "offset": _whole("The first line to read."),
            "limit": _whole("How many lines to read."),
        },
        ("path",),
        _read,
    ),
    Tool(
        "fs_list",
        "fs.list",
        "low",
        "List a directory. Directories end with a slash; ignored files are left out.",
        {"path": _DIRECTORY, "depth": _whole("How many levels to list; 1 if left out.")},
        (),
        _list,
    ),
    Tool(
        "fs_search",
        "fs.search",
        "low",
        "Search text in files by a regular expression (no look-around, no back-references), "
        "unsaved changes included.",
        {
            "pattern": _text("The regular expression."),
            "path": _text("A file or directory; the working directory if left out."),
            "glob": _text("Only files whose name matches this glob, such as *.py."),
            "ignoreCase": _flag("Whether upper and lower case are the same."),
        },
        ("pattern",),
        _search,
    ),
    Tool(
        "fs_write",
        "fs.write",
        "medium",
        "Write a whole file, new or not. To change a part of a file use fs_edit.",
        {"path": _PATH, "text": _text("The whole text of the file.")},
        ("path", "text"),
        _write,
    ),
    Tool(
        "fs_edit",
        "fs.write",
        "medium",
        "Replace exact pieces of a file's text. Each `old` must occur exactly once in the file "
        "as it is now; give enough of the text around it. All edits are made, or none.",
        {"path": _PATH, "edits": _EDITS},
        ("path", "edits"),
        _edit,
    ),
    Tool(
        "fs_edit_files",
        "fs.write",
        "medium",
        "Change several files that belong together. Each has either `edits`, as for fs_edit, or "
        "`text`, as for fs_write. The person is asked once, and may accept some of the files "
        "only: the answer says what became of each. A file is changed whole or not at all.",
        {
            "files": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": _PATH,
                        "edits": _EDITS,
                        "text": _text("The whole text of the file, in place of `edits`."),
                    },
                    "required": ["path"],
                    "additionalProperties": False,
                },
            },
        },
        ("files",),
        _edit_files,
    ),
    Tool(
        "fs_create_directory",
        "fs.createDirectory",
        "low",
        "Create a directory, with its missing parents.",
        {"path": _PATH},
        ("path",),
        _create_directory,
    ),
    Tool(
        "fs_move",
        "fs.delete",
        "high",
        "Rename or move a file, or a directory with everything in it, to a name that is not taken. "
        "What is open in the editor goes along where the editor can do that; else the answer says "
        "what is left.",
        {"path": _PATH, "to": _text("The new path, the name included.")},
        ("path", "to"),
        _move,
    ),
    Tool(
        "fs_delete",
        "fs.delete",
        "high",
        "Delete a file, or a directory with everything in it.",
        {"path": _PATH},
        ("path",),
        _delete,
    ),
    Tool(
        "terminal_run",
        "terminal.run",
        "high",
        "Run a shell command and wait for it to end. It has no input and no terminal, and what "
        "it leaves running is ended with it. The answer holds its exit code and its output.",
        {
            "command": _text("The command line, as for bash."),
            "cwd": _DIRECTORY,
            "timeout": _whole("Seconds after which it is stopped; 120 if left out, 600 at most."),
            "network": _flag("Whether it needs the network, which it is not given otherwise."),
        },
        ("command",),
        _run,
    ),
    Tool(
        DIAGNOSTICS,
        "fs.read",
        "low",
        "Read the errors and warnings that the person's editor shows for a file right now, of its "
        "language servers and linters. They may lag some seconds behind an edit.",
        {"path": _PATH},
        ("path",),
        _diagnostics,
    ),
    Tool(
        "editor_open",
        "editor.open",
        "low",
        "Show a file to the person in their editor.",
        {"path": _PATH, "line": _whole("The line to show, from 1.")},
        ("path",),
        _open,
    ),
    Tool(
        "skill_use",
        "skill.use",
        "low",
        "Load one of the skills that you were told of: how to do a certain kind of work. Load it "
        "before you begin such work.",
        {
            "name": _text("The skill's name."),
            "file": _text("A file in the skill's folder that it speaks of; else the skill itself."),
        },
        ("name",),
        _skill,
    ),
    CALL,
)
"""All tools, in the order in which a model is shown them."""
