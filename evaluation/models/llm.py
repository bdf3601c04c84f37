"""Language models: where they are reached, what they cost, and every call that was made."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from annotation.models import Organisation, Project
from evaluation.models.runs import Run


class Endpoint(models.Model):
    """An OpenAI-compatible address of a project, with its key, its limits and its budget.

    One of an organisation instead can be used by all its projects.

    ``spent`` is what finished calls cost, ``reserved`` the most that those in flight can cost;
    both only move while the row is locked, so that jobs together never pass ``hard_budget``.
    """

    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="endpoints"
    )
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, null=True, blank=True, related_name="endpoints"
    )
    name = models.CharField(max_length=80)
    base_url = models.URLField(max_length=300)
    # The key: the name of an environment variable, or the key itself, sealed. Both empty: none.
    key_env = models.CharField(max_length=80, blank=True)
    key_sealed = models.BinaryField(null=True, blank=True)
    key_set_at = models.DateTimeField(null=True, blank=True)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True)
    # Requests at the same time by one run.
    parallel = models.PositiveSmallIntegerField(default=4)
    timeout_seconds = models.PositiveSmallIntegerField(default=60)
    soft_budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    hard_budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    spent = models.DecimalField(default=0, max_digits=16, decimal_places=8)
    reserved = models.DecimalField(default=0, max_digits=16, decimal_places=8)
    # What its calls cost in the month that began on this day.
    month = models.DateField(null=True, blank=True)
    month_spent = models.DecimalField(default=0, db_default=0, max_digits=16, decimal_places=8)
    # Requests and tokens granted since ``window_at``, for at most a minute.
    window_at = models.DateTimeField(null=True, blank=True)
    window_requests = models.PositiveIntegerField(default=0)
    window_tokens = models.PositiveIntegerField(default=0)
    # Nothing is sent before: the endpoint asked for a pause.
    paused_until = models.DateTimeField(null=True, blank=True)
    # The models it listed when a job last asked, or why it lists none; and since when one asks.
    names = models.JSONField(default=list, blank=True)
    names_at = models.DateTimeField(null=True, blank=True)
    names_problem = models.CharField(max_length=300, blank=True)
    names_asked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=Q(archived_at__isnull=True),
                name="endpoint_name_once",
            ),
            models.UniqueConstraint(
                fields=["organisation", "name"],
                condition=Q(archived_at__isnull=True),
                name="shared_endpoint_name_once",
            ),
            models.CheckConstraint(
                condition=Q(project__isnull=False, organisation__isnull=True)
                | Q(project__isnull=True, organisation__isnull=False),
                name="endpoint_of_one",
            ),
            models.CheckConstraint(
                condition=Q(spent__gte=0)
                & Q(reserved__gte=0)
                & Q(parallel__gte=1)
                & Q(timeout_seconds__gte=1),
                name="endpoint_sane",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def owner(self) -> Project | Organisation:
        """Whose it is: a project's, or an organisation's for all its projects."""
        owner = self.project if self.project_id is not None else self.organisation
        assert owner is not None  # noqa: S101 (endpoint_of_one)
        return owner


def owned_by(owner: Project | Organisation) -> dict[str, Project | Organisation]:
    """Return the column that says whose an endpoint is, with its value."""
    return {"project" if isinstance(owner, Project) else "organisation": owner}


def reachable(project_id: int, path: str = "") -> Q:
    """Return the condition that a project may use an endpoint: its own or its organisation's.

    ``path`` leads to the endpoint, as "endpoint__".
    """
    organisation = Project.objects.filter(pk=project_id).values("organisation")
    own, shared = {f"{path}project": project_id}, {f"{path}organisation__in": organisation}
    return Q(**own) | Q(**shared)


class ModelRows(models.QuerySet["LanguageModel"]):
    """Language models, and those of them that a project may ask."""

    def usable(self, project_id: int, use: str = "") -> ModelRows:
        """Models that the project may ask: neither they nor their endpoint is archived."""
        rows = self.filter(
            reachable(project_id, "endpoint__"),
            endpoint__archived_at__isnull=True,
            archived_at__isnull=True,
        ).select_related("endpoint")
        return rows.filter(use=use) if use else rows


class LanguageModel(models.Model):
    """One model of an endpoint: its prices, and what a probe found that it can do."""

    class Use(models.TextChoices):
        CHAT = "chat", gettext_lazy("answers in words")
        EMBEDDING = "embedding", gettext_lazy("turns texts into vectors")
        SPEECH = "speech", gettext_lazy("writes down speech")

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="models")
    name = models.CharField(max_length=160)  # as the endpoint calls it
    use = models.CharField(max_length=10, choices=Use.choices, default=Use.CHAT)
    # For a million tokens, in the project's currency; empty: not known, so no budget can be kept.
    # Of speech: for a million seconds, which its calls count as tokens.
    price_in = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_out = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    # {"format": json_schema | json_object | text, "logprobs": bool, "seed": bool, "limit": name of
    # the parameter that bounds an answer's tokens, "dim": int, "transcription": verbose_json |
    # json}; empty: not probed yet.
    can = models.JSONField(default=dict, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)
    probe_note = models.CharField(max_length=300, blank=True)
    probe_asked_at = models.DateTimeField(null=True, blank=True)  # since when a job probes it
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = ModelRows.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "name", "use"], name="model_once")
        ]

    def __str__(self) -> str:
        return self.name


class OwnPrompt(models.Model):
    """One version of a prompt that a project wrote itself; from its first use on it stays."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="own_prompts")
    name = models.CharField(max_length=40)
    title = models.CharField(max_length=80, blank=True)  # of all its versions; "": the name
    version = models.PositiveIntegerField(default=1)
    purpose = models.CharField(max_length=20)  # a slug of evaluation.llm.own.purposes
    system = models.TextField(blank=True)
    user = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name", "version"], name="own_prompt_version_once"
            )
        ]

    def __str__(self) -> str:
        if self.title:
            return f"{self.title} ({self.name}, version {self.version})"
        return f"{self.name}, version {self.version}"


