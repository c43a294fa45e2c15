"""The web application's entries in INSTALLED_APPS, and the admin site that one of them names."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.contrib.admin import sites
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator


class AnnotateConfig(AppConfig):
    name = "annotate"
    verbose_name = "Plumbline"
    default_auto_field = "django.db.models.BigAutoField"


class Looking(sites.AdminSite):
    """The admin of managers, behind the one login page and its limit. `annotate/admin.py` fills it."""

    site_header = site_title = "Plumbline"
    index_title = "Every row, for looking"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        user = request.user
        return user.is_authenticated and user.is_active and user.is_manager

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Where Django sends whoever may not look: a stranger to the login page, anybody else no further."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied("The admin is for managers.")
        back = urlencode({"next": request.GET.get("next") or reverse("admin:index")}, safe="/")
        return HttpResponseRedirect(f"{reverse('login')}?{back}")


class LookingConfig(admin_apps.AdminConfig):
    default = False  # named in INSTALLED_APPS; "annotate" alone means the one above
    default_site = "annotate.apps.Looking"
