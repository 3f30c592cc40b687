"""What makes a seed quick: most of its time goes into Django's making of SQL, over and over of the same queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from django.db.models.sql.compiler import SQLCompiler

Method = Callable[..., Any]


@contextmanager
def quick_queries() -> Iterator[None]:
    """Make what is the same in all queries for whole rows of one table once for each model, and order by names."""
    with ExitStack() as stack:
        for name, quick in (("get_select", _select), ("get_converters", _converters), ("get_order_by", _order_by)):
            stack.enter_context(mock.patch.object(SQLCompiler, name, quick(getattr(SQLCompiler, name))))
        yield


def _reads_rows(compiler: SQLCompiler) -> bool:
    query: Any = compiler.query
    has_more = query.select_related or query.annotations or query.extra or query.deferred_loading[0]
    return query.default_cols and not has_more and query.base_table == query.model._meta.db_table


def _select(get_select: Method) -> Method:
    made: dict[Any, Any] = {}

    def remembered(compiler: SQLCompiler, with_col_aliases: bool = False) -> Any:
        if with_col_aliases or not _reads_rows(compiler):
            return get_select(compiler, with_col_aliases)
        model = compiler.query.model
        if model not in made:
            made[model] = get_select(compiler, with_col_aliases)
        columns, of_class, annotations = made[model]
        return [*columns], of_class and {**of_class}, {**annotations}

    return remembered


def _converters(get_converters: Method) -> Method:
    made: dict[Any, Any] = {}

    def remembered(compiler: SQLCompiler, expressions: Any) -> Any:
        if not _reads_rows(compiler):
            return get_converters(compiler, expressions)
        model = compiler.query.model
        if model not in made:
            made[model] = get_converters(compiler, expressions)
        return made[model]

    return remembered


def _order_by(get_order_by: Method) -> Method:
    """Without the places of all columns, by which Django would order instead of by their names."""

    def by_names(compiler: SQLCompiler) -> Any:
        if not _reads_rows(compiler):
            return get_order_by(compiler)
        columns, compiler.select = compiler.select, None
        try:
            return get_order_by(compiler)
        finally:
            compiler.select = columns

    return by_names
