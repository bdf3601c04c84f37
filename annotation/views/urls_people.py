"""Addresses of signing in, joining and projects as a whole."""

from django.contrib.auth import views as auth
from django.urls import path

from . import people

urlpatterns = [
    path("", people.home, name="home"),
    path("signup/", people.signup, name="signup"),
    path("login/", people.SignIn.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("password/", people.PasswordChange.as_view(), name="password_change"),
    path("password/done/", auth.PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("password/reset/", auth.PasswordResetView.as_view(), name="password_reset"),
    path("password/reset/sent/", auth.PasswordResetDoneView.as_view(), name="password_reset_done"),
    path(
        "password/reset/<uidb64>/<token>/",
        people.PasswordReset.as_view(),
        name="password_reset_confirm",
    ),
    path(
        "password/reset/complete/",
        auth.PasswordResetCompleteView.as_view(),
        name="password_reset_complete",
    ),
    path("join/<str:token>/", people.join, name="join"),
    path("projects/", people.project_list, name="project_list"),
    path("projects/new/", people.project_new, name="project_new"),
]
