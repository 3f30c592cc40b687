"""What makes a seed quick: most of its time goes into Django's making of SQL, over and over of the same queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models.sql.compiler import SQLCompiler


def select_of_rows_once(get_select: Callable[..., Any]) -> Callable[..., Any]:
    """``get_select`` that makes the columns of a query for whole rows of one table only once for each model."""
    made: dict[Any, Any] = {}

    def remembered(compiler: SQLCompiler, with_col_aliases: bool = False) -> Any:
        query: Any = compiler.query
        of_rows = query.default_cols and not (
            with_col_aliases or query.select_related or query.annotations or query.extra or query.deferred_loading[0]
        )
        if not of_rows or query.base_table != query.model._meta.db_table:
            return get_select(compiler, with_col_aliases)
        if query.model not in made:
            made[query.model] = get_select(compiler, with_col_aliases)
        columns, of_class, annotations = made[query.model]
        return [*columns], of_class and {**of_class}, {**annotations}

    return remembered
