"""What a person may set, in layers, as frozen data: defaults, file, environment, editor.

A wrong key or value is reported and left out; the rest counts. Not here: where keys of
vendors come from (credentials.py), what a role or a request says (both come after these settings).
"""

from agent_host.settings.layers import VARIABLES
from agent_host.settings.model import (
    DEFAULT_LIMITS,
    NO_TITLES,
    SettingProblem,
    Settings,
    StateDirs,
    log_folder,
    session_store,
    state_dirs,
)
from agent_host.settings.reading import load_settings, split_keys

__all__ = [
    "DEFAULT_LIMITS",
    "NO_TITLES",
    "VARIABLES",
    "SettingProblem",
    "Settings",
    "StateDirs",
    "load_settings",
    "log_folder",
    "session_store",
    "split_keys",
    "state_dirs",
]
