import pytest

from tests.benches import bench_canvases


def test_the_bench_prints_each_clock_for_each_number_of_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    bench_canvases.main(["--count", "2", "--rounds", "3"])
    head, *lines, load = capsys.readouterr().out.splitlines()
    assert head.split() == ["shapes", "wall/s", "times", "core/s", "times", "best/s", "times", "original/s", "goal"]
    for line, case in zip(lines, bench_canvases.CASES, strict=True):
        shapes, *rates, original, goal = (float(cell.replace(",", "").rstrip("×")) for cell in line.split())
        assert (shapes, original, goal) == (case.n_shapes, case.original_rate, case.goal)
        for rate, times in zip(rates[::2], rates[1::2], strict=True):
            assert times == pytest.approx(rate / original, abs=0.06)
        assert rates[4] >= rates[2]
    assert load.startswith("Load of the machine")