class CallState(models.TextChoices):
    QUEUED = "queued", gettext_lazy("waiting")
    SENT = "sent", gettext_lazy("in flight")
    DONE = "done", gettext_lazy("answered")
    FAILED = "failed", gettext_lazy("failed")


class LLMCall(models.Model):
    """One question to a model, asked once: the same key is the same row, in every run.

    ``key`` is a hash over address, model, messages, parameters, schema, prompt version and
    replicate. A row of an imported result has no model; what was published stands in it as
    though it had been asked here.
    """

    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="llm_calls", db_index=False
    )
    model = models.ForeignKey(
        LanguageModel, on_delete=models.PROTECT, null=True, blank=True, related_name="calls"
    )
    base_url = models.CharField(max_length=300, blank=True)
    model_name = models.CharField(max_length=160)
    key = models.CharField(max_length=64)
    prompt = models.CharField(max_length=80)  # name@version
    messages = models.JSONField()
    params = models.JSONField(default=dict)
    schema = models.CharField(max_length=80, blank=True)
    replicate = models.PositiveSmallIntegerField(default=0)
    source = models.CharField(max_length=10, default="endpoint")  # endpoint, import
    state = models.CharField(max_length=10, choices=CallState.choices, default=CallState.QUEUED)
    text = models.TextField(blank=True)  # the model's answer as it came
    value = models.JSONField(null=True, blank=True)  # what the schema made of it
    # Probability of each answer that the schema allows, where the endpoint told.
    chances = models.JSONField(null=True, blank=True)
    reason = models.CharField(max_length=300, blank=True)  # why there is no value
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(null=True, blank=True, max_digits=16, decimal_places=8)
    reserved = models.DecimalField(default=0, max_digits=16, decimal_places=8)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    # Whose it is while in flight, and until when; a killed worker's are taken up again after it.
    lease = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="call_once"),
            models.CheckConstraint(
                condition=~Q(state="sent") | Q(lease__isnull=False, lease_until__isnull=False),
                name="sent_call_has_lease",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"]),
            models.Index(
                fields=["lease_until"], condition=Q(state="sent"), name="call_lease_expiry"
            ),
        ]


class LLMAttempt(models.Model):
    """One request that was sent for a call, and what came of it. Rows are only ever added to."""

    class Outcome(models.TextChoices):
        SENT = "sent", gettext_lazy("in flight")
        OK = "ok", gettext_lazy("answered")
        RATE_LIMITED = "rate_limited", gettext_lazy("too many requests")
        SERVER_ERROR = "server_error", gettext_lazy("the endpoint failed")
        TIMEOUT = "timeout", gettext_lazy("no answer in time")
        CONNECTION = "connection", gettext_lazy("not reached")
        TRUNCATED = "truncated", gettext_lazy("cut off")
        WRONG_FORM = "wrong_form", gettext_lazy("not in the form asked for")
        REFUSED = "refused", gettext_lazy("the model declined")
        REJECTED = "rejected", gettext_lazy("the endpoint rejected the request")
        LOST = "lost", gettext_lazy("the worker ended before the answer came")

    call = models.ForeignKey(
        LLMCall, on_delete=models.CASCADE, related_name="tries", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    sent_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=12, choices=Outcome.choices, default=Outcome.SENT)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    text = models.TextField(blank=True)  # what came, where it was not the answer
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    # A lost attempt may have been billed: it costs what was reserved for it.
    cost = models.DecimalField(null=True, blank=True, max_digits=16, decimal_places=8)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["call", "number"], name="attempt_once"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("sent_at")),
                name="attempt_ends_after",
            ),
        ]


class CallUse(models.Model):
    """That a run used a call, and for what: every figure can be followed to its prompts."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="uses")
    call = models.ForeignKey(LLMCall, on_delete=models.PROTECT, related_name="uses")
    # "answer:12", "item:7/b", and every row whose words stand in the prompt as an example.
    subject = models.CharField(max_length=240)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "subject"], name="use_once_a_subject")
        ]
