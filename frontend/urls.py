"""Addresses of the pages."""

from django.urls import path, register_converter
from django.urls.converters import IntConverter, StringConverter

from frontend.views import (
    assets,
    canvases,
    compare,
    dataset_editing,
    datasets,
    experiments,
    exports,
    judges,
    launch,
    leaderboard,
    live,
    models,
    overview,
    providers,
    results,
    runs,
    search,
    statistics,
    task_analysis,
)
from frontend.views.settings import hub, imports, members, schedules, share_links, tokens, webhooks

app_name = "frontend"


class KeyConverter(IntConverter):
    """A whole number that fits into a key of the database, as in the addresses of the API."""

    regex = "[0-9]{1,18}"


class ModelConverter(StringConverter):
    """The name of a model, which may hold anything: ``provider/vendor/model:tag``."""

    regex = "(?s:.+)"


register_converter(KeyConverter, "key")
register_converter(ModelConverter, "model")
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("live/", live.live, name="live"),
    path("theme/", assets.theme, name="theme"),
    path("assets/charts-<str:version>.js", assets.charts_script, name="charts-script"),
    path("datasets/", datasets.dataset_list, name="datasets"),
    path("datasets/new/", dataset_editing.new, {"way": "file"}, name="new-dataset"),
    path("datasets/new/<slug:way>/", dataset_editing.new, name="new-dataset"),
    path("datasets/<slug:slug>/", datasets.dataset, name="dataset"),
    path("datasets/<slug:slug>/edit/<slug:way>/", dataset_editing.edit, name="edit-dataset"),
    path("datasets/<slug:slug>/do/<slug:action>/", dataset_editing.act, name="dataset-action"),
    path("datasets/<slug:slug>/download.<str:form>", datasets.download, name="download-dataset"),
    path("datasets/<slug:slug>/analysis/", task_analysis.analysis, name="task-analysis"),
    path("datasets/<slug:slug>/analysis/do/<slug:action>/", task_analysis.act_on_tasks, name="task-action"),
    path("datasets/<slug:slug>/changes/", datasets.choose_changes, name="choose-changes"),
    path("datasets/<slug:slug>/changes/<key:old>/<key:new>/", datasets.changes, name="changes"),
    path("datasets/<slug:slug>/tasks/new/", dataset_editing.task, name="new-task"),
    path("datasets/<slug:slug>/tasks/<key:pk>/", datasets.task, name="task"),
    path("datasets/<slug:slug>/tasks/<key:pk>/edit/", dataset_editing.task, name="edit-task"),
    path("datasets/<slug:slug>/tasks/<key:pk>/delete/", dataset_editing.delete_task, name="delete-task"),
    path("results/copy/", dataset_editing.copy_results, name="copy-results"),
    path("experiments/", experiments.experiment_list, name="experiments"),
    path("experiments/new/", experiments.launch, name="new-experiment"),
    path("experiments/new/plan/", experiments.plan, name="experiment-plan"),
    path("experiments/<key:pk>/", experiments.experiment, name="experiment"),
    path("experiments/<key:pk>/status/", experiments.status, name="experiment-status"),
    path("experiments/<key:pk>/tasks/", experiments.tasks, name="experiment-tasks"),
    path("experiments/<key:pk>/charts/<str:name>.<str:form>", experiments.chart, name="experiment-chart"),
    path("experiments/<key:pk>/do/<slug:action>/", experiments.act, name="experiment-action"),
    path("runs/", runs.run_list, name="runs"),
    path("runs/new/", launch.launch, name="launch"),
    path("runs/new/plan/", launch.plan, name="plan"),
    path("runs/new/size/", statistics.size, name="size"),
    path("runs/<key:pk>/", runs.run, name="run"),
    path("runs/<key:pk>/status/", runs.status, name="run-status"),
    path("runs/<key:pk>/do/<slug:action>/", runs.act, name="run-action"),
    path("runs/<key:pk>/labels/", runs.labels, name="run-labels"),
    path("runs/<key:pk>/charts/<str:name>.<str:form>", runs.chart, name="run-chart"),
    path("runs/<key:pk>/thresholds/<str:name>.<str:form>", statistics.threshold_chart, name="threshold-chart"),
    path("runs/<key:pk>/export.<str:form>", exports.export, name="run-export"),
    path("runs/<key:pk>/share/", exports.share, name="share"),
    path("runs/<key:pk>/revoke-links/", exports.revoke_links, name="revoke-links"),
    path("shared/<str:key>/", exports.shared_run, name="shared-run"),
    path("runs/<key:pk>/surface/", runs.surface, name="surface"),
    path("runs/<key:pk>/surface/<str:metric>/<str:name>.<str:form>", runs.surface_chart, name="surface-chart"),
    path("runs/<key:run_pk>/results/<key:pk>/", results.result, name="result"),
    path("runs/<key:run_pk>/results/<key:pk>/<slug:part>.txt", results.whole_text, name="whole-text"),
    path("models/<model:model>/charts/<str:name>.<str:form>", models.chart, name="model-chart"),
    path("models/<model:name>/", models.model, name="model"),
    path("datasets/<slug:slug>/charts/<str:name>.<str:form>", datasets.chart, name="dataset-chart"),
    path("canvases/", canvases.set_list, name="canvases"),
    path("canvases/new/", canvases.new_set, name="new-canvas-set"),
    path("canvases/<slug:slug>/", canvases.gallery, name="gallery"),
    path("canvases/<slug:slug>/audit/", canvases.audit, name="audit"),
    path("canvases/<slug:slug>/<key:index>/", canvases.canvas, name="canvas"),
    path("canvases/<slug:slug>/<key:index>.svg", canvases.picture, name="picture"),
    path("judges/", judges.calibration_list, name="judges"),
    path("judges/new/", judges.new_calibration, name="new-calibration"),
    path("judges/<key:pk>/", judges.calibration, name="calibration"),
    path("judges/<key:pk>/do/<slug:action>/", judges.act, name="calibration-action"),
    path("judges/<key:pk>/progress/", judges.progress, name="calibration-progress"),
    path("judges/<key:pk>/charts/<str:name>.<str:form>", judges.chart, name="calibration-chart"),
    path("providers/", providers.provider_list, name="providers"),
    path("providers/check/", providers.check, name="check-providers"),
    path("providers/test/", providers.test, name="test-model"),
    path("providers/local-model/", providers.local, name="local-model"),
    path("providers/key/", providers.key, name="provider-key"),
    path("matrix.<str:form>", exports.matrix, name="matrix-export"),
    path("compare/", compare.compare, name="compare"),
    path("compare/tasks/", compare.tasks, name="compare-tasks"),
    path("compare/<str:name>.<str:form>", compare.chart, name="compare-chart"),
    path("score-drops/<key:pk>/dismiss/", overview.dismiss_drop, name="dismiss-score-drop"),
    path("search/", search.search_page, name="search"),
    path("help/", search.help_page, name="help"),
    path("settings/", hub.hub, name="settings"),
    path("settings/schedules/", schedules.schedule_list, name="schedules"),
    path("settings/schedules/new/", schedules.new_schedule, name="new-schedule"),
    path("settings/schedules/<key:pk>/", schedules.schedule, name="schedule"),
    path("settings/schedules/<key:pk>/edit/", schedules.edit_schedule, name="edit-schedule"),
    path("settings/schedules/<key:pk>/do/<slug:action>/", schedules.act, name="schedule-action"),
    path("settings/tokens/", tokens.token_list, name="tokens"),
    path("settings/tokens/new/", tokens.new_token, name="new-token"),
    path("settings/tokens/<key:pk>/revoke/", tokens.revoke, name="revoke-token"),
    path("settings/webhooks/", webhooks.webhook_list, name="webhooks"),
    path("settings/webhooks/<slug:name>/", webhooks.webhook, name="webhook"),
    path("settings/webhooks/<slug:name>/test/", webhooks.test, name="test-webhook"),
    path("settings/webhooks/<slug:name>/<uuid:delivery>/send/", webhooks.send, name="send-delivery"),
    path("settings/share-links/", share_links.share_links, name="share-links"),
    path("settings/imports/", imports.import_runs, name="import-runs"),
    path("settings/members/", members.member_list, name="members"),
    path("settings/members/new/", members.new_member, name="new-member"),
    path("settings/members/<key:pk>/", members.member, name="member"),
    path("settings/members/<key:pk>/do/<slug:action>/", members.act, name="member-action"),
    path("password/<str:uidb64>/<str:token>/", members.SetPassword.as_view(), name="set-password"),
    path("workers/", overview.workers, name="workers"),
    path("leaderboard/", leaderboard.leaderboard, name="leaderboard"),
    path("leaderboard/overall/", leaderboard.overall, name="overall-leaderboard"),
    path("leaderboard/<str:name>.<str:form>", leaderboard.chart, name="leaderboard-chart"),
]
