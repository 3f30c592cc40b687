"""What makes a seed quick: most of its time would go into Django's making of SQL, over and over of the same queries.

A query that is made by the same steps as an earlier one is that one, with its SQL. The times and UUIDs in it may be
others: they are its parameters. What is sent to the database, and when, stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from types import NoneType
from typing import Any
from unittest import mock
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection, connections, transaction
from django.db.models import Count, Expression, F, Field, Model, Q, QuerySet, Subquery
from django.db.models.query import MAX_GET_RESULTS
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.constants import ROW_COUNT, SINGLE

Method = Callable[..., Any]
STEPS = (
    *("filter", "exclude", "order_by", "values", "values_list", "select_related", "only", "defer", "annotate"),
    *("select_for_update", "distinct", "__getitem__"),
)
"""The methods of a queryset that make another one"""
NOTED = ("_number", "_compiler", "_exists", "_of", "_parameters", "_made_by")
"""What is noted of a kept query. It is not true of its copies, which Django changes."""
MOST_KEPT = 10_000
SET = (int, str, float, UUID, datetime, list, dict, NoneType)
"""Kinds of values of updates, each of which is one parameter"""
PLAIN = (int, str, float, UUID, timedelta, NoneType, type)


class _Unlike(Exception):
    """Of a value that is compared with no other."""


class _Text(str):
    """A parameter that may be another when the query is made again."""

    place: int


def _text(text: str, place: int) -> _Text:
    new = _Text(text)
    new.place = place
    return new


class _Moment(datetime):
    place: int

    def astimezone(self, tz: Any = None) -> Any:
        return _moment(super().astimezone(tz), self.place)

    def replace(self, *args: Any, **options: Any) -> Any:
        return _moment(super().replace(*args, **options), self.place)

    def __str__(self) -> str:
        return _text(super().__str__(), self.place)


def _moment(moment: datetime, place: int) -> _Moment:
    new = datetime.__new__(_Moment, *moment.timetuple()[:6], moment.microsecond, moment.tzinfo)
    new.place = place
    return new


class _Uuid(UUID):
    __slots__ = ("place",)

    def __init__(self, uuid: UUID, place: int) -> None:
        super().__init__(int=uuid.int)
        object.__setattr__(self, "place", place)

    @property
    def hex(self) -> str:
        return _text(super().hex, self.place)


MARKS: dict[type, Callable[[Any, int], Any]] = {datetime: _moment, UUID: _Uuid}


class Kept:
    """What was made so far: querysets, updates and aggregates, each by the number of the query that it was made from,
    the step that made it, and the values in it."""

    def __init__(self) -> None:
        self.roots: dict[type[Model], Query] = {}
        self.made: dict[Any, Any] = {}
        self.numbers = 0
        self.awaited: list[Any] | None = None
        """Where the next compiler goes"""

    def number(self, query: Any) -> None:
        self.numbers += 1
        query._number = self.numbers

    def keep(self, key: Any, made: Any) -> None:
        if len(self.made) >= MOST_KEPT:
            self.made.clear()
        self.made[key] = made

    def aggregate(self, query: Any, using: str, aggregates: dict[str, Any]) -> dict[str, Any]:
        """What Django's ``get_aggregation`` gives for a copy of a query, whose compiler is kept."""
        try:
            key = query._number, "aggregate", _key(aggregates)
            if "_of" in query.__dict__:
                raise _Unlike
        except (AttributeError, _Unlike):
            return dict(query.chain().get_aggregation(using, aggregates))
        compiler = self.made.get(key)
        if compiler is None:
            self.awaited = came = []
            try:
                return dict(query.chain().get_aggregation(using, aggregates))
            finally:
                self.awaited = None
                for compiler in came:
                    compiler.as_sql = _once(compiler.as_sql)
                    self.keep(key, compiler)
        expressions = compiler.query.annotation_select
        result = compiler.execute_sql(SINGLE)
        if result is None:
            result = [each.empty_result_set_value for each in expressions.values()]
        else:
            converters = compiler.get_converters(expressions.values())
            result = next(compiler.apply_converters((result,), converters))
        return dict(zip(expressions, result, strict=True))


@contextmanager
def quick_queries() -> Iterator[None]:
    """Make no query twice meanwhile."""
    kept = Kept()
    with ExitStack() as stack:
        for owner, name, quick in (
            *((QuerySet, name, _step(kept, name, getattr(QuerySet, name))) for name in STEPS),
            (QuerySet, "__init__", _begin(kept, QuerySet.__init__)),
            (QuerySet, "get", _get(QuerySet.get)),
            (QuerySet, "update", _update(kept, QuerySet.update)),
            (QuerySet, "aggregate", _aggregate(kept, QuerySet.aggregate)),
            (Query, "get_count", lambda self, using: kept.aggregate(self, using, {"__count": Count("*")})["__count"]),
            (Query, "clone", _clone(Query.clone)),
            (Query, "get_compiler", _get_compiler(kept, Query.get_compiler)),
            (Query, "has_results", _has_results(kept, Query.has_results)),
            (Subquery, "__init__", _subquery(Subquery.__init__)),
        ):
            stack.enter_context(mock.patch.object(owner, name, quick))
        yield


