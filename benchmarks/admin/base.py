"""What the admin's pages share: narrow lists that never count huge tables, read-only models, pages around a form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.helpers import AdminErrorList, AdminForm
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from benchmarks.admin.fields import SCRIPT
from benchmarks.models import Dataset

if TYPE_CHECKING:
    PlainModelAdmin = admin.ModelAdmin[Any]
    PlainChangeList = ChangeList
    PlainPaginator = Paginator[Any]
else:
    PlainModelAdmin, PlainChangeList, PlainPaginator = admin.ModelAdmin, ChangeList, Paginator

UPLOAD = "admin/benchmarks/upload.html"
"""Around a form with a file: its mistakes are shown by line."""

MOST_LISTED = 10_000
"""A list leads through so many rows at most. Who looks for one beyond them filters or searches."""
SHOWN = 20_000
"""Characters of a long text on an admin page; the dashboard has the whole."""

_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class BoundedPaginator(PlainPaginator):
    """Pages over at most ``MOST_LISTED`` rows, so that counting them costs the same however long the table is."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return int(rows.order_by().values("pk")[:MOST_LISTED].count())
        return len(rows)


class NarrowList(PlainChangeList):
    """Loads what the list shows and no long texts."""

    def get_filters(self, request: HttpRequest) -> Any:
        """Django's. Values that a database cannot compare with lead to the list without filters."""
        asked = [str(value) for name, value in request.GET.items() if name != SEARCH_VAR]
        if any("\0" in value or (value.isdigit() and whole(value) is None) for value in asked):
            raise IncorrectLookupParameters
        return super().get_filters(request)

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        model_admin: Any = self.model_admin
        narrowed: QuerySet[Any] = model_admin.narrowed(rows)
        return narrowed


class ModelAdmin(PlainModelAdmin):
    """A model whose list is narrow. ``shown`` names the columns it loads."""

    shown: ClassVar[tuple[str, ...]] = ()
    views: ClassVar[Mapping[str, str]] = {}
    """Pages of our own, name → route. The method with that name and ``_view`` answers."""
    show_full_result_count = False
    paginator = BoundedPaginator
    list_per_page = 50
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER

    @property
    def media(self) -> Any:
        return super().media + SCRIPT

    def get_urls(self) -> list[URLPattern]:
        model = f"{self.opts.app_label}_{self.opts.model_name}"
        own = [
            path(route, self.admin_site.admin_view(getattr(self, f"{name}_view")), name=f"{model}_{name}")
            for name, route in self.views.items()
        ]
        return [*own, *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return NarrowList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def narrowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.only(*self.shown)

    def form_page(
        self,
        request: HttpRequest,
        form: Form,
        *,
        title: str,
        obj: Model | None = None,
        template: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        """A page in the admin's form around a plain form, which brings its ``fieldsets``."""
        plain: Any = form  # the stubs know model forms alone, though the helpers take any form
        shown = AdminForm(plain, plain.fieldsets, {}, (), self)
        around = {
            **self.admin_site.each_context(request),
            "title": title,
            "subtitle": None,
            "adminform": shown,
            "object_id": obj.pk if obj else None,
            "original": obj,
            "is_popup": False,
            "to_field": None,
            "media": self.media + shown.media,
            "inline_admin_formsets": [],
            "errors": AdminErrorList(plain, []),
            "preserved_filters": self.get_preserved_filters(request),
            "show_save_and_add_another": False,
            **(context or {}),
        }
        page: Any = self.render_change_form(request, around, add=obj is None, change=obj is not None, obj=obj)
        # Who sees the form may save it, also where the object itself is of a version that has been overtaken.
        page.context_data["has_change_permission"] = True
        if template is not None:
            page.template_name = template
        answer: HttpResponse = page
        return answer


class ReadOnlyAdmin(ModelAdmin):
    """A model that is only looked at here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class DatasetFilter(admin.SimpleListFilter):
    """Rows of one dataset. The datasets come with their slugs alone, in one query."""

    title = "dataset"
    parameter_name = "dataset"
    path = "dataset"
    kind: str | None = None

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        datasets = Dataset.objects.filter(kind=self.kind) if self.kind else Dataset.objects.all()
        return [(str(pk), slug) for pk, slug in datasets.values_list("pk", "slug")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        number = whole(self.value())
        return queryset if number is None else queryset.filter(**{self.path: number})


class ChoicesFilter(admin.SimpleListFilter):
    """By the values that there can be: looking up which there are would read the whole table."""

    options: ClassVar[Sequence[tuple[Any, Any]]]
    path: ClassVar[str]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in self.options]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.path: self.value()}) if self.value() else queryset


def whole(text: str | None) -> int | None:
    """A positive whole number that fits into a key, or ``None``."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def visible(text: str) -> str:
    """Text of others with the signs that hide or turn text written out."""
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def folded(text: str, most: int = SHOWN) -> SafeString:
    """Text of others, inert: escaped, line ends kept, what is invisible written out, long text cut."""
    more = f"… and {len(text) - most:,} characters more, on the dashboard" if len(text) > most else ""
    return format_html('<pre class="cf-text" tabindex="0">{}</pre>{}', visible(text[:most]), more)


def shown_json(value: Any) -> SafeString | str:
    """JSON for reading; a dash where there is none."""
    if value in (None, [], {}, ""):
        return "–"
    return folded(json.dumps(value, indent=2, ensure_ascii=False))


def shown_texts(texts: Sequence[str]) -> SafeString | str:
    """Texts below each other, each under its number."""
    parts = (format_html("[{}] {}", number, folded(text)) for number, text in enumerate(texts, 1))
    return SafeString("").join(parts) or "–"


def change_url(obj: Model) -> str:
    """The address of an object's own page in the admin."""
    return reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_change", args=(obj.pk,))


def link(obj: Model | None, text: str | None = None) -> SafeString | str:
    """A link to an object's own page in the admin; a dash where there is none."""
    return format_html('<a href="{}">{}</a>', change_url(obj), text or str(obj)) if obj else "–"
