"""Role files: Markdown with front matter to Roles, and why some of them can't be used.

Fails closed: a role with any error is unusable, and hides roles of its name in earlier folders.
Not here: what a skill allows (permissions/), how rules read (a function passed in).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from agent_host.core.errors import RoleBroken, RoleNotFound
from agent_host.core.model import Callee, Role, RoleProblem
from agent_host.fields.front_matter import FrontMatter, read_front_matter
from agent_host.fields.reader import (
    Fields,
    ParseRules,
    Problem,
    effort_of,
    hint,
    limits_of,
    rules_of,
)
from agent_host.fields.yaml_source import YamlError

WORKSPACE_FOLDER = Path(".agent", "rules", "roles")
SKILLS = ("fs.read", "fs.write", "fs.delete", "terminal", "editor.open", "mcp")
MAX_BYTES = 256 * 1024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_NAME_LINE = re.compile(r"^name:[ \t]*[\"']?([A-Za-z0-9][A-Za-z0-9_-]*)", re.MULTILINE)
_MODEL = re.compile(r"[A-Za-z0-9_-]+/\S+")


@dataclass(frozen=True, slots=True)
class RoleShelf:
    """All roles that can be used, by name, and the problems of those that can't (or are odd)."""

    roles: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType[str, Role]({}))
    problems: tuple[RoleProblem, ...] = ()

    def get(self, name: str) -> Role:
        """The role of that name. Raises RoleBroken with file and line, or RoleNotFound."""
        role = self.roles.get(name)
        if role is not None:
            return role
        for problem in self.problems:
            if problem.name == name and problem.severity == "error":
                raise RoleBroken(
                    f"The role `{name}` can't be used: {_file(problem)}: {problem.reason}",
                    role=name,
                    line=problem.line,
                )
        known = ", ".join(sorted(self.roles)) or "none"
        raise RoleNotFound(f"There is no role `{name}`. Known: {known}.", role=name)


def packaged_roles() -> Path:
    """The folder of the roles that come with the program, in a wheel or in a checkout."""
    beside = Path(__file__).parent / "_roles"
    return beside if beside.is_dir() else Path(__file__).parent.parent / "roles"


@dataclass(frozen=True, slots=True)
class RoleFolder:
    """A folder of role files, and who reads the rules in them (None: rules are an error)."""

    path: Path
    parse_rules: ParseRules | None = None


def read_roles(folders: Iterable[RoleFolder]) -> RoleShelf:
    """Read each folder's `*.md`; a later folder's role takes the place of an earlier one's."""
    roles: dict[str, Role] = {}
    problems: dict[str, list[RoleProblem]] = {}
    for folder in folders:
        for name, (role, found) in _read_folder(folder).items():
            roles.pop(name, None)
            problems[name] = found
            if role is not None:
                roles[name] = role
    ordered = (problem for name in sorted(problems) for problem in problems[name])
    return RoleShelf(MappingProxyType(dict(sorted(roles.items()))), tuple(ordered))


def role_problems(
    path: str, text: str, parse_rules: ParseRules | None = None
) -> tuple[RoleProblem, ...]:
    """What is wrong with the text of a role file, saved or not."""
    return _read_role(path, text.encode("utf-8", "surrogatepass"), parse_rules)[2]


# ---- one folder


_Found = tuple[Role | None, list[RoleProblem]]


def _read_folder(folder: RoleFolder) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    for path in _role_files(folder.path):
        name, role, problems = _read_file(path, folder.parse_rules)
        if name in found:
            # Which of the two was meant can't be known, so neither is used.
            reason = (
                f"Another file of this folder has the role `{name}` too; give one another name."
            )
            twice = RoleProblem(name, str(path), 1, reason)
            found[name] = (None, [*found[name][1], *problems, twice])
        else:
            found[name] = (role, list(problems))
    return found


def _role_files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".md")
    except OSError:
        return []


