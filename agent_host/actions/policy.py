"""Which names are special to the action server: data, with defaults that stand alone.

The host usually passes its own tables of protected and secret-looking names. Not here: asking.
"""

from dataclasses import dataclass

SECRET_NAMES = (
    ".env*",
    "!.env.example",
    "*.pem",
    "*.key",
    "*.kdbx",
    "id_*",
    "!id_*.pub",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials*",
)
"""Globs over file names, case aside; `!` takes back. Search shows nothing of such files."""

PROTECTED_NAMES = (
    *(".gitmodules", ".gitattributes", ".gitconfig", ".git"),
    *(".vscode", ".idea", "*.code-workspace", ".devcontainer", ".zed", ".nvim.lua", ".exrc"),
    *(".claude", ".cursor", ".gemini", ".codex", ".agent", ".agents", ".mcp.json", "mcp.json"),
    *(".github/workflows", ".gitlab-ci.yml", ".ci", ".circleci", ".husky"),
    *(".bashrc", ".profile", ".bash_profile", ".zshrc", ".zshenv", ".envrc", ".direnv"),
    *(".tool-versions", ".ripgreprc", ".npmrc", ".yarnrc*", ".pnp.*", "pip.conf", ".pypirc"),
    *("sitecustomize.py", "usercustomize.py", "*.pth", ".pre-commit-config.yaml"),
    *(".venv", "venv/bin", "node_modules/.bin"),
    *("codeowners", "agents.md", "claude.md"),
)
"""Globs over consecutive folded path parts, at any depth. Commands can't change what exists."""

MASKED_NAMES = (".vscode", ".idea", ".claude", ".cursor", ".mcp.json", ".envrc")
"""Names at the top of a root that commands can't make if they are missing: programs obey them
as soon as they are there. A command sees an empty directory, which git doesn't."""

HIDDEN_IN_HOME = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".mozilla"),
    *(
        ".netrc",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".vault-token",
        ".cargo/credentials.toml",
    ),
    *(".config/gcloud", ".config/gh", ".config/git/credentials", ".config/op", ".config/rclone"),
    *(".config/google-chrome", ".config/chromium", ".local/share/keyrings", ".thunderbird"),
)
"""Places in the home directory that commands don't see."""


@dataclass(frozen=True, slots=True)
class ActionPolicy:
    """`environment` are variables to pass on beyond the usual, `hidden` further absolute paths
    that commands don't see, `required` refuses commands where no sandbox works.
    """

    secret: tuple[str, ...] = SECRET_NAMES
    protected: tuple[str, ...] = PROTECTED_NAMES
    masked: tuple[str, ...] = MASKED_NAMES
    hidden: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    required: bool = False
