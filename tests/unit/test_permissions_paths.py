"""What the text of a path says: sane, beneath, protected, secret-looking."""

import pytest

from agent_host.action_server.names import is_secret as looks_secret
from agent_host.permissions import paths
from agent_host.permissions.protected import PROTECTED, PROTECTED_NAMES, SECRET, SECRET_NAMES

ROOTS = ("/w/app",)


@pytest.mark.parametrize(
    "path",
    [
        "/w/app/x.py",
        "relative/x",
        "/w/a b/ü.txt",
        "/w/日本/x",
        "/w/app/../x",
        "./x",
        "/w/x~",
        "/w/a:b",
        "/w/con.py",
        "/w/...x",
    ],
)
def test_sane(path: str) -> None:
    assert paths.sane(path, windows=False) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("~/x", "~"),
        ("~root/x", "~"),
        ("/w/a\0b", "U+0000"),
        ("/w/a\nb", "U+000A"),
        ("/w/a\x1b[8mb", "U+001B"),
        ("/w/a\x85b", "U+0085"),
        ("/w/a\u202eb", "U+202E"),
        ("/w/a\u202ab", "U+202A"),
        ("/w/a\u2066b", "U+2066"),
        ("/w/a\u2069b", "U+2069"),
        ("/w/a\u200fb", "U+200F"),
        ("/w/a\u2029b", "U+2029"),
        ("/w/a\u200bb", "U+200B"),
        ("/w/.g\u200cit/config", "U+200C"),
        ("/w/a\ufeffb", "U+FEFF"),
        ("/w/a\u2028b", "U+2028"),
        ("/w/a\udcffb", "U+DCFF"),
        ("/w/\U000e0072", "U+E0072"),
        ("/w/" + "x" * 256, "255"),
        ("/w/" + "ü" * 128, "255"),
        ("/" + "x/" * 2050, "4095"),
        ("/w/x.", "dot"),
        ("/w/x ", "blank"),
        ("/w/x /y", "blank"),
        ("//server/share", "network"),
        ("\\\\server\\share", "network"),
        ("\\??\\UNC\\127.0.0.1\\s\\x", "network"),
        ("\\\\?\\C:\\x", "network"),
        ("\\\\.\\pipe\\x", "network"),
        ("\\\\?\\UNC\\127.0.0.1\\s\\x", "network"),
        ("//?/C:/x", "network"),
        ("//./COM1", "network"),
        ("/??/C:/x", "network"),
    ],
)
def test_not_sane(path: str, reason: str) -> None:
    assert reason in (paths.sane(path, windows=False) or "fine")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("C:\\w\\x:stream", "stream"),
        ("C:\\w\\.git::$INDEX_ALLOCATION", "stream"),
        ("C:\\w\\CON", "device"),
        ("C:\\w\\nul.txt", "device"),
        ("C:\\w\\COM1", "device"),
        ("C:\\w\\lpt9.log", "device"),
        ("C:\\w\\AUX\\x", "device"),
        ("C:\\w\\prn.tar.gz", "device"),
        ("C:\\w\\COM\u00b9", "device"),
        ("C:/w/conin$", "device"),
        ("\\\\server\\share\\x", "network"),
        ("C:\\w\\x.", "dot"),
        ("C:\\PROGRA~1\\x", "short"),
        ("C:\\w\\git~1", "short"),
    ],
)
def test_not_sane_on_windows(path: str, reason: str) -> None:
    assert reason in (paths.sane(path, windows=True) or "fine")


def test_sane_on_windows() -> None:
    assert paths.sane("C:\\w\\src\\x.py", windows=True) is None


@pytest.mark.parametrize(
    ("root", "path", "inside"),
    [
        ("/w/app", "/w/app", True),
        ("/w/app", "/w/app/", True),
        ("/w/app/", "/w/app/x", True),
        ("/w/app", "/w/app/x/y", True),
        ("/w/app", "/w/app-secret/x", False),
        ("/w/app", "/w/app2/x", False),
        ("/w/app", "/w", False),
        ("/w/app", "/w/App/x", False),
        ("/w/app", "/w/app/../x", False),
        ("/w/app", "app/x", False),
        ("app", "/w/app", False),
        ("/", "/anything", True),
    ],
)
def test_beneath(root: str, path: str, inside: bool) -> None:
    assert paths.beneath(root, path) is inside


def test_the_innermost_root_counts() -> None:
    assert paths.root_of(("/w", "/w/app", "/x"), "/w/app/src") == "/w/app"
    assert paths.relative(("/w", "/w/app"), "/w/app/src/a.py") == "src/a.py"
    assert paths.relative(("/w/app",), "/w/app") == "."
    assert paths.relative(("/w/app",), "/w/other") is None


@pytest.mark.parametrize(
    ("cwd", "word", "place"),
    [
        ("/w/app", "x", "/w/app/x"),
        ("/w/app", "../x", "/w/x"),
        ("/w/app", "/etc", "/etc"),
        ("/w/app", ".", "/w/app"),
    ],
)
def test_resolve(cwd: str, word: str, place: str) -> None:
    assert paths.resolve(cwd, word) == place


