"""The Neovim plugin: guidance and prompts, compaction, and a host that dies meanwhile."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.e2e.script import says
from tests.e2e.vendor import Vendor
from tests.editors.conftest import make_job
from tests.editors.test_nvim_talk import drive

FILES = {
    "AGENTS.md": "Always be kind.\n",
    ".agents/skills/release/SKILL.md": "---\nname: release\ndescription: Cut it.\n---\nDo.\n",
    ".agents/skills/broken/SKILL.md": "---\nname: broken\n---\nDo.\n",
    ".agent-host/prompts/explain.md": "---\ndescription: Explain.\nargumentHint: <what>\n---\n$1\n",
}


@pytest.fixture(scope="module")
def vendor() -> Iterator[Vendor]:
    made = Vendor()
    yield made
    made.close()
    assert made.refused == []


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, vendor: Vendor) -> dict[str, Any]:
    job = make_job(tmp_path_factory.mktemp("nvim"))
    for name, text in FILES.items():
        path = job.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    vendor.plays([says("It says disk."), says("Summed\nup."), says("Still here.")])
    environment = job.environment | vendor.environment | {"AGENT_HOST_TITLE_MODEL": "none"}
    return drive(replace(job, model="local/any", environment=environment), "guided.lua")


def test_prompts_and_files_complete(seen: dict[str, Any]) -> None:
    assert seen["prompts"] == ["/explain"]
    assert seen["files"] == ["@tidy.py"]
    assert seen["only at the beginning"] == []
    assert seen["in the prompt"] == [0, ["/compact"]]


def test_the_page_tells_what_the_agent_is_given_and_what_is_wrong(seen: dict[str, Any]) -> None:
    page = seen["page"]
    assert "Instructions\n  AGENTS.md\n" in page
    assert "  release · Cut it.\n    .agents/skills/release/SKILL.md\n" in page
    assert "  /explain <what> · Explain.\n" in page
    assert "MCP servers\n" in page
    assert "docs · idle" in page
    assert "⊘ off · disabled" in page
    assert "✗ skill broken: " in page


def test_a_line_of_the_page_leads_to_its_file(seen: dict[str, Any]) -> None:
    assert seen["followed"][0] == "SKILL.md"
    assert seen["pages"] == 1
    assert seen["closed"] is True


def test_a_session_is_compacted_and_the_transcript_has_the_summary(
    seen: dict[str, Any], vendor: Vendor
) -> None:
    told = seen["compacted"]
    assert "▌ You\n/compact the file above all\n" in told
    assert "tokens became" in told
    assert "\n▏ Summed\n▏ up." in told
    assert "the file above all" in str(vendor.bodies[1])
    assert "nothing has been said" in seen["nothing said yet"][0]


def test_who_waits_for_a_host_that_dies_is_told(seen: dict[str, Any]) -> None:
    assert seen["waits"] is True
    assert [("the host has ended by signal 9" in each) for each in seen["told"]].count(True) >= 2
    assert "the host has ended by signal 9" in seen["compacting is over"]
