"""Puts questions to the person: one at a time in a session, each told and kept while it is open.

Nobody to ask, no answer, or an answer that was not offered is a denial with its reason.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from agent_host.core.errors import AgentHostError
from agent_host.core.events import Answered, Asked, Delta, Logged
from agent_host.core.permission import Answer, EditPart, Option, Question
from agent_host.core.ports import Editor
from agent_host.core.records import SessionStore
from agent_host.permissions.engine import remembered_as
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.prompts import Asking, question_about_files, question_for, scope_of
from agent_host.permissions.trust import TrustBook, trust_question
from agent_host.session.judge import Judged

KEEP_SECONDS = 1.0
"""How long a question waits for the store; a slow disk does not keep it from the person."""

CANNOT_ASK = (
    "this editor can't ask questions, so only what a rule in your settings allows is done; see "
    "`rules` in config.yaml"
)

NEVER_TRUSTED = "`trust` is `never` in the settings, or the editor does not trust the folder"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a question ended. `by_user`: a person said no; `reason` may hold a person's words.

    `stops`: they said that the whole run is to end. `accepted`: the ids of the parts that were
    allowed; None means all of them. `previews`: the person wants to accept it place by place.
    """

    allowed: bool
    reason: str = ""
    by_user: bool = False
    stops: bool = False
    accepted: tuple[str, ...] | None = None
    previews: bool = False


PREVIEW = Option("preview", "Preview", "allowOnce")
"""Allows it, and leaves it to the editor's preview which places of open documents are changed."""