def _begin(kept: Kept, begin: Method) -> Method:
    def begun(self: Any, model: Any = None, query: Any = None, using: Any = None, hints: Any = None) -> None:
        if query is None:
            query = kept.roots.get(model)
        if query is None:
            query = kept.roots[model] = Query(model)
            kept.number(query)
        begin(self, model, query, using, hints)

    return begun


def _step(kept: Kept, name: str, step: Method) -> Method:
    def taken(self: Any, *args: Any, **options: Any) -> Any:
        is_list = name == "__getitem__" and (self._result_cache is not None or type(args[0]) is int)
        if is_list or self._deferred_filter or self._sticky_filter:
            return step(self, *args, **options)
        new: list[Any] = []
        try:
            query = self._query
            key = query._number, name, _key(args, new), _key(options, new)
        except (AttributeError, _Unlike):
            return step(self, *args, **options)
        earlier = query.__dict__.get("_parameters", ())
        made = kept.made.get(key)
        if made is None:
            places = iter(range(len(earlier), len(earlier) + len(new)))
            origin = _like(self, self)
            origin._query, origin._defer_next_filter = query.__dict__.get("_of", query), False
            marked = (_marked(args, places), _marked(options, places)) if new else (args, options)
            made = step(origin, *marked[0], **marked[1])
            kept.number(made.query)
            kept.keep(key, made)
        again = _like(made, self)
        if parameters := (*earlier, *new):
            again._query = light = Query.__new__(Query)
            light.__dict__ |= made._query.__dict__
            light._of, light._parameters, light._made_by = made._query, parameters, (step, self, args, options)
        return again

    return taken


def _like(made: Any, other: Any) -> Any:
    """A queryset with the query of ``made``, and what ``other`` knows besides."""
    new = other.__class__.__new__(other.__class__)
    new.__dict__ |= other.__dict__
    new._query, new._iterable_class, new._fields = made._query, made._iterable_class, made._fields
    new._for_write = made._for_write or other._for_write
    new._result_cache, new._prefetch_done, new._defer_next_filter = None, False, False
    return new


def _get(get: Method) -> Method:
    """Without Django's limit, which it sets in a query that it takes for its own."""

    def got(self: Any, *args: Any, **options: Any) -> Any:
        query = self._query
        if query.combinator or query.distinct_fields or query.is_sliced:
            return get(self._chain(), *args, **options)
        asked = self.filter(*args, **options).order_by()
        found = list(asked[:MAX_GET_RESULTS])
        if len(found) == 1:
            return found[0]
        many = self.model.MultipleObjectsReturned if found else self.model.DoesNotExist
        raise many(f"{len(found)} of {self.model._meta.object_name} match")

    return got


def _update(kept: Kept, update: Method) -> Method:
    """Values that are set are parameters of one statement, which is kept."""

    def updated(self: Any, **values: Any) -> Any:
        query = self._query
        has_number = not self._deferred_filter and hasattr(query, "_number")
        if not has_number or not all(isinstance(each, SET) for each in values.values()):
            return update(self, **values)
        key = query._number, "update", tuple((name, value is None) for name, value in values.items())
        if key not in kept.made:
            query = query.__dict__.get("_of", query).chain(UpdateQuery)
            query.add_update_values(values)
            query.clear_select_clause()
            compiler = query.get_compiler(self.db)
            fields = [(field, name) for (field, _, value), name in zip(query.values, values, strict=True)]
            set_fields = [(field, name) for field, name in fields if values[name] is not None]
            if query.related_updates or query.order_by or any(hasattr(each, "get_placeholder") for each, _ in fields):
                return update(self, **values)
            try:
                sql, parameters = compiler.as_sql()
            except EmptyResultSet:
                return update(self, **values)
            kept.keep(key, (compiler, set_fields, sql, parameters[len(set_fields) :]))
        compiler, set_fields, sql, rest = kept.made[key]
        of_values = [field.get_db_prep_save(values[name], connection=compiler.connection) for field, name in set_fields]
        rest = _filled(rest, self._query.__dict__.get("_parameters", ()))
        compiler.as_sql = lambda: (sql, (*of_values, *rest))
        self._for_write, self._result_cache = True, None
        with transaction.mark_for_rollback_on_error(using=self.db):
            return compiler.execute_sql(ROW_COUNT)

    return updated


def _aggregate(kept: Kept, aggregate: Method) -> Method:
    def aggregated(self: Any, *args: Any, **options: Any) -> Any:
        if args or self.query.distinct_fields:
            return aggregate(self, *args, **options)
        return kept.aggregate(self.query, self.db, options)

    return aggregated


def _clone(clone: Method) -> Method:
    """A copy is changed by Django: of a query with other parameters, it is made in Django's own way."""

    def cloned(self: Any) -> Any:
        if "_made_by" in self.__dict__:
            step, origin, args, options = self._made_by
            self = step(_like(origin, origin), *args, **options).query
        new = clone(self)
        for name in NOTED:
            new.__dict__.pop(name, None)
        return new

    return cloned


