"""What the profile declares keeps rules quiet that speak without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity
from kube_gaplint.model.profile import Profile

FIXTURES = Path(__file__).parent.parent / "fixtures"


def codes(fixture: str, profile: Profile) -> set[str]:
    code = fixture.partition("/")[0]
    request = Request(paths=(str(FIXTURES / fixture),), select=(code,), min_severity=Severity.INFO, profile=profile)
    return {finding.code for finding in lint(request).findings}


@pytest.mark.parametrize(
    ("fixture", "loud", "quiet"),
    [
        ("RETRY001/fires-bare-job.yaml", Profile(supervisor=False), Profile(supervisor=True)),
        ("RETRY008/fires-on-failure.yaml", Profile(kubernetes=(1, 31)), Profile(kubernetes=(1, 40))),
        ("RETRY010/fires-elastic.yaml", Profile(node_health=False), Profile(node_health=True)),
        ("RETRY011/fires-default.yaml", Profile(kubernetes=(1, 31)), Profile(kubernetes=(1, 28))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_declaration_decides(fixture: str, loud: Profile, quiet: Profile) -> None:
    code = fixture.partition("/")[0]
    assert codes(fixture, loud) == {code}
    assert codes(fixture, quiet) == set()
