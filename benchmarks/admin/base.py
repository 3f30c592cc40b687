"""What the pages of the admin share: lists of bounded cost, read-only models, forms, and deletion through services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.helpers import AdminErrorList, AdminForm
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import get_fields_from_path, unquote
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import JSONField, Model, QuerySet, TextField
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from benchmarks.models import Dataset
from benchmarks.presentation.texts import visible
from benchmarks.services.errors import NotPossible

if TYPE_CHECKING:
    PlainModelAdmin = admin.ModelAdmin[Any]
    PlainPaginator = Paginator[Any]
else:
    PlainModelAdmin, PlainPaginator = admin.ModelAdmin, Paginator

UPLOAD = "admin/benchmarks/upload.html"
"""Template of a form with a file: lists the errors of the file by line."""

MAX_LISTED = 10_000
"""Rows that a list pages through. To find a row beyond them, filter or search."""
MAX_TEXT = 20_000
"""Characters of a long text on an admin page; the dashboard shows all of it."""


class BoundedPaginator(PlainPaginator):
    """Pages over at most ``MAX_LISTED`` rows."""

    @cached_property
    def count(self) -> int:
        # The LIMIT is inside the count, so counting costs the same however long the table is.
        rows = self.object_list
        return int(rows.order_by().values("pk")[:MAX_LISTED].count()) if isinstance(rows, QuerySet) else len(rows)


class CheckedChangeList(ChangeList):
    """Leads to the list without filters where the address has values that no database can compare."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except (ValueError, OverflowError) as error:  # a year beyond the calendar fails when rows are counted
            raise IncorrectLookupParameters from error

    def get_filters(self, request: HttpRequest) -> Any:
        values = [str(value) for name, value in request.GET.items() if name != SEARCH_VAR]
        if any("\0" in value or (value.isdigit() and key_number(value) is None) for value in values):
            raise IncorrectLookupParameters
        return super().get_filters(request)


