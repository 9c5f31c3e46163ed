"""Child processes, supervised: see child.py."""

from agent_host.process.child import ChildExit, ChildGone, ChildProcess
from agent_host.process.tree import TREE_VARIABLE, tree

__all__ = ["TREE_VARIABLE", "ChildExit", "ChildGone", "ChildProcess", "tree"]
