"""The scripted client: start a host, run prompts, read deltas, answer questions, all from Python.

    async with AgentHostClient.start(workspace=".", on_question="deny") as client:
        run = await client.run("What does this project do?")
        async for delta in run.deltas:
            print(delta.kind, delta.data)
        print((await run.result()).output)

It speaks the wire like any editor and shares no code with the server.
"""

from agent_host.client.connection import HostError, HostGone
from agent_host.client.documents import OpenDocument
from agent_host.client.host import AgentHostClient
from agent_host.client.questions import Answer, OnQuestion, Option, Question
from agent_host.client.runs import Delta, Following, Run, RunResult

__all__ = [
    "AgentHostClient",
    "Answer",
    "Delta",
    "Following",
    "HostError",
    "HostGone",
    "OnQuestion",
    "OpenDocument",
    "Option",
    "Question",
    "Run",
    "RunResult",
]