def _get_compiler(kept: Kept, get_compiler: Method) -> Method:
    def compiler(self: Any, using: Any = None, connection: Any = None, elide_empty: bool = True) -> Any:
        known = self.__dict__
        checks = self.select_for_update and connections[using or connection.alias].features.has_select_for_update
        if "_number" not in known or not elide_empty or checks:
            if "_of" in known:
                self = self.clone()
            made = get_compiler(self, using, connection, elide_empty)
            if kept.awaited is not None:
                kept.awaited.append(made)
                kept.awaited = None
            return made
        of = known.get("_of", self)
        made = of.__dict__.get("_compiler")
        if made is None:
            made = of._compiler = get_compiler(of, using, connection, elide_empty)
            made.as_sql, made.get_converters = _once(made.as_sql), _first(made.get_converters)
        return _with_parameters(made, self._parameters) if "_of" in known else made

    return compiler


def _with_parameters(compiler: Any, parameters: tuple[Any, ...]) -> Any:
    try:
        sql, made = compiler.as_sql()
    except EmptyResultSet:
        return compiler  # which says so when it is executed
    new = copy(compiler)
    new.as_sql = lambda: (sql, _filled(made, parameters))
    return new


def _filled(made: tuple[Any, ...], parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    if not parameters:
        return made
    return tuple(_adapted(parameters[each.place]) if type(each) is _Text else each for each in made)


def _adapted(value: Any) -> str:
    return value.hex if isinstance(value, UUID) else str(connection.ops.adapt_datetimefield_value(value))


def _once(as_sql: Method) -> Method:
    """The statement in whole, made once."""
    made: list[Any] = []

    def remembered(*args: Any, **options: Any) -> Any:
        if args or options:
            return as_sql(*args, **options)
        if not made:
            made.append(as_sql())
        return made[0]

    return remembered


def _first(get_converters: Method) -> Method:
    """Those of the columns of a query, which are always the same."""
    made: list[Any] = []

    def remembered(expressions: Any) -> Any:
        if not made:
            made.append(get_converters(expressions))
        return made[0]

    return remembered


def _has_results(kept: Kept, has_results: Method) -> Method:
    def found(self: Any, using: str) -> bool:
        known = self.__dict__
        if "_number" not in known:
            return bool(has_results(self, using))
        of = known.get("_of", self)
        if "_exists" not in of.__dict__:
            of._exists = of.exists()
            kept.number(of._exists)
        compiler = of._exists.get_compiler(using=using)
        return bool((_with_parameters(compiler, self._parameters) if "_of" in known else compiler).has_results())

    return found


def _subquery(begin: Method) -> Method:
    def begun(self: Any, queryset: Any, output_field: Any = None, **extra: Any) -> None:
        begin(self, queryset, output_field, **extra)
        if output_field is None and not extra and isinstance(queryset, QuerySet):
            self._number = _number_of(queryset._query)

    return begun


def _known(value: Any) -> Any:
    if value is None:
        raise _Unlike
    return value


def _number_of(query: Any) -> int | None:
    """``None`` if the query is not kept, or has parameters."""
    return None if "_of" in query.__dict__ else query.__dict__.get("_number")


KEYS: tuple[tuple[Any, Callable[[Any, Method], Any]], ...] = (
    (PLAIN, lambda value, key: value),
    ((tuple, list), lambda value, key: tuple(map(key, value))),
    (dict, lambda value, key: tuple((name, key(each)) for name, each in value.items())),
    (Q, lambda value, key: (value.connector, value.negated, *map(key, value.children))),
    ((set, frozenset), lambda value, key: frozenset(map(_key, value))),
    (slice, lambda value, key: (value.start, value.stop, value.step)),
    (Model, lambda value, key: _known(value.pk)),
    ((F, Expression), lambda value, key: _key(value._constructor_args)),
    (Subquery, lambda value, key: _known(getattr(value, "_number", None))),
    (QuerySet, lambda value, key: _known(None if value._deferred_filter else _number_of(value._query))),
    (Field, lambda value, key: (value.model, value.name) if hasattr(value, "model") else ()),
)
"""By the kind of a value"""


def _key(value: Any, parameters: list[Any] | None = None) -> Any:
    """Equal if values make the same SQL, up to its ``parameters``. Raises ``_Unlike``."""
    kind = type(value)
    if kind in MARKS and parameters is not None and connection.vendor == "sqlite":
        if value in parameters:
            raise _Unlike  # a list would have it only once
        parameters.append(value)
        return kind
    for kinds, key in KEYS:
        if isinstance(value, kinds):
            return kind, key(value, partial(_key, parameters=parameters))
    raise _Unlike


def _marked(value: Any, places: Iterator[int]) -> Any:
    """The value with its parameters, in the order of ``_key``, marked by their places."""
    kind = type(value)
    if kind in MARKS:
        return MARKS[kind](value, next(places))
    if kind is tuple or kind is list:
        return kind(_marked(each, places) for each in value)
    if kind is dict:
        return {name: _marked(each, places) for name, each in value.items()}
    if isinstance(value, Q):
        children = [_marked(each, places) for each in value.children]
        return Q.create(children, value.connector, negated=value.negated)
    return value