@pytest.mark.parametrize(
    "inside",
    [
        ".git",
        ".git/hooks/post-checkout",
        ".git/config",
        ".git/config.worktree",
        ".Git/Hooks/x",
        ".GIT/config",
        ".\uff47it/config",
        ".g\u200cit/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        "git~1/config",
        "sub/.git",
        "deep/er/.git/hooks/x",
        "bare.git/config",
        "bare.git/hooks/x",
        "new/HEAD",
        ".gitmodules",
        ".gitattributes",
        "sub/.gitattributes",
        ".gitconfig",
        ".vscode/settings.json",
        ".VSCODE/Settings.json",
        ".vscode/mcp.json",
        ".idea/workspace.xml",
        "x.code-workspace",
        ".devcontainer/devcontainer.json",
        ".zed/settings.json",
        ".nvim.lua",
        ".exrc",
        "sub/.exrc",
        ".dir-locals.el",
        ".dir-locals-2.el",
        ".helix/config.toml",
        ".claude/settings.json",
        ".cursor/mcp.json",
        ".CURSOR/mcp.json",
        ".gemini/settings.json",
        ".codex/config.toml",
        ".agents/roles/x.md",
        ".mcp.json",
        "mcp.json",
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        ".gitlab-ci.yml",
        ".ci/run",
        ".bashrc",
        ".zshenv",
        ".profile",
        ".envrc",
        ".direnv/x",
        ".tool-versions",
        ".ripgreprc",
        ".npmrc",
        ".yarnrc.yml",
        ".pnp.cjs",
        "pip.conf",
        ".pypirc",
        "sitecustomize.py",
        "lib/sitecustomize.py",
        "x.pth",
        ".pre-commit-config.yaml",
        ".husky/pre-commit",
        ".venv/bin/python",
        "venv/bin/python",
        "node_modules/.bin/tsc",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        "AGENTS.md",
        "CLAUDE.md",
    ],
)
def test_protected(inside: str) -> None:
    assert paths.is_protected(f"/w/app/{inside}", ROOTS) is not None


@pytest.mark.parametrize(
    "inside",
    [
        "x.py",
        "git/config",
        "gitx/hooks",
        ".gitignore",
        ".github/ISSUE_TEMPLATE.md",
        "src/vscode/settings.json",
        "header/HEAD.py",
        "head/x",
        "conftest.py",
        "venv/x",
        "node_modules/x/index.js",
        "claude.py",
        "HEADER",
    ],
)
def test_not_protected(inside: str) -> None:
    assert paths.is_protected(f"/w/app/{inside}", ROOTS) is None


def test_what_is_above_a_root_does_not_protect_it() -> None:
    root = "/home/u/.claude/worktrees/x"
    assert paths.is_protected(f"{root}/src/a.py", (root,)) is None
    assert paths.is_protected(f"{root}/src/a.py", ()) is not None


@pytest.mark.parametrize("root", ["/w/app/.git", "/w/app/.git/modules/x", "/w/app/.vscode"])
def test_a_protected_directory_opened_as_a_root_stays_protected(root: str) -> None:
    assert paths.is_protected(f"{root}/config", (root,)) is not None


def test_the_hosts_own_places_are_protected() -> None:
    own = ("/home/u/.config/agent-host",)
    assert paths.is_protected("/home/u/.config/agent-host/roles/coder.md", ROOTS, own)
    assert not paths.is_protected("/home/u/.config/agent-hostile/x", ROOTS, own)


def test_names_that_are_only_warned_about() -> None:
    assert paths.warning("/w/app/tests/conftest.py")
    assert not paths.warning("/w/app/tests/test_conftest.py")


SECRETS = (
    ".env",
    ".env.local",
    ".env.production",
    ".ENV",
    ".envrc",
    "sub/.env",
    "server.pem",
    "SERVER.PEM",
    "tls.key",
    "id_rsa",
    "id_ed25519",
    "id_ed25519.bak",
    "id_work",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "vault.kdbx",
    "credentials",
    "credentials.json",
    "Credentials.json",
    ".aws/config",
    ".ssh/config",
    ".docker/config.json",
    ".env.",
)


@pytest.mark.parametrize("name", SECRETS)
def test_secret(name: str) -> None:
    assert paths.is_secret(f"/w/app/{name}") is not None


NOT_SECRETS = (
    ".env.example",
    ".env.sample",
    "env.py",
    "environment.yml",
    "id_rsa.pub",
    "id_utils.py",
    "keys.py",
    "pem.txt",
    "docker/config.json",
    ".env/lib/x.py",
)


@pytest.mark.parametrize("name", NOT_SECRETS)
def test_not_secret(name: str) -> None:
    assert paths.is_secret(f"/w/app/{name}") is None


def test_bare_repository_shape() -> None:
    assert paths.is_bare_repository(["HEAD", "objects", "refs", "x"])
    assert paths.is_bare_repository(["head", "Objects", "REFS"])
    assert not paths.is_bare_repository(["HEAD", "objects"])


def test_the_tables_are_folded() -> None:
    for entry in PROTECTED:
        assert entry.pattern == paths.key(entry.pattern), entry
        assert not entry.pattern.startswith("/")
    for pattern, _ in SECRET:
        assert pattern == paths.key(pattern)


def test_the_tables_for_others_say_the_same() -> None:
    assert {".git", ".vscode", ".github/workflows", "agents.md"} <= set(PROTECTED_NAMES)
    assert "head" not in PROTECTED_NAMES
    assert (
        SECRET_NAMES.index("id_*") < SECRET_NAMES.index("!id_*.*") < SECRET_NAMES.index("id_rsa*")
    )
    assert "!.env.example" in SECRET_NAMES[SECRET_NAMES.index(".env*") :]
    for name in (*SECRETS, *NOT_SECRETS, "x/.docker/config.json", "docker/config.json", ".AWS/x"):
        for path in (name, f"/w/{name}"):
            assert looks_secret(path, SECRET_NAMES) is (paths.is_secret(path) is not None), path
