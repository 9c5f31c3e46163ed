"""How a Decision is made: by a step, or by the first rule of the strictest source that matches."""

from collections.abc import Iterator
from typing import Literal

from agent_host.core.permission import Decision, Rule
from agent_host.permissions.matching import Target, matches
from agent_host.permissions.subject import Policy, Scope

Source = Literal["role rule", "user rule", "workspace rule"]


def allow(source: str, reason: str, *, rule: str | None = None) -> Decision:
    return Decision("allow", source, reason, rule)


def ask(source: str, reason: str, *remember: Scope) -> Decision:
    return Decision("ask", source, reason, remember=remember)


def deny(source: str, reason: str) -> Decision:
    return Decision("deny", source, reason)


def by_rule(source: Source, rule: Rule) -> Decision:
    """The decision of a rule; what a rule asks is asked each time."""
    reason = rule.reason or f"the rule `{spelled(rule)}`"
    return Decision(rule.effect, source, reason, spelled(rule), rule.where)


def rules_of(
    effect: Literal["allow", "ask", "deny"], policy: Policy
) -> Iterator[tuple[Source, Rule]]:
    """The rules that may have this effect; a workspace and a foreign role only narrow."""
    may_allow = effect != "allow" or policy.role_may_allow
    sources: tuple[tuple[Source, tuple[Rule, ...]], ...] = (
        ("role rule", policy.role.rules if may_allow else ()),
        ("user rule", policy.user_rules),
        ("workspace rule", policy.workspace_rules if effect != "allow" else ()),
    )
    for source, rules in sources:
        for rule in rules:
            if rule.effect == effect:
                yield source, rule


def first_match(
    effect: Literal["ask", "deny"], target: Target, policy: Policy
) -> tuple[Source, Rule] | None:
    """The first rule with this effect that speaks about the target."""
    for source, rule in rules_of(effect, policy):
        if matches(rule, target, policy.roots):
            return source, rule
    return None


def first_path_match(
    effect: Literal["ask", "deny"], target: Target, policy: Policy
) -> tuple[Source, Rule] | None:
    """As `first_match`, but only rules that name paths: for words that may be paths."""
    for source, rule in rules_of(effect, policy):
        if rule.path is not None and matches(rule, target, policy.roots):
            return source, rule
    return None


def spelled(rule: Rule) -> str:
    """A rule as a person would write it on one line."""
    about = " ".join(rule.argv) if rule.argv is not None else rule.path
    return " ".join(filter(None, (rule.effect, rule.action, about)))
