"""The Python client of crowdqc: projects, tasks, answers, runs, results and payouts."""

from crowdqc_client.asynchronous import AsyncClient, AsyncRows
from crowdqc_client.core import RunFailed
from crowdqc_client.errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    CrowdqcError,
    Invalid,
    MissingPackage,
    NotAuthenticated,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    RateLimited,
    ServerError,
    UnexpectedResponse,
)
from crowdqc_client.synchronous import Client, Rows

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncRows",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "CrowdqcError",
    "Invalid",
    "MissingPackage",
    "NotAuthenticated",
    "NotFound",
    "PermissionDenied",
    "PreconditionFailed",
    "RateLimited",
    "Rows",
    "RunFailed",
    "ServerError",
    "UnexpectedResponse",
]
