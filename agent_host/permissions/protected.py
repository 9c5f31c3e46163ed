"""The names that are protected or look secret, as data.

Patterns are folded globs over consecutive path parts; how they are matched is in paths.py. The
same table is what a sandbox binds read-only.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Protected:
    """One protected name. `pattern` is one or more parts with `*`, such as `.github/workflows`.

    `kind` "tree": the name and everything below it, at any depth. `kind` "file": only as the last
    part. `why` completes the sentence "it is protected: ...".
    """

    pattern: str
    kind: Literal["tree", "file"]
    why: str


def _table(why: str, *patterns: str) -> tuple[Protected, ...]:
    return tuple(Protected(pattern, "tree", why) for pattern in patterns)


GIT = _table("git runs what is named in it", ".git", "git~*", "*.git/config", "*.git/hooks")

PROTECTED: tuple[Protected, ...] = (
    *GIT,
    *_table("git obeys it", ".gitmodules", ".gitattributes", ".gitconfig"),
    Protected("head", "file", "it may turn its directory into a git repository"),
    *_table(
        "an editor runs what is named in it",
        *(".vscode", ".idea", "*.code-workspace", ".devcontainer", ".devcontainer.json", ".zed"),
        *(".nvim.lua", ".nvimrc", ".vimrc", ".gvimrc", ".exrc", ".lvimrc", ".dir-locals*.el"),
        *(".emacs", ".emacs.d", ".helix", ".kateproject", "*.sublime-project", ".fleet"),
    ),
    *_table(
        "it tells agents what to do",
        *(".claude", ".cursor", ".gemini", ".codex", ".agent", ".agents", ".agent-host"),
        *(".mcp.json", "mcp.json", "agents.md", "claude.md", "gemini.md", ".cursorrules"),
        *(".github/copilot-instructions.md",),
    ),
    *_table(
        "a build server runs it",
        *(".github/workflows", ".github/actions", ".gitlab-ci.yml", ".ci", ".circleci"),
        *("jenkinsfile", "azure-pipelines.yml"),
    ),
    *_table("it says who must review", "codeowners"),
    *_table(
        "a shell runs it",
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".cshrc", ".tcshrc", ".kshrc"),
        *(".login", ".logout", ".inputrc", "config.fish", ".envrc", ".direnv", ".tool-versions"),
        *(".mise.toml", "mise.toml"),
    ),
    *_table("it opens other machines", ".ssh", ".gnupg"),
    *_table(
        "a tool runs what is named in it",
        *(".ripgreprc", ".npmrc", ".yarnrc*", ".yarn/releases", ".yarn/plugins", ".pnp.*"),
        *("pip.conf", ".pypirc", "sitecustomize.py", "usercustomize.py", "*.pth"),
        *(".pre-commit-config.yaml", ".husky", "node_modules/.bin", ".cargo/config*"),
        *(".venv", "venv/bin", "venv/scripts", "venv/pyvenv.cfg"),
    ),
)
"""Writing these always asks, and the answer is never remembered."""

PROTECTED_NAMES: tuple[str, ...] = tuple(
    entry.pattern for entry in PROTECTED if entry.kind == "tree"
)
"""The same as bare patterns, for a sandbox that binds them read-only."""

WARNED: tuple[Protected, ...] = (
    Protected("conftest.py", "file", "test runners run it by itself"),
    Protected("makefile", "file", "build commands run it"),
    Protected("package.json", "file", "its scripts are run by package managers"),
)
"""Writing these is like writing any file, but the question says so."""

SECRET: tuple[tuple[str, str], ...] = (
    (".env*", "an environment file"),
    ("*.pem", "a private key"),
    ("*.key", "a private key"),
    ("*.ppk", "a private key"),
    ("*.p12", "a private key"),
    ("*.pfx", "a private key"),
    ("*.jks", "a key store"),
    ("*.keystore", "a key store"),
    ("*.kdbx", "a password store"),
    ("id_rsa*", "a private key"),
    ("id_dsa*", "a private key"),
    ("id_ecdsa*", "a private key"),
    ("id_ed25519*", "a private key"),
    (".netrc", "a password file"),
    ("_netrc", "a password file"),
    (".npmrc", "a tool's credentials"),
    (".pypirc", "a tool's credentials"),
    (".git-credentials", "git's passwords"),
    (".pgpass", "a password file"),
    (".htpasswd", "a password file"),
    (".vault-token", "a token"),
    (".dockercfg", "a tool's credentials"),
    (".docker/config.json", "a tool's credentials"),
    (".kube/config", "a tool's credentials"),
    (".aws/*", "a tool's credentials"),
    (".ssh/*", "a private key"),
    (".gnupg/*", "a private key"),
    ("credentials*", "a tool's credentials"),
)
"""Globs over the last parts of a path, and what the file looks like."""

NOT_SECRET: tuple[str, ...] = (
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "*.pub",
    ".ssh/known_hosts",
)
"""Exceptions from SECRET: placeholders and public halves."""

SECRET_NAMES: tuple[str, ...] = (
    "id_*",
    "!id_*.*",
    *(pattern for pattern, _ in SECRET),
    *(f"!{pattern}" for pattern in NOT_SECRET),
)
"""As SECRET, in one list: the last that matches wins, `!` takes back."""
