"""Texts of Django and allauth that workers read, in the words and address of our catalogues.

Our catalogues come before those of the libraries, whose German says "Gib" and "Sie", and whose
Spanish says "usted", in turn. Nothing calls this module; ``make messages`` reads it.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy, ngettext_lazy

TEXTS = (
    gettext_lazy("Enter a valid email address."),
    gettext_lazy("Enter a valid URL."),
    gettext_lazy("Enter a valid value."),
    gettext_lazy("Enter a valid date."),
    gettext_lazy("Enter a number."),
    gettext_lazy("Enter a whole number."),
    gettext_lazy("Ensure this value is greater than or equal to %(limit_value)s."),
    gettext_lazy("Ensure this value is less than or equal to %(limit_value)s."),
    gettext_lazy("No file was submitted. Check the encoding type on the form."),
    gettext_lazy("Select a valid choice. That choice is not one of the available choices."),
    gettext_lazy("Select a valid choice. %(value)s is not one of the available choices."),
    gettext_lazy("This password is too common."),
    gettext_lazy("This password is entirely numeric."),
    gettext_lazy("The password is too similar to the %(verbose_name)s."),
    gettext_lazy("Please type your current password."),
    gettext_lazy("You must type the same password each time."),
    gettext_lazy("You must type the same email each time."),
    gettext_lazy("Username can not be used. Please use other username."),
    gettext_lazy("You cannot remove your primary email address."),
    gettext_lazy("Your account has no verified email address."),
    gettext_lazy("Incorrect password."),
    gettext_lazy("Incorrect code."),
)
LENGTHS = (
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
    ),
    ngettext_lazy(
        "Ensure this value has at least %(limit_value)d character (it has %(show_value)d).",
        "Ensure this value has at least %(limit_value)d characters (it has %(show_value)d).",
    ),
    ngettext_lazy(
        "Ensure this value has at most %(limit_value)d character (it has %(show_value)d).",
        "Ensure this value has at most %(limit_value)d characters (it has %(show_value)d).",
    ),
)
