"""Clients of people with and without permissions."""

from __future__ import annotations

from django.contrib.auth.models import Permission, User
from django.test import Client

ADMIN = "/admin/benchmarks"


def staff(*permissions: str, name: str = "ada") -> Client:
    """A logged-in staff member with these permissions of the app, such as ``change_task``."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="benchmarks", codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client
