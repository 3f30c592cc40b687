"""What a preference run shows, in words."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.presentation.numbers import interval, number, percent, plural, points
from benchmarks.presentation.ranks import listed
from benchmarks.statistics.agreement import Kappa
from benchmarks.statistics.alpha import Alpha
from benchmarks.statistics.cycles import Cycles
from benchmarks.statistics.intervals import Interval
from benchmarks.summary import Position, Preferences

FEWEST_PAIRS = 6
"""Of fewer, not even equal verdicts on all are significant."""
PEOPLE = "People"
"""Who chooses, in a sentence."""


def strength(value: float | None) -> str:
    """``+1.20``, ``−0.35``, ``0.00``."""
    if value is None:
        return "–"
    text = f"{abs(value):.2f}"
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text


def verdict(names: Sequence[str], numbers: Preferences, who: str = "The judge") -> str:
    """Which candidate is preferred, as far as the ranks separate them."""
    if not numbers.n:
        return "There is no verdict yet."
    by = " by people" if who == PEOPLE else ""
    ranked = [(numbers.strengths[place], names[place]) for place in numbers.order]
    first = [name for each, name in ranked if each.rank_low == 1]
    if len(first) == 1:
        wins = ranked[0][0].wins
        bounds = interval(wins.low, wins.high, percent)
        return f"{first[0]} is preferred{by}: it wins {percent(wins.mean)} of its comparisons ({bounds})."
    if len(first) == len(names):
        return f"No significant preference{by}."
    return f"{', '.join(first[:-1])} and {first[-1]} share the first rank{by}: they are not significantly different."


def has_few_pairs(numbers: Preferences) -> bool:
    """Whether a judge chose between too few pairs of different answers for any preference to be significant."""
    return bool(numbers.n) and numbers.position.n < FEWEST_PAIRS


def headline(names: Sequence[str], numbers: Preferences, total: int) -> str:
    """The ``verdict`` of a judge on ``total`` pairs of answers, or that too few of them differ for one."""
    if not has_few_pairs(numbers):
        return verdict(names, numbers)
    n = numbers.position.n
    needed = f"at least {FEWEST_PAIRS} are needed."
    if numbers.missing:
        return f"Too few pairs of different answers judged in both orders: {number(n)}; {needed}"
    if not n:
        return f"Nothing to prefer: the answers of all {plural(total, 'pair')} are identical."
    if n == total:
        return f"Too few pairs of answers: {number(n)}; {needed}"
    return f"Too few answers differ: {number(n)} of {number(total)}; {needed}"


def pairs_sentence(
    identical: int, decided: Sequence[tuple[str, int]], tied: int, disagree: int, *, with_total: bool
) -> str:
    """How many pairs of answers differ, if not said before, and how those were ``decided``, by the winner."""
    differ = sum(n for _, n in decided) + tied + disagree
    if not differ:
        return ""
    parts = [f"{name} wins {number(n)}" for name, n in decided if n]
    parts += [f"{number(tied)} {'ties' if tied > 1 else 'tie'}"] if tied else []
    parts += [_changed(disagree)] if disagree else []
    same = f" The other {number(identical)} {'are' if identical > 1 else 'is'} identical." if identical else ""
    found = f"{listed(parts)}.{same}"
    if not with_total:
        return found[0].upper() + found[1:] if parts[0] == _changed(disagree) else found
    total = plural(differ + identical, "pair")
    return f"{number(differ)} of {total} of answers {'differs' if differ == 1 else 'differ'}: {found}"


def differing_sentence(numbers: Preferences, total: int) -> str:
    """How many of all pairs have answers that differ, unless ``headline`` says it, and on how many of these the judge
    chose by the order; empty if there is nothing to add."""
    position = numbers.position
    disagree = round(position.n * (1 - (position.consistent or 0.0)))
    differ = f"{number(position.n)} of {plural(total, 'pair')} {'differs' if position.n == 1 else 'differ'}"
    found = [] if has_few_pairs(numbers) else [differ]
    found += [_changed(disagree)] if disagree else []
    return "; ".join(found)


def _changed(disagree: int) -> str:
    return f"the judge changed its choice on {number(disagree)} when the order was swapped"


def basis_sentence(who: str, dataset: str, numbers: Preferences) -> str:
    """How many choices of whom strengths rest on; ``who`` are ``3 reviewers`` or a judge."""
    choices, tasks = plural(numbers.n, "choice"), plural(numbers.n_tasks, "task")
    runs = f", pooled over {len(numbers.runs)} preference runs" if numbers.runs else ""
    return f"Preference on {dataset}: {choices} of {who} on {tasks}{runs}."


def pooled_sentence(pooled: Sequence[int]) -> str:
    """What numbers over several runs are of."""
    runs = ", ".join(map(str, pooled[:-1])) + f" and {pooled[-1]}"
    return f"Pooled over {len(pooled)} runs with the same judge and criteria ({runs}):"


def position_sentence(position: Position) -> str:
    """Whether the judge favors a position, by pairs that it judged in both orders."""
    if position.mean is None:
        return "Position bias is unknown, because no pair was judged in both orders."
    bounds = interval(position.low, position.high, percent)
    pairs = plural(position.n, "pair")
    if position.n < FEWEST_PAIRS and not position.is_clear:
        side = {0.0: "second", 1.0: "first"}.get(position.mean)
        if side:
            return f"It always chose the answer shown {side}, but {pairs} cannot show a position bias."
        return f"{pairs} of different answers {'is' if position.n == 1 else 'are'} too few to show a position bias."
    consistent = (
        f"It gives the same verdict in both orders for {percent(position.consistent)} of {pairs} of different answers."
    )
    share = f"{percent(position.mean)} ({bounds}) of the choices"
    if not position.is_clear:
        return f"No significant position bias: the first answer gets {share}. {consistent}"
    side = "first" if position.mean > 0.5 else "second"
    excess = points(abs(position.mean - 0.5))
    return (
        f"The judge favors the {side} answer: the first one gets {share}, {excess} points from no bias. "
        f"Both orders cancel this in the strengths. {consistent}"
    )


def first_shown_sentence(position: Position) -> str:
    """Whether people favor a position, who see each pair in one order."""
    share = f"{percent(position.mean)} ({interval(position.low, position.high, percent)}) of their choices"
    if not position.is_clear or position.mean is None:
        return f"No significant position bias: the first answer gets {share}."
    side = "first" if position.mean > 0.5 else "second"
    return f"People favor the {side} answer: the first one gets {share}. Random order cancels this."


def agreement_sentence(same: Interval, kappa: Kappa, alpha: Alpha) -> str:
    """How far the judge agrees with people, and people with each other."""
    sentences = []
    if same.mean is not None:
        bounds = f" ({interval(same.low, same.high, percent)})" if same.low is not None else ""
        beyond = f"; beyond chance (Cohen’s κ), {number(kappa.kappa, 2)}" if kappa.kappa is not None else ""
        choices = plural(same.n, "choice")
        sentences.append(f"The judge agrees with {percent(same.mean)}{bounds} of {choices} of people{beyond}.")
    if alpha.alpha is not None:
        sentences.append(f"People agree with each other with α = {number(alpha.alpha, 2)}, 1 being perfect.")
    return " ".join(sentences)


def cycle_sentence(names: Sequence[str], cycles: Cycles) -> str:
    """Whether preferences form more cycles than by chance; empty unless three candidates were all compared with each
    other."""
    if not cycles.n_triples:
        return ""
    triples = plural(cycles.n_triples, "triple")
    if not cycles.n_cycles:
        return f"No cycles among {triples} of candidates."
    counted = f"{cycles.n_cycles} of {triples} form a cycle; {cycles.expected:.1f} are expected by chance"
    if cycles.p_value > 0.05:
        return f"{counted}, so these cycles are not significant."
    a, b, c = (names[place] for place in cycles.largest[0].members)
    return (
        f"{counted}. This is more than chance, so strengths do not describe these candidates well: "
        f"{a} is preferred to {b}, {b} to {c}, and {c} to {a}."
    )
