"""Every page of the site, in the order of the loop; the API has its own list."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import path

from annotate.web import access, health, home

urlpatterns = [
    path("", home.home, name="home"),
    path("login/", access.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", access.ChangePassword.as_view(), name="password"),
    path("healthz", health.healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
