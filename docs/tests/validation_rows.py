"""The rows of ``docs/validation.md``: every number that is shown, with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """An estimate.

    ``shown`` are its places, with semicolons between them: ``Component.field`` of the API's schema (``*`` for any),
    ``head …`` above a column of numbers, ``term …`` of the glossary, ``metric …``, ``export …`` of a file of results.
    ``section`` and ``sources`` are those of ``docs/statistics.md``, ``code`` is ``module:name``, ``tests`` are
    ``file::name`` below ``benchmarks``, ``measured`` the beginnings of rows in the tables of "Measured".
    """

    number: str
    shown: str
    section: str
    sources: tuple[int, ...]
    code: str
    agrees_with: str
    tests: tuple[str, ...]
    limits: str
    measured: tuple[str, ...] = ()
    exact: str = ""
    """Why there is no rate to measure"""


@dataclass(frozen=True, slots=True)
class Plain:
    """Numbers that are counted, added up or read, not estimated: their code and tests."""

    number: str
    shown: str
    code: str
    tests: tuple[str, ...]
    limits: str


_S = "statistics/tests"
_M = "metrics/tests"

ESTIMATES = (
    Row(
        "Mean of scores from 0 to 1, its 95% interval",
        "Mean.mean; Mean.low; Mean.high; Counted.mean; Counted.low; Counted.high; Expected.mean; "
        "Expected.low; Expected.high; MetricStatistics.mean; MetricStatistics.low; MetricStatistics.high; "
        "Interval.mean; Interval.low; Interval.high; Point.mean; Point.low; Point.high; OverallCell.mean; "
        "OverallCell.low; OverallCell.high; Cell.mean; Cell.low; Cell.high; Readable.mean; head Score; "
        "head 95% interval; head Best score; head Mean verdict; head Verdict; term strict_mean; term interval; "
        "term half_width; term readable; term task_score; term cluster; term model_marks",
        "Interval of a mean",
        (1, 2, 3, 4, 5, 53, 54, 55),
        "benchmarks.statistics.intervals:mean_interval",
        "statsmodels (Wilson, cluster-robust variance), Newcombe's example, Bell and McCaffrey's matrix formulas",
        (
            f"{_S}/test_intervals.py::test_zeros_and_ones_get_the_wilson_interval_of_statsmodels",
            f"{_S}/test_intervals.py::test_the_wilson_interval_of_newcombes_first_example",
            f"{_S}/test_intervals.py::test_few_zeros_or_ones_get_bounds_at_least_as_wide_as_clopper_and_pearsons",
            f"{_S}/test_intervals.py::test_the_variance_of_equal_clusters_is_that_of_statsmodels",
            f"{_S}/test_intervals.py::test_the_clustered_variance_and_its_degrees_are_the_matrix_formulas_of_bell_and_mccaffrey",
        ),
        "Wrong references and biased judges; with fewer than 30 results or clusters it is approximate, and says so",
        (
            "independent 0/1 scores",
            "0/1 scores that share",
            "canvases of 1 to 12",
            "graded scores, n = 10",
            "graded scores with 0 to 20% zeros",
        ),
    ),
    Row(
        "Mean with all that is missing wrong; worst and best case of a difference",
        "Mean.if_missing_wrong; Counted.*est; Expected.*est; MetricStatistics.*est; Stratum.*est; "
        "Comparison.worst_case; Comparison.best_case; Comparison.p_missing; term missing_scores",
        "Missing scores",
        (47,),
        "benchmarks.statistics.paired:p_against_gain",
        "arithmetic with the missing scores put in; the test of two runs with them put in",
        (
            f"{_S}/test_paired.py::test_tasks_without_a_score_are_left_out_and_bound_the_difference_both_ways",
            f"{_S}/test_ranking.py::test_the_p_value_with_missing_scores_is_that_of_the_comparison_of_two_runs",
            f"{_S}/test_ranking.py::test_no_answer_without_a_verdict_gains_a_rank_or_a_claim",
        ),
        "Bounds, no estimate: wide where much is missing",
        ("a model that leaves its wrong answers",),
    ),
    Row(
        "Weighted mean",
        "Weighted.*; term weighted",
        "Weighted mean",
        (34, 35, 3),
        "benchmarks.statistics.weighted:weighted_mean",
        "the ratio and its linearized variance, written with NumPy",
        (
            f"{_S}/test_weighted.py::test_the_mean_and_its_variance_are_those_of_a_ratio",
            f"{_S}/test_weighted.py::test_equal_weights_give_the_strict_mean_and_nearly_its_interval",
        ),
        "No interval below 20 effective tasks; the weights are the author's",
        ("weighted means of 30",),
    ),
    Row(
        "Difference of two runs and its interval",
        "Comparison.difference; Comparison.low; Comparison.high; Separation.difference; head Change, points; "
        "head Difference; term standings; term paired_test",
        "Two runs",
        (9,),
        "benchmarks.statistics.paired:compare",
        "Tango's score test inverted with SciPy; the t interval for many graded scores",
        (
            f"{_S}/test_paired.py::test_the_interval_of_zeros_and_ones_inverts_tangos_score_test",
            f"{_S}/test_paired.py::test_many_graded_scores_get_the_usual_t_interval_of_the_difference",
        ),
        "Shared tasks only; single intervals, not adjusted for many comparisons",
        ("false alarms: two runs",),
    ),
    Row(
        "p of two runs, and Holm's adjustment",
        "Comparison.p_value; Comparison.p_adjusted; head p; head p (Holm); term p_value; term holm",
        "Two runs",
        (6, 7, 8, 12),
        "benchmarks.statistics.permutation:sign_flip_test",
        "statsmodels (McNemar, Holm), SciPy (permutation test), enumeration of all patterns",
        (
            f"{_S}/test_paired.py::test_zeros_and_ones_get_the_exact_mcnemar_test_of_statsmodels",
            f"{_S}/test_paired.py::test_graded_differences_get_the_exact_permutation_test_of_scipy",
            f"{_S}/test_paired.py::test_the_exact_tail_on_a_grid_is_that_of_enumerating_every_pattern",
            f"{_S}/test_paired.py::test_holm_gives_the_p_values_of_statsmodels",
        ),
        "Holm covers the pairs and metrics of one page, not all that anyone looks at",
        ("false alarms: two runs", "any false alarm among 15"),
    ),
    Row(
        "Effect size",
        "Comparison.effect_size; head Effect size; term effect_size",
        "Two runs",
        (10,),
        "benchmarks.statistics.paired:compare",
        "the paired t statistic of SciPy over √n; the share of better tasks",
        (
            f"{_S}/test_paired.py::test_the_standardized_effect_of_graded_scores_is_the_paired_t_statistic_over_root_n",
            f"{_S}/test_paired.py::test_the_effect_of_zeros_and_ones_is_the_share_of_better_tasks_minus_one_half",
        ),
        "Describes these tasks; has no interval",
        exact="a description of the data",
    ),
    Row(
        "Detectable difference, tasks needed, half-width of a planned run",
        "Comparison.detectable_difference; ExperimentPlan.detectable; Size.detectable; Size.tasks; "
        "Size.clusters; Size.discordance; Outlook.half_width; Outlook.saved; term detectable; term can_show",
        "Planning",
        (11, 3, 14),
        "benchmarks.statistics.planning:tasks_needed",
        "statsmodels (power of the paired t test); the exact power of the test",
        (
            f"{_S}/test_planning.py::test_the_planned_number_gives_the_exact_test_its_power",
            f"{_S}/test_planning.py::test_a_small_difference_needs_the_tasks_of_a_paired_t_test_in_statsmodels",
            f"{_S}/test_paired.py::test_the_detectable_difference_is_detected_with_the_power_it_claims",
            f"{_S}/test_paired.py::test_few_tasks_detect_only_what_the_exact_test_can_show",
        ),
        "A guess of the discordance (0.3) until two models have run",
        ("10 points detected on 480",),
    ),
    Row(
        "The same within a margin; verdict of a gate",
        "Comparison.margin; Comparison.low_same; Comparison.high_same; Gate.difference; Gate.low; Gate.high; "
        "Gate.margin; Gate.more_tasks; GateCheck.difference; GateCheck.low; GateCheck.high; GateCheck.margin; "
        "GateSeries.most; SelfCheck.margin; term same",
        "The same within a margin",
        (50,),
        "benchmarks.statistics.margins:edges",
        "Tango's bounds, moved outward by half a task",
        (
            f"{_S}/test_margins.py::test_a_verdict_follows_from_the_bounds",
            f"{_S}/test_margins.py::test_the_planned_number_of_tasks_has_its_power",
        ),
        "2 points take at least 158 tasks",
        (
            "called the same within 5 points",
            "equal runs called the same",
            "a false alarm in 100 nights",
            "the same gate finds",
            "a loss of 20 points on 240 tasks",
        ),
    ),
    Row(
        "A run against itself: flips, and how often a gate would be wrong",
        "SelfCheck.flip_rate; SelfCheck.flipping_tasks; SelfCheck.verdicts; "
        "RepeatsOutlook.half_width; RepeatsOutlook.passes; RepeatsOutlook.called_worse",
        "The same within a margin",
        (),
        "benchmarks.statistics.self_check:self_check",
        "400 simulated pairs of runs",
        (f"{_S}/test_self_check.py::test_the_chances_are_those_of_simulated_runs",),
        "Few tasks: the normal approximation is up to 10 points off",
        exact="chances by the normal approximation, which the test holds against simulated runs",
    ),
    Row(
        "Rank, groups, chance of being the best",
        "Cell.rank; Cell.best; AveragedModel.rank; AveragedModel.best; OverallRow.rank; head Rank; head Best; "
        "head Overall rank; term rank; term group; term best",
        "Rankings",
        (28, 29, 30, 12),
        "benchmarks.statistics.ranking:Ranking",
        "the comparison of two runs, pair by pair; enumeration of letters",
        (
            f"{_S}/test_ranking.py::test_p_values_are_those_of_the_comparison_of_two_runs_with_holm_over_all_pairs",
            f"{_S}/test_ranking.py::test_two_rows_share_a_letter_exactly_if_their_difference_is_not_significant",
            f"{_S}/test_ranking.py::test_equal_candidates_share_the_chance_of_being_the_best",
        ),
        "These tasks and these candidates; the chance of being the best is of the bootstrap, not of the future",
        ("any wrong separation in a ranking", "15 points detected between 3 + 3"),
    ),
    Row(
        "Mean rank over datasets, places on other datasets",
        "MeanRank.*; head On other benchmarks; term mean_rank; term other_datasets",
        "Over several datasets",
        (29, 48),
        "benchmarks.statistics.ranking:mean_ranks",
        "simulated truth",
        (
            f"{_S}/test_ranking.py::test_the_mean_rank_averages_the_ranks_on_each_dataset_whatever_their_sizes",
            f"{_S}/test_ranking.py::test_the_ranges_of_all_models_hold_together",
        ),
        "Conservative; no places with fewer than 1 + log₂(pairs / 0.05) datasets",
        ("equal on all datasets", "close, unlike on each", "far apart"),
    ),
    Row(
        "Mean over variants, shares of the variance",
        "AveragedModel.mean; AveragedModel.low; AveragedModel.high; AverageBounds.*; VarianceShares.*; head "
        "Variance: variants; head Rest; term variants_averaged; term variance_shares",
        "Averages over variants",
        (51, 52, 5),
        "benchmarks.statistics.crossed:crossed",
        "a two-way analysis of variance written with NumPy",
        (
            f"{_S}/test_crossed.py::test_the_variance_is_that_of_tasks_plus_that_of_variants",
            f"{_S}/test_crossed.py::test_the_shares_are_those_of_a_two_way_analysis_of_variance",
            f"{_S}/test_crossed.py::test_the_interval_holds_for_other_variants_where_one_for_these_alone_does_not",
        ),
        "At least three variants, like those that will be used; 90.8% with three of large effect",
        ("**Averages over variants",),
    ),
    Row(
        "Guess rate, score above the best guess",
        "CorrectedGroup.guess; Corrected.*; head Guess rate; head Majority guess; head Rule, all; head "
        "Above best guess; term above_best_guess; term guess_rate; term without_canvas",
        "Above best guess",
        (13, 19),
        "benchmarks.statistics.chance:corrected_average",
        "Abbott's formula by hand; simulated guessers",
        (
            f"{_S}/test_chance.py::test_a_guess_scores_0_and_a_perfect_run_1_with_bounds_corrected_alike",
            f"{_S}/test_chance.py::test_always_yes_is_rarely_below_guessing",
            "engine/tests/test_summary.py::test_scores_are_corrected_for_the_guess_rate_of_their_class",
            "engine/tests/test_summary.py::test_the_guess_rate_on_generated_canvases_is_that_of_the_generator_not_of_the_set",
        ),
        "A shortcut that the audit does not find counts as skill",
        ("chance-corrected averages",),
    ),
    Row(
        "50% threshold",
        "Threshold.threshold; Threshold.low; Threshold.high; Threshold.slope; Threshold.lapse; "
        "Threshold.guess; Level.mean; Stratum.mean; term threshold",
        "50% threshold",
        (16, 17),
        "benchmarks.statistics.psychometric:fit_threshold",
        "statsmodels (logistic regression), SciPy (maximum and profile of the likelihood)",
        (
            f"{_S}/test_psychometric.py::test_without_guesses_and_lapses_the_fit_is_the_logistic_regression_of_statsmodels",
            f"{_S}/test_psychometric.py::test_with_a_guess_rate_the_likelihood_has_its_maximum_at_the_fit",
            f"{_S}/test_psychometric.py::test_the_bounds_are_where_the_profile_likelihood_has_fallen_by_half_the_chi_square_quantile",
        ),
        "Scores must fall over several difficulties; lapses up to 20%",
        ("thresholds, lapse rates",),
    ),
    Row(
        "Interval of an adaptive run",
        "Stratum.low; Stratum.high",
        "Adaptive runs",
        (15,),
        "benchmarks.statistics.sequential:confidence_sequence",
        "the capital process followed step by step",
        (
            f"{_S}/test_sequential.py::test_the_bounds_are_those_of_the_capital_followed_by_hand",
            f"{_S}/test_sequential.py::test_a_long_run_is_followed_across_blocks",
        ),
        "Only the mean of the run and of its strata; other intervals are not valid at every look",
        ("adaptive runs in which all intervals hold",),
    ),
    Row(
        "Score estimated from fewer tasks",
        "term estimate_from_part",
        "Fewer tasks",
        (34, 35, 36),
        "benchmarks.statistics.subset:estimate",
        "simulated models, stored runs left out one by one",
        (
            f"{_S}/test_subset.py::test_the_estimate_weights_strata_by_their_tasks_not_by_what_was_drawn",
            f"{_S}/test_subset.py::test_the_interval_holds_the_score_on_all_tasks",
            f"{_S}/test_subset.py::test_the_bound_of_equal_scores_is_exact",
        ),
        "This run's score on its dataset, not on other tasks; no rank",
        ("**Fewer tasks",),
    ),
    Row(
        "Lead on published tasks",
        "Contamination.difference; Contamination.low; Contamination.high; Contamination.p_value; "
        "Contamination.low_missing; Contamination.high_missing; Contamination.published; Contamination.fresh",
        "Published and fresh tasks",
        (18, 19),
        "benchmarks.statistics.contamination:published_against_fresh",
        "Newcombe's example, statsmodels (two independent proportions)",
        (
            f"{_S}/test_contamination.py::test_newcombes_own_example",
            f"{_S}/test_contamination.py::test_one_stratum_gets_the_newcombe_interval_of_statsmodels",
            f"{_S}/test_contamination.py::test_missing_scores_count_against_whichever_set_gains",
        ),
        "No lead proves that there is no contamination",
        ("false alarms: two runs",),
    ),
    Row(
        "Share of answers that are refused, cut off or unreadable",
        "",
        "Interval of a mean",
        (1, 2, 4),
        "benchmarks.engine.summary.faults:fault_rates",
        "the interval of 0/1 scores in the same clusters",
        ("engine/tests/test_summary.py::test_shares_of_faults_have_the_intervals_of_their_answers",),
        "Of answers: what was never answered is not in it",
        ("independent 0/1 scores", "0/1 scores that share"),
    ),
    Row(
        "pass@k and pass^k",
        "",
        "Repeats and judges",
        (20, 21),
        "benchmarks.statistics.reliability:pass_at_k",
        "enumeration; the product in the paper",
        (
            f"{_S}/test_reliability.py::test_pass_at_k_and_pass_hat_k_match_enumeration",
            f"{_S}/test_reliability.py::test_pass_at_k_of_many_repeats_is_the_product_of_the_paper",
        ),
        "Tasks with at least k scored repeats; the interval is that of a mean over tasks",
        ("graded scores, n = 10",),
    ),
    Row(
        "Agreement of repeats and of judges, Krippendorff's α, judge spread",
        "Reliability.alpha; JudgeSpread.*; head Spread of its verdicts on an answer; term alpha",
        "People and judges",
        (22, 23, 46, 49),
        "benchmarks.statistics.alpha:alpha_of",
        "Krippendorff's published examples, statsmodels (Fleiss' κ)",
        (
            f"{_S}/test_alpha.py::test_alpha_is_that_of_the_published_examples",
            f"{_S}/test_reliability.py::test_krippendorffs_own_example",
            f"{_S}/test_reliability.py::test_alpha_of_complete_zeros_and_ones_is_corrected_fleiss_kappa",
            f"{_S}/test_reliability.py::test_a_judges_spread_is_the_pooled_deviation_within_answers",
        ),
        "Undefined if nothing differs; open where values are rare",
        ("Krippendorff's α, 30", "Krippendorff's α, 20"),
    ),
    Row(
        "Cohen's κ of a judge",
        "JudgeAgreement.lenient; JudgeAgreement.strict; head Lenient; head Strict; term kappa",
        "Repeats and judges",
        (24, 25, 27),
        "benchmarks.statistics.agreement:cohen_kappa",
        "statsmodels (κ and its standard error), the jackknife over clusters",
        (
            f"{_S}/test_agreement.py::test_kappa_is_that_of_statsmodels_and_its_bounds_tend_to_those_of_its_standard_error",
            f"{_S}/test_agreement.py::test_the_clustered_error_is_that_of_the_jackknife_over_clusters",
        ),
        "Canvases or labeled answers, not other texts",
        ("Cohen's κ, 30",),
    ),
    Row(
        "First wrong step of an agent: agreement of judge and people",
        "",
        "People and judges",
        (1, 2, 5),
        "benchmarks.analysis.judge_comparisons:step_agreement",
        "shares counted by hand; the interval of a mean",
        ("queries/tests/test_judge_agreement.py::test_the_steps_that_judge_and_people_name_first_are_compared",),
        "Labels of random reviews that name a step or none; 30 answers",
        exact="The interval is that of a mean",
    ),
    Row(
        "Mean corrected by labels, and differences of such means",
        "CorrectedRank.mean; CorrectedRank.low; CorrectedRank.high; CorrectedRank.rank; CorrectedRank.judge_alone; "
        "JudgeAgreement.more_labels; head Judge alone; term prediction_powered",
        "People and judges",
        (43, 34, 45, 46),
        "benchmarks.statistics.prediction_powered:corrected_mean",
        "the labels alone if all answers have one; simulated truth",
        (
            f"{_S}/test_prediction_powered.py::test_with_all_answers_labeled_the_interval_of_verdicts_is_that_of_the_labels",
            f"{_S}/test_prediction_powered.py::test_in_simulated_studies_the_corrected_mean_covers_the_truth_and_is_narrower_than_labels_alone",
            f"{_S}/test_prediction_powered.py::test_the_interval_of_a_difference_of_corrected_means_covers_and_is_cautious_on_shared_tasks",
        ),
        "20 labels of a random review",
        ("means corrected by 40",),
    ),
    Row(
        "Preference: strength, win rate, position bias, cycles",
        "head Strength; term strength",
        "Preference",
        (37, 38, 39, 40, 41, 44),
        "benchmarks.statistics.preference:Preference",
        "planted strengths; the sign-flip test of points",
        (
            f"{_S}/test_preference.py::test_planted_strengths_ties_and_position_are_recovered",
            f"{_S}/test_preference.py::test_the_test_is_that_of_the_tasks_differences_of_points",
            f"{_S}/test_preference.py::test_a_bias_for_a_position_does_not_change_strengths_and_is_found",
        ),
        "Preference, not correctness; Wald's interval is too wide for one that always wins",
        ("strengths of 2 to 8", "preference: any of two", "preference: a position bias", "preference: a cycle"),
    ),
    Row(
        "Discrimination and flags of tasks",
        "AnalyzedTask.discrimination; AnalyzedModel.mean; head Discrimination; term discrimination; term too_easy",
        "Task analysis",
        (31, 32),
        "benchmarks.statistics.task_analysis:discrimination",
        "NumPy's correlation with the rest score",
        (
            f"{_S}/test_task_analysis.py::test_discrimination_is_the_correlation_with_the_rest_score",
            f"{_S}/test_task_analysis.py::test_planted_wrong_references_are_found_among_300_tasks",
        ),
        "Five models; wrong references that the best models share or cannot answer are missed",
        ("**Suspect expected answers",),
    ),
    Row(
        "Effective tasks",
        "Effective.*; term effective_tasks",
        "Task analysis",
        (33,),
        "benchmarks.statistics.task_analysis:effective_tasks",
        "coin flips",
        (
            f"{_S}/test_task_analysis.py::test_effective_tasks_count_coin_flips_fully_and_tasks_that_all_solve_not_at_all",
        ),
        "These models",
        ("effective tasks, 4 to 20",),
    ),
    Row(
        "Measurements: latency, time to first token, speed, length",
        "Times.mean",
        "Interval of a mean",
        (26,),
        "benchmarks.statistics.intervals:measurement_interval",
        "SciPy (t), statsmodels (cluster-robust regression)",
        (
            f"{_S}/test_measurements.py::test_independent_measurements_have_students_interval",
            f"{_S}/test_measurements.py::test_uneven_clusters_are_no_more_certain_than_in_cluster_robust_regression",
        ),
        "Skewed measurements with few results",
        exact="Student's interval",
    ),
)

PLAIN = (
    Plain(
        "Scores of texts with a known implementation",
        "metric rouge_l; metric levenshtein; metric token_f1; metric bleu; metric chrf; metric "
        "semantic_similarity; metric json_schema",
        "benchmarks.metrics.rouge_l:RougeL",
        (
            f"{_M}/test_text_metrics.py::test_rouge_l_equals_rouge_score_and_edit_similarity_equals_rapidfuzz",
            f"{_M}/test_translation.py::test_bleu_and_chrf_are_those_of_sacrebleu",
            f"{_M}/test_translation.py::test_token_f1_is_that_of_squad",
            f"{_M}/test_semantic_similarity.py::test_values_are_those_of_wordllama",
            f"{_M}/test_json_metrics.py::test_json_schema_agrees_with_jsonschema",
        ),
        "Equal to rouge-score, RapidFuzz, SQuAD's script, sacrebleu, WordLlama, jsonschema. Like words may be wrong",
    ),
    Plain(
        "Scores of judges",
        "metric correctness; metric faithfulness; metric answer_relevancy; metric contextual_precision; "
        "metric contextual_recall; metric tool_correctness; metric rubric; head Judge",
        "benchmarks.metrics.judges:load_deepeval",
        (
            f"{_M}/test_slim_installation.py::test_judged_metrics_score_as_with_everything_that_deepeval_requires",
            "services/tests/test_imported_harness_runs.py",
        ),
        "DeepEval's own metrics. A judge errs: its agreement with people or known answers stands on its page",
    ),
    Plain(
        "Scores by rules, and of canvases",
        "metric *; Answer.score; Result.score; Result.scores; export score; export value",
        "benchmarks.metrics.registered_metrics:REGISTERED_METRICS",
        (
            "metrics/tests/test_text_metrics.py",
            "metrics/tests/test_numeric.py",
            "metrics/tests/test_multiple_choice.py",
            "metrics/tests/test_tool_calls.py",
            "metrics/tests/test_retrieval.py",
            "metrics/tests/test_task_score.py",
        ),
        "Rules of this project; they misread some answers, as [measured](statistics.md#measured) on labeled replies",
    ),
    Plain(
        "Numbers that another tool reported",
        "Run.reported",
        "benchmarks.services.imports:import_runs",
        ("services/tests/test_numbers_of_tools.py",),
        "Equal to that tool's own report; not computed here",
    ),
    Plain(
        "Label of a person",
        "EarlierLabel.value; EarlierLabel.first_wrong_step; Label.value; Label.first_wrong_step",
        "benchmarks.services.labels:label_result",
        ("services/tests/test_reviews.py",),
        "As entered",
    ),
    Plain(
        "Counts of results, tasks, runs, answers, labels, models; shares of such counts",
        "*.n; *.n_[!s]*; *.n_shared; *.total; *.done; *.errors; *.count; *.tasks; *.results; *.runs; "
        "*.answers; *.labels; *.wanted; *.twice; *.flagged; *.disagreeing; *.wrong; *.right; *.hidden; "
        "*.received; *.repeated; *.new; *.unchanged; *.corrected; *.expected; *.canvases; *.audited; "
        "*.not_applicable; *.asked; *.outcomes; *.error_kinds; *.family_size; *.all_right; *.all_wrong; "
        "*.disagree; *.coverage; *.share; *.datasets_missing; *.candidates; *.task_count; *.tasks_there; "
        "*.variants; *.added_canvases; *.attempts; *.where; Installation.results_*; Installation.workers_*; "
        "Installation.worker_threads; Installation.queue_depth; SystemTrial.steps; export attempts; head "
        "Answers; head Pairs that differ; head "
        "Attempts; head Better; head Worse; head Canvases; head Canvases used; head Count; head Delivered; "
        "head Given up; head Runs at once; head Judged; head Verdicts; head Labeled; head Labeled by you; head "
        "Labels; head Left for you; head Models; head Pending; head People; head Progress; head Questions; "
        "head Received; head Results; head Runs; head Shared tasks; head Skipped; head Tasks; head n; head "
        "Examples; term coverage; metric length",
        "benchmarks.engine.execution.lifecycle:ALLOWED",
        (
            "engine/tests/test_run_counts.py",
            "services/tests/test_headline.py",
            "services/tests/test_numbers_of_tools.py",
        ),
        "Of rows that are stored; of a live run, so far",
    ),
    Plain(
        "Tokens",
        "*.tokens_in*; *.tokens_out*; *.*_tokens; *.*_tokens_in; *.*_tokens_out; export *_tokens; export "
        "tokens_in; export tokens_out; head Tokens in; head Tokens out; head Tokens out per result",
        "benchmarks.engine.summary.summarize:summarize",
        ("engine/tests/test_costs.py", "services/tests/test_numbers_of_tools.py"),
        "As the endpoint reports them, failed attempts included; unknown where it reports none",
    ),
    Plain(
        "Cost in US dollars, prices, budgets",
        "*.*cost*; *.known_low; *.known_high; *_per_million; *.budget_usd; export *cost_usd; head $*; head "
        "Cost; head Judge cost; head Model cost; head Input, $/M; head Output, $/M",
        "benchmarks.engine.prices:prices_per_million",
        (
            "engine/tests/test_costs.py",
            "services/tests/test_model_prices.py",
            "services/tests/test_listed_prices.py",
            "services/tests/test_numbers_of_tools.py",
        ),
        "Tokens times entered, listed or LiteLLM's price, with its source; no invoice. Unknown is unknown",
    ),
    Plain(
        "Estimated requests, tokens, cost and time of a plan",
        "*.requests; *.judge_requests; *.seconds_low; *.seconds_high; term checks_and_tests",
        "benchmarks.statistics.planning:workload",
        ("statistics/tests/test_planning.py", "engine/tests/test_conversations.py", "engine/tests/test_panels.py"),
        "A range, not an interval: from the tokens of earlier runs or the length of texts, to the limits",
    ),
    Plain(
        "Times: latency, time to first token, tokens per second, durations; medians and 95th percentiles",
        "*.p50; *.p95; *.max; *.latency_ms; *.duration_ms; *.tokens_per_second; *.first_token_ms; "
        "*.duration_seconds; *.queue_age_seconds; export duration_ms; export first_token_ms; export "
        "tokens_per_second; head Duration; head Median latency; head Time; head Time to first "
        "token; head Tokens per second; head Wait; metric latency",
        "benchmarks.engine.summary.summarize:summarize",
        ("engine/tests/test_running.py", "engine/tests/test_retrying.py", "engine/tests/test_summary.py"),
        "As seen by the worker: network and waiting at the endpoint included, retries and pauses not",
    ),
    Plain(
        "Identifiers, versions, positions, difficulty",
        "*.id; *.run; *.result; *.review; *.experiment; *.a; *.b; *.version; *.dataset_version; *.number; "
        "*.against; *.schedule; GateCheck.period; GateSeries.period; GateSeries.counted; head Check; "
        "Step.position; Step.depth; head Step; SystemTrial.status; "
        "*.index; *.rescored_from; *.fresh_of; *.page; *.pages; *.examples; *.first; *.last; *.repeat; "
        "*.center; Canvas*.n_shapes; Result.n_shapes; Stratum.n_shapes; Task.n_shapes; *.difficulty; export "
        "run; export result; export position; export repeat; export n_shapes; head ID; head Line; head No.; "
        "head Turn; head Version; head Shapes; head x; head y; term served_model",
        "benchmarks.models:Run",
        ("services/tests/test_datasets.py",),
        "They measure nothing",
    ),
    Plain(
        "Settings",
        "*.seed; *.repeats; *.limit; *.concurrency; *.subset; *.judge_repeats; *.max_canvases; "
        "*.target_half_width; *.overlap; *.pairs_per_task; *.questions; *.shapes_low; *.shapes_high; "
        "*.tracking_steps; *.tolerance; *.weight; *.max_in_flight; *.*_per_minute; *.context_length; export "
        "seed; head Context; head Max concurrent requests; head Metric",
        "benchmarks.run_parameters:RUN_PARAMETERS",
        ("tests/test_asking.py",),
        "As chosen",
    ),
)
