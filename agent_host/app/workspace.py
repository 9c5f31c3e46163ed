"""The workspace as the host sees it: its folders, the settings and roles in force, its trust.

What an untrusted workspace brings for agents is listed, never used. Not here: documents.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from agent_host.app.servers import (
    FolderServers,
    ServerList,
    Tools,
    misnamed,
    misnamed_in_settings,
    server_list,
)
from agent_host.app.workspace_rules import WorkspaceRules
from agent_host.core.guidance import GuidanceProblem
from agent_host.core.model import SDK, JsonObject, Role, RoleProblem
from agent_host.core.records import workspace_key
from agent_host.core.uris import uri_to_path
from agent_host.credentials import Credentials, only_asks, read_credentials
from agent_host.fields.reader import ParseRules
from agent_host.guidance.files import MayRead
from agent_host.guidance.parsing import parse_prompt, parse_skill
from agent_host.guidance.reader import WORKSPACE_FOLDERS, Place, brought, kind_of
from agent_host.keychain import Keychain
from agent_host.lsp.host import Folder, WorkspaceStatus
from agent_host.permissions import paths
from agent_host.permissions.engine import unread_because
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.paths import is_secret
from agent_host.permissions.rights import Right, rights
from agent_host.permissions.subject import Policy
from agent_host.permissions.trust import TrustBook
from agent_host.roles import (
    WORKSPACE_FOLDER,
    RoleFolder,
    RoleShelf,
    packaged_roles,
    read_roles,
    role_problems,
)
from agent_host.settings import SettingProblem, Settings, StateDirs, load_settings, split_keys

MOUNTING = "bubblewrap"
"""The sandbox that can hide files and lay unsaved text over them."""

_READER = Role("guidance", "", "", "", "", skills=frozenset({"fs.read"}))
"""For whom the guidance of a workspace is read."""

MOST_LISTED = 100
"""How many things that an untrusted folder brings are named."""

NOT_TRUSTED = "The workspace is not trusted yet, so its roles are not used."


class Workspace:
    """Folders, settings and roles; `sandbox` says what commands are confined by."""

    def __init__(
        self,
        dirs: StateDirs,
        environment: Mapping[str, str],
        grants: GrantBook,
        trust: TrustBook,
        *,
        parse_rules: ParseRules,
        narrow_rules: ParseRules,
        sandbox: Callable[[], str],
    ) -> None:
        self._dirs = dirs
        self._environment = environment
        self._grants = grants
        self._trust = trust
        self._parse_rules = parse_rules
        self._narrow_rules = narrow_rules
        self._workspace_rules = WorkspaceRules(narrow_rules)
        self._sandbox = sandbox
        self._folders: tuple[Folder, ...] = ()
        self._roots: tuple[str, ...] = ()
        self._own_settings: JsonObject = {}
        self._configuration: JsonObject = {}
        self._editor_keys: Mapping[str, str] = {}
        self._shelf: tuple[object, RoleShelf] | None = None
        self.settings = Settings()
        self._setting_problems: tuple[SettingProblem, ...] = ()
        self._known_tools: Callable[[], Tools] = dict
        self.keychain = Keychain(dirs.state)

    @property
    def state_folder(self) -> Path:
        """Where the host keeps what is its own."""
        return self._dirs.state

    # ---- folders

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders as true paths, in the editor's order."""
        return self._roots

    @property
    def key(self) -> str:
        """One key for this set of folders."""
        return workspace_key(self._roots)

    def set_folders(self, folders: Sequence[Folder]) -> None:
        """Take these folders; those that are no directories of this machine are left out."""
        self._folders = tuple(folders)
        found = (uri_to_path(folder.uri) for folder in folders)
        self._roots = tuple(dict.fromkeys(os.path.realpath(path) for path in found if path))

    def change_folders(self, added: Sequence[Folder], removed: Sequence[Folder]) -> None:
        """Take what the editor says has changed."""
        gone = {folder.uri for folder in (*removed, *added)}
        kept = [folder for folder in self._folders if folder.uri not in gone]
        self.set_folders((*kept, *added))

    def wide(self) -> str | None:
        """The first folder that is no project: the home folder, one above it, or the whole disk."""
        home = os.path.realpath(Path.home())
        return next((each for each in self._roots if paths.beneath(each, home)), None)

    # ---- trust

    def trusted(self, root: str) -> bool:
        """Whether a folder is trusted, by the settings or by an answer of the user."""
        match self.settings.trust:
            case "always":
                return True
            case "never":
                return False
            case "ask":
                return self._trust.trusted(root)

    def brings(self, root: str) -> tuple[str, ...]:
        """What trusting a folder would bring into use."""
        folder = Path(root, WORKSPACE_FOLDER)
        read = read_roles([RoleFolder(folder, self._narrow_rules)]).roles.values()
        runs = {role.source: f" (runs {what})" for role in read if (what := _program_of(role))}
        roles = (
            f"{WORKSPACE_FOLDER}/{path.name}{runs.get(str(path), '')}"
            for path in sorted(folder.glob("*.md"))
        )
        return (*roles, *self._workspace_rules.names(root), *brought(root))

    def status(self) -> tuple[WorkspaceStatus, ...]:
        """Each folder, and what is ignored of it. Reads the disk."""
        trusted = {root: self.trusted(root) for root in self._roots}
        return tuple(
            WorkspaceStatus(root, is_trusted, () if is_trusted else self.brings(root)[:MOST_LISTED])
            for root, is_trusted in trusted.items()
        )

    # ---- guidance

    def guidance_places(self) -> tuple[Place, ...]:
        """Where guidance is looked for, the user's own first."""
        own = Place(None, (self._dirs.config,), trusted=True, may_read=is_secret)
        theirs = (
            Place(
                root,
                tuple(Path(root, name) for name in WORKSPACE_FOLDERS),
                trusted=self.trusted(root),
                may_read=self._reader(root),
            )
            for root in self._roots
        )
        return (own, *theirs)

    def file_problems(self, path: str, text: str) -> Sequence[RoleProblem | GuidanceProblem] | None:
        """What is wrong with the text of a role, skill or prompt file; None for other files."""
        if self.is_role_file(path):
            return role_problems(path, text, self._parse_rules)
        theirs = (Path(root, name) for root in self._roots for name in WORKSPACE_FOLDERS)
        match kind_of(path, (self._dirs.config, *theirs)):
            case "skill":
                return parse_skill(path, text)[2]
            case "prompt":
                return parse_prompt(path, text)[2]
            case _:
                return None

    def _reader(self, root: str) -> MayRead:
        """Judges the reading of guidance as an agent's reading would be; what is asked is not."""
        policy = self.policy(_READER, "", root)

        return partial(unread_because, policy=policy)

    # ---- settings

    def set_own_settings(self, options: JsonObject) -> None:
        """Take initializationOptions, or what a plug-in told later in their place."""
        keys, self._own_settings = split_keys(options)
        self._editor_keys = keys or self._editor_keys
        self.reload()

    def set_configuration(self, configuration: JsonObject) -> None:
        """Take what the editor answers for the workspace, which only narrows."""
        self._configuration = configuration
        self.reload()

    @property
    def credentials(self) -> Credentials:
        """The vendors' keys as they are now; those in the keyring are named, not read."""
        return read_credentials(self._environment, self._editor_keys, self.keychain.stored())

    def reload(self) -> None:
        """Read the settings again. Reads one small file."""
        self.settings, self._setting_problems = load_settings(
            self._environment,
            (self._own_settings, self._configuration),
            self._parse_rules,
        )

    @property
    def setting_problems(self) -> tuple[SettingProblem, ...]:
        """What is wrong with the settings, by what is known of MCP servers now. Reads the disk."""
        misnamed = misnamed_in_settings(self.settings.rules, self._tools_of(self._known_tools()))
        return (*self._setting_problems, *misnamed)

    def servers(self) -> ServerList:
        """The MCP servers that there are for these folders, as the files are now."""
        brought = (
            FolderServers(root, self.trusted(root), self._workspace_rules.of(root).servers)
            for root in self._roots
        )
        return server_list(self.settings.mcp_servers, tuple(brought))

    def know_tools(self, known: Callable[[], Tools]) -> None:
        """Take who knows the tools of servers that were started, by name."""
        self._known_tools = known

    def wrong_names(self) -> tuple[str, ...]:
        """The rules that name a tool which its server, being known, has not. Reads the disk."""
        theirs = [
            rule
            for root in self._roots
            if self.trusted(root)
            for rule in self._workspace_rules.of(root).rules
        ]
        own = [rule for role in self._read_roles().roles.values() for rule in role.rules]
        rules = (*self.settings.rules, *theirs, *own)
        before = set(misnamed_in_settings(rules, self._tools_of({})))
        now = misnamed_in_settings(rules, self._tools_of(self._known_tools()))
        return tuple(dict.fromkeys(each.sentence for each in now if each not in before))

    def _tools_of(self, known: Tools) -> Tools:
        return {name: known.get(name) for name in self.servers().names}

    # ---- roles

    async def roles(self) -> RoleShelf:
        """The roles as they are on disk now."""
        return await asyncio.to_thread(self.roles_now, self._known_tools())

    def rights_of(self, role: Role) -> tuple[Right, ...]:
        """What a role may do in the first folder as things are now, and why."""
        policy = self.policy(role, "", self._roots[0] if self._roots else "")
        return rights(policy, [server.name for server in self.servers().usable])

    def is_role_file(self, path: str) -> bool:
        """Whether a path is where roles are looked for."""
        if not path.endswith(".md"):
            return False
        folders = [self._dirs.roles, *(Path(root, WORKSPACE_FOLDER) for root in self._roots)]
        return any(os.path.realpath(folder) == str(Path(path).parent) for folder in folders)

    def roles_now(self, known: Tools = MappingProxyType({})) -> RoleShelf:
        """The roles, with what is wrong in the workspace's rules or keeps them from being used.

        `known` are the tools of MCP servers that were started. Reads the disk.
        """
        shelf = self._read_roles()
        found = [
            problem
            for root in self._roots
            for problem in (
                self._workspace_rules.of(root).problems
                if self.trusted(root)
                else self._workspace_rules.unused(root)
            )
        ]
        theirs = [rule for root in self._roots for rule in self._workspace_rules.of(root).rules]
        found += misnamed(shelf.roles.values(), theirs, self._tools_of(known))
        return replace(shelf, problems=(*shelf.problems, *found)) if found else shelf

    def _read_roles(self) -> RoleShelf:
        own = [RoleFolder(packaged_roles(), self._parse_rules)]
        own.append(RoleFolder(self._dirs.roles, self._parse_rules))
        theirs = {
            root: RoleFolder(Path(root, WORKSPACE_FOLDER), self._narrow_rules)
            for root in self._roots
        }
        trusted = tuple(root for root in theirs if self.trusted(root))
        state = (trusted, [_fingerprint(folder.path) for folder in (*own, *theirs.values())])
        if self._shelf is None or self._shelf[0] != state:
            shelf = read_roles([*own, *(theirs[root] for root in trusted)])
            distrusted = [folder for root, folder in theirs.items() if root not in trusted]
            self._shelf = (state, _with_unused(shelf, read_roles(distrusted)))
        return self._shelf[1]

    # ---- policy

    def _programs_are_the_users(self) -> bool:
        """Whether no folder of PATH is in the workspace: else `ls` may be anything."""
        found = [os.path.realpath(each) for each in self._environment.get("PATH", "").split(":")]
        return not any(paths.beneath(root, each) for root in self._roots for each in found)

    def policy(self, role: Role, session_id: str, root: str) -> Policy:
        """By what an action of a role in a session is judged."""
        roles = (str(packaged_roles()), str(self._dirs.roles))
        return Policy(
            role=role,
            roots=self._roots,
            trusted=self.trusted(root) if root else False,
            user_rules=self.settings.rules,
            workspace_rules=tuple(
                rule
                for each in self._roots
                if self.trusted(each)
                for rule in self._workspace_rules.of(each).rules
            ),
            role_may_allow=any(paths.beneath(folder, role.source) for folder in roles),
            grants=self._grants.view(session_id, self._roots),
            sandbox=self._sandbox(),
            secrets_masked=self._sandbox() == MOUNTING,
            shell_auto_allow=self._programs_are_the_users(),
            own=(str(self._dirs.config), str(packaged_roles())),
            state=(str(self._dirs.state), str(self._dirs.cache)),
            home=str(Path.home()),
        )


def _program_of(role: Role) -> str | None:
    """What a role has run in place of asking a vendor's model: a program, or a script."""
    if role.runtime not in (None, SDK):
        return role.runtime
    return None if role.model is None or only_asks(role.model) else role.model


def _fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes whenever a role file of the folder does."""
    try:
        with os.scandir(folder) as entries:
            return tuple(
                sorted(
                    (entry.name, entry.stat().st_mtime_ns, entry.stat().st_size)
                    for entry in entries
                    if entry.name.endswith(".md")
                )
            )
    except OSError:
        return ()


def _with_unused(shelf: RoleShelf, unused: RoleShelf) -> RoleShelf:
    """The shelf, with the roles of untrusted folders listed as unusable."""
    left_out = tuple(
        RoleProblem(role.name, role.source, 1, NOT_TRUSTED, "warning")
        for role in unused.roles.values()
    )
    if not left_out and not unused.problems:
        return shelf
    problems = (*shelf.problems, *left_out, *unused.problems)
    return replace(shelf, problems=problems, roles=MappingProxyType(dict(shelf.roles)))
