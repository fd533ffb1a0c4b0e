"""The error answer of every handler: `{"code": …, "message": …}`, at times with a `field`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from http.client import responses
from typing import Any, TypeVar, cast

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError

from ..errors import CommandError, ProtocolError, StoreError
from ..hub.error_replies import make_error_reply as refused

Method = TypeVar("Method", bound=Callable[..., Any])

#: The resource name for Jupyter's authorizer.
AUTH_RESOURCE = "agentstepper"

#: The HTTP status of each code that the Hub may raise; the others are 400.
_STATUS = {
    "unknown_run": 404,
    "unknown_content": 404,
    "run_is_live": 409,
    "run_is_over": 409,
    "stale": 409,
    "too_large": 413,
    "watch_only": 403,
    "outside_roots": 403,
    "outside_limits": 403,
    "needs_control_token": 403,
    "unknown_session": 404,
    "unknown_call": 404,
    "session_open": 409,
    "session_exists": 409,
    "action_not_failed": 409,
    "session_busy": 409,
    "needs_confirmation": 409,
    "stream_taken": 409,
    "unknown_agent": 404,
    "unknown_action": 404,
    "unknown_conversation": 404,
    "unknown_participant": 404,
    "unknown_message_id": 404,
    "session_over": 409,
    "conversation_closed": 409,
    "may_not_post": 403,
    "too_many": 429,
    "busy": 429,
    "unknown_service": 503,
    "worker_failed": 503,
    "worker_lost": 503,
    "damaged_run": 500,
    "store_failed": 503,
    "internal": 500,
}


class JsonHTTPError(HTTPError):
    """An HTTP error with a code of `agentstepper_nb.protocol.error_codes`.

    Args:
        status: The HTTP status.
        code: The code.
        message: The error and its remedy, for a person.
        field: The field or parameter that the error concerns.
        retry_after_s: Seconds after which the request may be sent again.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(status)
        self.code = code
        self.message = message
        self.field = field
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return f"HTTP {self.status_code}: {self.code}: {self.message}"


def require_control(method: Method) -> Method:
    """Decorate a method to require the right "execute", as the view's socket does for control."""
    return cast(Method, authorized(action="execute")(method))


def make_error(status: int, code: str, message: str, field: str | None = None) -> JsonHTTPError:
    """An error to raise from a handler."""
    return JsonHTTPError(status, code, message, field)


def convert_hub_error(error: CommandError | ProtocolError | StoreError) -> JsonHTTPError:
    """The HTTP form of an error of the Hub."""
    refusal = refused(error)
    field = None if isinstance(error, StoreError) else error.field
    wait_s = error.retry_after_s if isinstance(error, CommandError) else None
    status = _STATUS.get(refusal.code, 400)
    return JsonHTTPError(status, refusal.code, refusal.message, field, wait_s)


class JsonErrorHandler(JupyterHandler):
    """A handler whose errors are JSON, whatever raises them."""

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with an error code and a message for a person."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, JsonHTTPError):
            answer = {"code": error.code, "message": error.message}
            if error.field is not None:
                answer["field"] = error.field
            if error.retry_after_s is not None:
                self.set_header("Retry-After", str(math.ceil(error.retry_after_s)))
        else:
            code, message = self._explain(status_code, error)
            answer = {"code": code, "message": message}
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(answer))

    def _explain(self, status: int, error: BaseException | None) -> tuple[str, str]:
        """Name an error that Jupyter or tornado raised."""
        log_message = error.log_message if isinstance(error, HTTPError) else None
        text = log_message or responses.get(status, "Unknown error")
        if status == 403:
            return self._explain_forbidden(text)
        if status in (404, 405):
            return "unknown_command", f"{self.request.method} {self.request.path}: {text}"
        if status < 500:
            return "invalid_message", text
        return "internal", "The server failed at this request. Its log has the traceback."

    def _explain_forbidden(self, text: str) -> tuple[str, str]:
        if "XSRF" in text or "_xsrf" in text:
            return "foreign_origin", f"{text}. Send the _xsrf cookie's value as X-XSRFToken."
        if not self.current_user:
            return "unauthorized", "Log in to the Jupyter server, or send its token."
        return "watch_only", text