def _read_file(
    path: Path, parse_rules: ParseRules | None
) -> tuple[str, Role | None, tuple[RoleProblem, ...]]:
    try:
        if not path.is_file():
            return _unread(path, "It is no regular file.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _unread(path, f"It can't be read: {error.strerror or 'unknown reason'}.")
    if len(data) > MAX_BYTES:
        return _unread(path, f"It is larger than {MAX_BYTES // 1024} KiB.")
    return _read_role(str(path), data, parse_rules)


def _unread(path: Path, reason: str) -> tuple[str, None, tuple[RoleProblem, ...]]:
    return path.stem, None, (RoleProblem(path.stem, str(path), 1, reason),)


# ---- one file


def _read_role(
    source: str, data: bytes, parse_rules: ParseRules | None
) -> tuple[str, Role | None, tuple[RoleProblem, ...]]:
    text = ""
    try:
        text = data.decode("utf-8")
        matter = read_front_matter(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _broken(source, text, YamlError(line, "The file is not UTF-8."))
    except YamlError as error:
        return _broken(source, text, error)
    found: list[Problem] = []
    role = _role_of(matter, source, data, found, parse_rules)
    problems = tuple(
        RoleProblem(
            role.name,
            source,
            problem.line or 1,
            f"`{problem.name}` {problem.reason}" if problem.name else problem.reason,
            "warning" if problem.warning else "error",
        )
        for problem in found
    )
    usable = all(problem.warning for problem in found)
    return role.name, role if usable else None, problems


def _broken(source: str, text: str, error: YamlError) -> tuple[str, None, tuple[RoleProblem, ...]]:
    guess = _NAME_LINE.search(text)  # so that the role is missed under the name people use
    name = guess.group(1) if guess else Path(source).stem
    return name, None, (RoleProblem(name, source, error.line, error.reason),)


def _role_of(
    matter: FrontMatter,
    source: str,
    data: bytes,
    problems: list[Problem],
    parse_rules: ParseRules | None,
) -> Role:
    fields = Fields(matter.fields, problems)
    stem = Path(source).stem
    name = fields.text("name") or stem
    if not _NAME.fullmatch(name):
        fields.report("name", "must be letters, digits, `-` and `_` only.")
        name = stem
    capabilities = fields.mapping("capabilities")
    role = Role(
        name=name,
        description=fields.text("description") or "",
        prompt=matter.body,
        source=source,
        sha256=hashlib.sha256(data).hexdigest(),
        model=_model(fields),
        runtime=fields.text("runtime"),
        skills=_skills(capabilities, "skills"),
        programs=_programs(capabilities.mapping("tools")),
        limits=limits_of(fields.mapping("limits")),
        effort=effort_of(fields),
        rules=rules_of(fields, source, parse_rules),
        may_call=_may_call(fields),
        knows=_knows(fields),
    )
    capabilities.finish()
    fields.finish()
    if not matter.body:
        reason = "The role has no prompt: write it below the front matter."
        problems.append(Problem("", matter.body_line, reason))
    return role


def _model(fields: Fields) -> str | None:
    model = fields.text("model")
    if model is not None and not _MODEL.fullmatch(model):
        return fields.report("model", "must be `vendor/name`, such as `anthropic/claude-...`.")
    return model


def _skills(fields: Fields, key: str) -> frozenset[str]:
    skills: set[str] = set()
    for item in fields.texts(key):
        skill = str(item.value)
        if skill in SKILLS or skill.startswith("mcp:"):
            skills.add(skill)
        else:
            near = hint(skill, SKILLS)
            fields.report(key, f"has the unknown skill `{skill}`.{near}", item.line)
    return frozenset(skills)


def _programs(tools: Fields) -> frozenset[str]:
    programs: set[str] = set()
    for name, value in tools.rest().items():
        if value.value == "supported":
            programs.add(name)
        elif value.value != "unsupported":
            tools.report(name, "must be `supported` or `unsupported`.")
    return frozenset(programs)


def _may_call(fields: Fields) -> tuple[Callee, ...]:
    """`agents`: names of roles, or `{role: name, keeps: [skills]}`."""
    found = fields.get("agents")
    if found is None:
        return ()
    if found.items is None:
        fields.report("agents", "must be a list of roles.")
        return ()
    callees: dict[str, Callee] = {}
    for item in found.items:
        name, keeps = item.value, frozenset[str]()
        if item.fields is not None:
            entry = Fields(item, fields.problems, "agents")
            name, keeps = entry.text("role"), _skills(entry, "keeps")
            entry.finish()
        if isinstance(name, str) and _NAME.fullmatch(name.strip()):
            callees[name.strip()] = Callee(name.strip(), keeps)
        else:
            fields.report("agents", f"has `{name}`, which can't be a role's name.", item.line)
    return tuple(callees.values())


def _knows(fields: Fields) -> tuple[str, ...] | None:
    if fields.get("skills") is None:
        return None
    names: list[str] = []
    for item in fields.texts("skills"):
        name = str(item.value)
        if _NAME.fullmatch(name):
            names.append(name)
        else:
            reason = f"has `{name}`, which can't be the name of a SKILL.md folder."
            if name in SKILLS or name.startswith("mcp:"):
                reason = f"has `{name}`: what a role may do stands in `capabilities.skills`."
            fields.report("skills", reason, item.line)
    return tuple(dict.fromkeys(names))


def _file(problem: RoleProblem) -> str:
    return f"{Path(problem.source).name}:{problem.line}"