class BoundedChangeList(CheckedChangeList):
    """Loads the columns that the list shows and no long texts."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        model_admin: Any = self.model_admin
        rows: QuerySet[Any] = model_admin.list_rows(super().get_queryset(request, exclude_parameters))
        return rows


class ModelAdmin(PlainModelAdmin):
    """A model whose list loads only those long texts that it shows."""

    list_texts: ClassVar[tuple[str, ...]] = ()
    """Long texts that computed columns of the list show."""
    permitted: tuple[str, ...] = ("add", "change", "delete")
    """What the admin offers to accounts with the permission. Everything else is on the dashboard or never changes."""
    views: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Name and route of additional pages. The method ``{name}_view`` responds."""
    list_select_related: ClassVar[Any] = ()
    show_full_result_count = False
    paginator = BoundedPaginator
    list_per_page = 40
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER

    def get_urls(self) -> list[URLPattern]:
        model = f"{self.opts.app_label}_{self.opts.model_name}"
        own = [
            path(route, self.admin_site.admin_view(getattr(self, f"{name}_view")), name=f"{model}_{name}")
            for name, route in self.views
        ]
        return [*own, *super().get_urls()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return "add" in self.permitted and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return "change" in self.permitted and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return "delete" in self.permitted and super().has_delete_permission(request, obj)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return BoundedChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def list_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.defer(*self._unseen_texts())

    def _unseen_texts(self) -> Iterator[str]:
        models = {"": self.model}
        for related in self.list_select_related:
            prefix = ""
            for field in get_fields_from_path(self.model, related):
                prefix += f"{field.name}__"
                models[prefix] = field.related_model  # type: ignore[assignment]  # a relation has one
        seen = {*self.list_display, *self.list_texts}
        for prefix, model in models.items():
            texts = (field.name for field in model._meta.concrete_fields if isinstance(field, TextField | JSONField))
            yield from (prefix + name for name in texts if prefix + name not in seen)

    def list_url(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def visible_object(self, request: HttpRequest, pk: object) -> Any:
        """The object with this key. Raises ``Http404``, and ``PermissionDenied`` for accounts that may not view it."""
        obj = self.get_object(request, str(pk))
        if obj is None:
            raise Http404(f"{capfirst(str(self.opts.verbose_name))} {pk} does not exist.")
        if not self.has_view_permission(request, obj):
            raise PermissionDenied
        return obj

    def page(self, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
        """A page of our own inside the frame of the admin."""
        frame = {**self.admin_site.each_context(request), "title": title, "opts": self.opts, "media": self.media}
        return TemplateResponse(request, f"admin/benchmarks/{template}", {**frame, **context})

    def form_page(
        self,
        request: HttpRequest,
        form: Form,
        *,
        title: str,
        obj: Model | None = None,
        template: str | None = None,
        **context: Any,
    ) -> HttpResponse:
        """The admin's form page around a plain form, which defines its ``fieldsets``."""
        plain: Any = form  # Django's stubs accept model forms only, but its helpers accept any form.
        admin_form = AdminForm(plain, plain.fieldsets, {}, (), self)
        frame = {
            **self.admin_site.each_context(request),
            "title": title,
            "adminform": admin_form,
            "object_id": obj.pk if obj else None,
            "original": obj,
            "is_popup": False,
            "media": self.media + admin_form.media,
            "inline_admin_formsets": [],
            "errors": AdminErrorList(plain, []),
            "preserved_filters": self.get_preserved_filters(request),
            "show_save_and_add_another": False,
            **context,
        }
        page: Any = self.render_change_form(request, frame, add=obj is None, change=obj is not None, obj=obj)
        # Whoever sees this form may save it, also if the object belongs to a version that is no longer current.
        page.context_data["has_change_permission"] = True
        page.template_name = template or page.template_name
        response: HttpResponse = page
        return response


class OnDashboard(ModelAdmin):
    """A read-only list. A row leads to the page on the dashboard, where the work is done."""

    permitted = ()
    actions = None

    def view_on_site(self, obj: Any) -> str:
        """The page's address."""
        raise NotImplementedError

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return HttpResponseRedirect(self.view_on_site(self.visible_object(request, unquote(object_id))))


class ServiceDeletion(ModelAdmin):
    """Deletes through a service, so that its checks and the audit log apply.

    The action is named like Django's own, which it replaces: that one would delete rows without any service.
    """

    deletion_template = "delete.html"
    deletion_note = "This cannot be undone."
    deletion_service: ClassVar[Callable[[Any, Any], None]]
    """Deletes an object for a user, or raises ``NotPossible``."""

    def deletion_notes(self, obj: Any) -> tuple[str, str]:
        """What is deleted with the object, and why it cannot be deleted; each may be empty."""
        return "", ""

    @admin.action(description="Delete selected %(verbose_name_plural)s", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ask for confirmation; then delete every object that the service permits, and report the others."""
        chosen = list(queryset)
        if "confirmed" in request.POST:
            self.delete_objects(request, chosen)
            return None
        rows = [(obj, *self.deletion_notes(obj)) for obj in chosen]
        name = self.opts.verbose_name if len(chosen) == 1 else self.opts.verbose_name_plural
        context = {"rows": rows, "may_delete": any(not reason for *_, reason in rows), "note": self.deletion_note}
        return self.page(request, self.deletion_template, f"Delete {name}", **context)

    def delete_objects(self, request: HttpRequest, objects: list[Any]) -> None:
        @transaction.atomic
        def delete(obj: Any, user: Any) -> None:
            self.log_deletions(request, [obj])  # type: ignore[arg-type]  # any iterable of objects works
            type(self).deletion_service(obj, user)

        apply_to_each(request, objects, delete, "Deleted")

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        obj = self.visible_object(request, unquote(object_id))
        if not self.has_delete_permission(request, obj):
            raise PermissionDenied
        confirmation = self.delete_selected(request, self.get_queryset(request).filter(pk=obj.pk))
        return confirmation or HttpResponseRedirect(self.url_after_deletion(obj))

    def url_after_deletion(self, obj: Any) -> str:
        return self.list_url()


class DatasetFilter(admin.RelatedFieldListFilter):
    """Rows of one dataset."""

    kinds: tuple[str, ...] = (Dataset.Kind.YAML, Dataset.Kind.CANVAS)

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        return field.get_choices(False, limit_choices_to={"kind__in": self.kinds})


def apply_to_each(request: HttpRequest, objects: Iterable[Any], act: Callable[[Any, Any], Any], done: str) -> None:
    """Call a service with each object and the user. Report what is done, and each refusal with its reason."""
    names = []
    for obj in objects:
        name = str(obj)
        try:
            act(obj, request.user)
        except NotPossible as refusal:
            messages.error(request, refusal.message)
        else:
            names.append(name)
    if names:
        messages.success(request, f"{done}: {', '.join(names)}.")


def column(description: str, value: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A column of a list, or a read-only field of a page, that shows ``value(obj)``."""

    @admin.display(description=description)
    def show(model_admin: Any, obj: Any) -> Any:
        return value(obj)

    return show


def form_data(request: HttpRequest) -> tuple[Any, Any]:
    """The data and files of a submitted form, also of an empty one; two ``None`` if nothing was submitted."""
    return (request.POST, request.FILES) if request.method == "POST" else (None, None)


def key_number(text: str | None) -> int | None:
    """A whole number that fits into a key, or ``None``."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def folded(text: str, limit: int = MAX_TEXT) -> SafeString:
    """Untrusted text as inert HTML: escaped, line ends kept, invisible characters written out, cut to ``limit``."""
    more = f"… and {len(text) - limit:,} more characters" if len(text) > limit else ""
    return format_html('<pre class="cf-text" tabindex="0">{}</pre>{}', visible(text[:limit]), more)


def change_url(obj: Model) -> str:
    """The address of an object's page in the admin."""
    return reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_change", args=(obj.pk,))


def link(obj: Model | None, text: str | None = None) -> SafeString | str:
    """A link to an object's page in the admin; a dash for ``None``."""
    return format_html('<a href="{}">{}</a>', change_url(obj), text or str(obj)) if obj else "–"


def run_link(pk: int | None) -> SafeString | str:
    """A link to a run's page on the dashboard; a dash for ``None``."""
    return format_html('<a href="{}">Run {}</a>', reverse("frontend:run", args=(pk,)), pk) if pk else "–"