class Asker:
    """The questions of one session. `ignored` names what trusting a root would bring in;
    `may_trust` says whether a person's answer decides it, or the settings have decided.
    """

    def __init__(
        self,
        session_id: str,
        editor: Editor,
        store: SessionStore,
        grants: GrantBook,
        trust: TrustBook,
        *,
        ignored: Callable[[str], tuple[str, ...]],
        may_trust: Callable[[], bool],
    ) -> None:
        self._session_id = session_id
        self._editor = editor
        self._store = store
        self._grants = grants
        self._trust = trust
        self._ignored = ignored
        self._may_trust = may_trust
        self._turn = asyncio.Lock()
        self.open_questions = 0
        self._asked_before = 0.0
        self._asking_since = 0.0

    def asked_seconds(self) -> float:
        """How long questions of this session have been open so far, by the loop's clock."""
        if not self.open_questions:
            return self._asked_before
        return self._asked_before + asyncio.get_running_loop().time() - self._asking_since

    async def may(
        self,
        judged: Sequence[Judged],
        *,
        run_id: str,
        call_id: str,
        agents: tuple[str, ...],
        diff: str | None,
        parts: Sequence[EditPart] = (),
        tell: Callable[[Delta], None],
    ) -> Outcome:
        """Ask about an action, or the edits of several files; an answer that lasts is remembered.

        Of several, the n-th is the part of the id n. `agents`: who wishes it.
        """
        asking = Asking(
            self._session_id, run_id, call_id, diff=diff, parts=tuple(parts), agents=agents
        )
        question = self._with_preview(_question(judged, asking), judged)
        async with self._turn:
            answer = await self._put(question, tell)
        outcome = _outcome(answer)
        if outcome.allowed and answer.option is not None:
            for number, each in enumerate(judged, 1):
                is_refused = len(judged) > 1 and str(number) not in (outcome.accepted or ())
                if outcome.accepted is None or not is_refused:
                    self._remember(answer.option, each, tell)
        return outcome

    def _with_preview(self, question: Question, judged: Sequence[Judged]) -> Question:
        """With the offer to look at edits of open documents in the editor's own preview."""
        is_open = any(
            each.subject.action == "fs.write"
            and self._editor.document(each.subject.path or "") is not None
            for each in judged
        )
        if not (is_open and self._editor.previews):
            return question
        *others, stop = question.options
        return replace(question, options=(*others, PREVIEW, stop))

    async def trusts(
        self, root: str, *, run_id: str, call_id: str, tell: Callable[[Delta], None]
    ) -> Outcome:
        """Ask whether the workspace is trusted, unless that was answered meanwhile."""
        if not self._may_trust():
            return Outcome(allowed=False, reason=NEVER_TRUSTED)
        starts = self._trust.starts(root)
        question = trust_question(
            root,
            self._ignored(root),
            session_id=self._session_id,
            run_id=run_id,
            call_id=call_id,
        )
        async with self._turn:
            if self._trust.trusted(root):
                return Outcome(allowed=True)  # answered for another call meanwhile
            outcome = _outcome(await self._put(question, tell))
            return self._keep_trust(root, starts) if outcome.allowed else outcome

    async def _put(self, question: Question, tell: Callable[[Delta], None]) -> Answer:
        """Ask now; the caller holds the session's turn to ask."""
        if not self._editor.can_ask:
            tell(Answered(question.call_id, None, CANNOT_ASK))
            return Answer(None, CANNOT_ASK)
        tell(Asked(question.call_id, question.title, question.detail, question.options))
        self._store.ask(question)
        # A host that dies while a person thinks leaves the run whole up to its question.
        await self._kept()
        answer = Answer(None, "the run was stopped")
        self._asking_since = asyncio.get_running_loop().time()
        self.open_questions += 1
        try:
            answer = await self._editor.ask(question)
        finally:
            self._asked_before = self.asked_seconds()
            self.open_questions -= 1
            self._store.settle(question.run_id, question.call_id)
            chosen = answer.option.id if answer.option else None
            tell(Answered(question.call_id, chosen, answer.reason))
        # What was answered is not asked again by a later host, which could do it a second time.
        await self._kept()
        return answer

    async def _kept(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KEEP_SECONDS):
                await self._store.flush()

    def _keep_trust(self, root: str, starts: Collection[str]) -> Outcome:
        try:
            self._trust.trust(root, starts)
        except (OSError, AgentHostError) as error:
            reason = f"that the folder is trusted could not be kept: {error}"
            return Outcome(allowed=False, reason=reason)
        return Outcome(allowed=True)

    def _remember(self, option: Option, judged: Judged, tell: Callable[[Delta], None]) -> None:
        """Keep an answer that lasts; if that fails it holds for this call, which is said."""
        scope = scope_of(option)
        subject, policy = judged.subject, judged.policy
        if scope is None or scope not in judged.decision.remember:
            return
        key = remembered_as(subject, policy)
        if key is None:
            return
        role = policy.role.name
        try:
            self._grants.add(key, scope, session_id=self._session_id, root=judged.root, role=role)
        except (OSError, AgentHostError) as error:
            tell(Logged("permissions", f"Allowed once only; it can't be remembered: {error}"))


def _question(judged: Sequence[Judged], asking: Asking) -> Question:
    first = judged[0]
    if len(judged) == 1:
        return question_for(first.subject, first.decision, first.policy, asking)
    files = [(each.subject, each.decision) for each in judged]
    return question_about_files(files, first.policy, asking)


def _outcome(answer: Answer) -> Outcome:
    option = answer.option
    if option is None:
        return Outcome(allowed=False, reason=answer.reason or "the question was not answered")
    if option.kind == "deny":
        said = f"The user says: {answer.reason}" if answer.reason else "the user denied it"
        return Outcome(allowed=False, reason=said, by_user=True)
    if option.kind == "stop":
        return Outcome(allowed=False, reason="the user stopped the run", by_user=True, stops=True)
    if option.kind not in ("allowOnce", "allowSession", "allowWorkspace"):
        return Outcome(allowed=False, reason="the answer was none of those that allow it")
    said = f"The user says: {answer.reason}" if answer.reason else ""
    return Outcome(allowed=True, reason=said, accepted=answer.accepted, previews=option == PREVIEW)
