"""Makes `agent/delta` messages; the frequent kinds by a template, the others by their models.

Both ways give the same JSON. Not here: sending, merging, numbering.
"""

import json
from json.encoder import encode_basestring_ascii as quoted

from agent_host.core.events import Ended, NumberedDelta, Reasoning, Text, ToolOutput
from agent_host.core.model import Origin
from agent_host.lsp.convert import agent_delta, origin
from agent_host.lsp.framing import frame
from agent_host.lsp.message import encode


class DeltaEncoder:
    """Remembers the beginning of each run's messages until the run has ended."""

    def __init__(self) -> None:
        self._heads: dict[str, tuple[Origin, str]] = {}

    def encode(self, numbered: NumberedDelta) -> bytes:
        """The whole message with its header."""
        step = numbered.delta
        if isinstance(step, Text):
            return self._templated(numbered, f'"kind":"text","text":{quoted(step.text)}')
        if isinstance(step, Reasoning):
            return self._templated(numbered, f'"kind":"reasoning","text":{quoted(step.text)}')
        if isinstance(step, ToolOutput):
            fields = (
                f'"kind":"toolOutput","callId":{quoted(step.call_id)},'
                f'"stream":"{step.stream}","text":{quoted(step.text)}'
            )
            return self._templated(numbered, fields)
        if isinstance(step, Ended):
            self._heads.pop(numbered.run_id, None)
        params = agent_delta(numbered).json_object()
        return encode({"jsonrpc": "2.0", "method": "agent/delta", "params": params})

    def _templated(self, numbered: NumberedDelta, fields: str) -> bytes:
        known = self._heads.get(numbered.run_id)
        if known is None or known[0] is not numbered.origin:
            known = (numbered.origin, _head(numbered))
            self._heads[numbered.run_id] = known
        return frame(f'{known[1]}{numbered.seq},"delta":{{{fields}}}}}}}'.encode())


def _head(numbered: NumberedDelta) -> str:
    made_by = json.dumps(origin(numbered.origin).json_object(), separators=(",", ":"))
    return (
        '{"jsonrpc":"2.0","method":"agent/delta","params":{'
        f'"sessionId":{quoted(numbered.session_id)},"runId":{quoted(numbered.run_id)},'
        f'"origin":{made_by},"seq":'
    )
