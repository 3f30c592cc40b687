"""The words of the statistics on the pages, each explained in one sentence. Methods: docs/statistics.md."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    title: str
    meaning: str


GLOSSARY = {
    "strict_mean": Entry(
        "Strict mean",
        "The mean of the scores where an answer that is unparsable, cut off or refused counts as 0; answers lost to "
        "errors of the provider, the judge or a metric are left out and lower the coverage.",
    ),
    "coverage": Entry(
        "Coverage",
        "The share of the results that have a score; a mean with low coverage may have left out the hard tasks.",
    ),
    "interval": Entry(
        "95% interval",
        "The range of means that are compatible with the results: over many such runs, 95 of 100 of these intervals "
        "contain the mean that all possible tasks of this kind would give. Answers about one canvas or text are a "
        "cluster and count together.",
    ),
    "half_width": Entry("Half-width", "Half the width of the 95% interval: the ± of a mean."),
    "rank": Entry(
        "Rank",
        "Ranked by the strict mean; a range such as 2–3 means that the paired tests do not separate these places.",
    ),
    "group": Entry(
        "Groups",
        "Rows that share a letter or a brace are not significantly different, which does not prove them equal.",
    ),
    "best": Entry(
        "Chance of being best",
        "The share of bootstrap samples of the tasks in which the row has the highest mean.",
    ),
    "variants_averaged": Entry(
        "Averaged over variants",
        "The mean over all prompts or seeds; its interval and ranks hold for others like them, so it is wide if they "
        "are few and differ.",
    ),
    "variance_shares": Entry(
        "Shares of the variance",
        "How much of what makes single scores differ is the variant, the task, and all else: chance, and variants that "
        "suit some tasks only.",
    ),
    "mean_rank": Entry(
        "Mean rank",
        "The plain average of the ranks on each benchmark, with the range that the paired tests on these allow. "
        "The ranges of all models hold together, with 95% confidence; models whose ranges overlap share their ranks.",
    ),
    "other_datasets": Entry(
        "Ranks on other benchmarks",
        "Places by mean rank on benchmarks of which these are a random sample. The ranges of all models hold together, "
        "with 95% confidence.",
    ),
    "paired_test": Entry(
        "Paired test",
        "Compares two runs task by task on the tasks that both answered, which shows smaller differences than "
        "comparing their means.",
    ),
    "missing_scores": Entry(
        "Missing scores",
        "A result without an answer or verdict is in no mean, but helps no one: ranks count it as 0, and a difference "
        "is significant only if it is with the missing scores counted against the model that gains.",
    ),
    "p_value": Entry(
        "p value",
        "How often a difference at least this large would appear if the two were equally good; under 0.05 is called "
        "significant.",
    ),
    "standings": Entry(
        "Strengths and weaknesses",
        "The latest full run on each dataset beside those of the other models on the same tasks in the same setting: "
        "strict mean with 95% interval, gray ticks for the means of the other models, a dotted line for guessing, and "
        "the ranks that paired tests allow, Holm-adjusted for all pairs on the dataset. The benchmark on which the "
        "score is furthest above the mean of the other models comes first. The cost includes the judge.",
    ),
    "served_model": Entry(
        "Served model",
        "The model that the endpoint says has answered, and the fingerprint of its configuration if it sends one. A "
        "new name is a change, and so are fingerprints of which the runs before have none.",
    ),
    "model_marks": Entry(
        "Models that have run",
        "Each mark is the score of the latest full run on one benchmark. The rank is over the benchmarks that models "
        "share.",
    ),
    "checks_and_tests": Entry(
        "Check and test of models",
        "A check lists the models of an endpoint and costs nothing. A test sends a model up to 7 short requests, to "
        "see whether it answers and what it supports.",
    ),
    "holm": Entry(
        "Holm adjustment",
        "Raises p values when several pairs are tested at once, so that the chance of even one false difference "
        "stays at most 5%.",
    ),
    "same": Entry(
        "The same within a margin",
        "Both one-sided 95% bounds of the difference are inside the margin, with missing scores counted against it. "
        "No significant difference alone does not show that.",
    ),
    "effect_size": Entry(
        "Effect size",
        "The size of a difference, independent of the number of tasks: Cohen's g is the share of changed tasks that "
        "improved, minus ½; d_z is the mean difference over its standard deviation.",
    ),
    "detectable": Entry(
        "Detectable difference",
        "The smallest difference that this many tasks show in 80 of 100 comparisons; smaller ones may go undetected.",
    ),
    "can_show": Entry(
        "Detectable gap",
        "How far the scores of two models must be apart for its tasks to show that one is better, in 80 of 100 "
        "comparisons. Before a run, two models are assumed to differ on 30% of the tasks; later pages use what was "
        "measured.",
    ),
    "above_best_guess": Entry(
        "Above best guess",
        "(score − guess rate) / (1 − guess rate): 0 is the best guess that does not read the canvas or question, 1 "
        "is perfect. Random guesses may be below 0.",
    ),
    "guess_rate": Entry(
        "Guess rate",
        "The score of the best rule that answers without the canvas, or of choosing an option at random.",
    ),
    "without_canvas": Entry(
        "Without the canvas",
        "The score of the best rule that does not see the canvas, learned on other canvases: a constant answer, one by "
        "the words of the question, or one by a sentence of the task class. Place as first told: the shape that stood "
        "there before the swaps. Answers of the examples: the answer that most often goes with those of the few-shot "
        "examples. baseline/blind answers by these rules.",
    ),
    "threshold": Entry(
        "50% threshold",
        "The number of shapes at which the score is halfway between guessing and perfect; more is better. It is read "
        "from a curve fitted to the numbers of shapes on which all task classes were asked. Without a significant "
        "trend there is none, though the run may have weak spots.",
    ),
    "cluster": Entry(
        "Cluster",
        "Tasks that belong together, such as questions about one canvas or text; their answers are alike, so intervals "
        "and tests count clusters rather than answers.",
    ),
    "kappa": Entry(
        "Cohen's κ",
        "Agreement beyond chance: 1 is perfect, 0 is what two raters reach by chance, below 0 is worse.",
    ),
    "alpha": Entry(
        "Krippendorff's α",
        "Agreement of several people, judges or repeats beyond chance: 1 is perfect, 0 is what chance produces, below "
        "0 is worse.",
    ),
    "prediction_powered": Entry(
        "Corrected mean",
        "The mean that people would give all answers: a judge scores all of them, people label a random part, and the "
        "labels correct the judge's errors (prediction-powered inference).",
    ),
    "discrimination": Entry(
        "Discrimination",
        "The correlation, over models, of the score on a task with the score on all other tasks; near 0 the task says "
        "nothing about a model, below 0 its expected answer may be wrong.",
    ),
    "effective_tasks": Entry(
        "Effective tasks",
        "The number of coin flips that would separate two models as often as these tasks do. Two models differ on half "
        "of the coin flips, so a task on which they differ counts twice, any other not at all; in all, at most the "
        "number of tasks.",
    ),
    "too_easy": Entry(
        "Too easy",
        "Each of the best models solves the task: the better half of the models, at least three.",
    ),
    "readable": Entry(
        "Readable mean",
        "The mean over the answers that could be read: without those that are unparsable, cut off or refused.",
    ),
    "task_score": Entry(
        "Task score",
        "One score for each task, by the first metric of the run that applies to it. Where one metric applies to all "
        "tasks, it is the score of that metric.",
    ),
    "strength": Entry(
        "Strength",
        "How often the answers of a run are preferred to those of the others, as log odds with mean 0 (Bradley-Terry): "
        "with a lead of 1, an answer is preferred 2.7 times as often. The 95% interval is Wald's, too wide for a run "
        "that wins everything. Sign-flip tests of all pairs by task give the ranks. In a win rate, a tie is half one.",
    ),
    "weighted": Entry(
        "Weighted mean",
        "The mean in which a task counts by its weight. It is a second figure: rankings and comparisons use the mean "
        "in which all tasks count alike.",
    ),
    "estimate_from_part": Entry(
        "Estimate from a part",
        "A score for the whole dataset from a random part of its tasks, corrected by how other models did on all of "
        "them; its interval is that of an estimate.",
    ),
}
"""Key → entry, in the order in which a reader meets them."""
