"""All URLs of the site. ``codeforge.health`` answers ``/healthz`` and ``/readyz`` before they are looked up."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from benchmarks.api.operations import PrometheusView

handler400 = "codeforge.error_pages.bad_request"
handler403 = "codeforge.error_pages.forbidden"
handler404 = "codeforge.error_pages.not_found"
handler500 = "codeforge.error_pages.server_error"

urlpatterns = [
    path(
        "admin/login/", require_safe(RedirectView.as_view(pattern_name="login", query_string=True)), name="admin-login"
    ),
    path("admin/", admin.site.urls),
    path("api/", include("benchmarks.api.urls")),
    path("login/", LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("metrics", PrometheusView.as_view(), name="prometheus"),
    path("", include("frontend.urls")),
]

if settings.OIDC_ISSUER:
    from codeforge import oidc

    urlpatterns += oidc.urlpatterns
