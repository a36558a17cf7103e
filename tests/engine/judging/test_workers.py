"""What shares a worker."""

from __future__ import annotations

import os

from tests.engine.conftest import Toy

# Each case fails and says where; whoever is free takes the next one, so eight cases without a
# group never are on one worker alone.
_CASES = """
    import os
    import time

    @pytest.fixture(autouse=True)
    def slow():
        time.sleep(0.05)

    def where():
        expect(False, "it says where", wanted="", got=os.environ["PYTEST_XDIST_WORKER"])
"""
_GROUPED = '    @pytest.mark.xdist_group("g")'


def _suite(mark: str, alone: str = "") -> str:
    cases = [_CASES]
    for number in range(1, 9):
        head = mark if number % 2 else ""
        option = alone if number % 2 else ""
        cases.append(
            f'{head}\n    @case("TOY-A-{number:03}", "toys"{option})\n'
            f"    def test_{number}(toy):\n        where()\n"
        )
    return "\n".join(cases)


def _workers(toy: Toy, odd: bool) -> set[str]:
    return {done.got for id, done in toy.cases.items() if int(id[-3:]) % 2 == odd}


def test_cases_of_a_group_are_on_one_worker(toy: Toy) -> None:
    toy.run(_suite(_GROUPED), workers="2")
    assert len(toy.cases) == 8
    assert len(_workers(toy, True)) == 1


def test_cases_that_need_the_node_alone_share_a_worker(toy: Toy) -> None:
    toy.run(_suite("", ", alone=True"), workers="2", target="unix:///toys")
    assert len(toy.cases) == 8
    assert len(_workers(toy, True)) == 1


def test_each_worker_has_a_fake_of_its_own_so_there_nobody_has_to_be_alone(
    toy: Toy,
) -> None:
    toy.run(_suite("", ", alone=True"), workers="2")
    assert len(_workers(toy, True) | _workers(toy, False)) == 2


def test_a_worker_with_a_fake_has_a_processor_of_its_own(toy: Toy) -> None:
    """A target of somebody else's may need whatever the machine has."""
    case = f"""{_CASES}
    @case("TOY-A-001", "toys")
    def test_1(toy):
        expect(False, "it says how many", wanted="", got=len(os.sched_getaffinity(0)))
"""
    toy.run(case, workers="2")
    assert toy.cases["TOY-A-001"].got == "1"
    toy.run(case, workers="2", target="unix:///toys")
    assert toy.cases["TOY-A-001"].got == str(len(os.sched_getaffinity(0)))
