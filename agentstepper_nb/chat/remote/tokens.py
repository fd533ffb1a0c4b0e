"""Session tokens: what lets agents and scripts into one session from outside.

They are JSON Web Tokens, signed with HS256 by keys of the data folder. Each is for one session, says
what may be done by it, ends, and can be revoked before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import jwt
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import typed_json
from ...errors import CommandError, ProtocolError
from ...protocol.chat import Identifier
from ...protocol.field_errors import make_field_error
from ...protocol.field_types import Id, Time
from .key_file import KeyFile, TokenKey, TokenKeys, make_key

if TYPE_CHECKING:
    from pathlib import Path

#: What a token may be for: to read a session, to speak in it as a person would (and read it), to answer
#: in it as one of its agents.
SCOPE_WATCH: Final = "watch"
SCOPE_TALK: Final = "talk"
SCOPE_ANSWER: Final = "answer"
SCOPES: Final = (SCOPE_WATCH, SCOPE_TALK, SCOPE_ANSWER)
#: For whom tokens are: the service that `chat.remote.service` gives.
AUDIENCE: Final = "agentstepper_nb.chat"
#: Seconds that a token is good for: unless told otherwise, and at most.
DEFAULT_EXPIRES_IN_S: Final = 3600.0
MAX_EXPIRES_IN_S: Final = 30 * 24 * 3600.0
#: The largest accepted difference of the clocks of issuer and checker, in seconds.
LEEWAY_S: Final = 2.0

#: The only signature algorithm. A token's header must name this algorithm, and can't choose another.
_ALGORITHM: Final = "HS256"
_REQUIRED: Final = ["exp", "iat", "nbf", "iss", "aud", "sub", "jti", "scope"]
#: Characters of a token: ours have about 500.
_MAX_TOKEN_CHARS: Final = 4096
_REQUEST_NEW_TOKEN: Final = "Create a new token where the chat runs: chat.issue_token()."


class _Claims(Struct, frozen=True):
    """What a token says beside what the library checks."""

    jti: Id
    sub: Id
    exp: Time
    iat: Time
    scope: str
    agent: Identifier | None = None


class _TokenFields(Struct, frozen=True):
    """The forms of what goes into a token, or into the file."""

    session: Id | None = None
    token: Id | None = None
    agent_name: Identifier | None = None


@dataclass(frozen=True)
class TokenGrant:
    """The permissions of a token.

    Args:
        session_id: The session of the token.
        scope: The permissions, some of `SCOPES`.
        agent_name: The agent as which the bearer may answer, if the scope has `answer`.
        expires_at: The time of expiry, in POSIX seconds.
        id: The token's id.
    """

    session_id: str
    scope: frozenset[str]
    agent_name: str | None
    expires_at: float
    id: str


class ChatTokens:
    """Issues, checks and revokes tokens. Used from any thread.

    Args:
        folder: The data folder. Processes that share the folder accept each other's tokens, for the
            sessions that they have.
        clock: The clock of issued tokens. Tokens are checked by the system's clock.
        new_id: Makes the tokens' ids.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        self._file = KeyFile(folder)
        self._clock = clock
        self._new_id = new_id
        self._listeners: list[Callable[[], None]] = []

    def issue(
        self,
        session_id: str,
        scope: str | Iterable[str] = (SCOPE_TALK,),
        expires_in_s: float = DEFAULT_EXPIRES_IN_S,
        agent_name: str | None = None,
    ) -> str:
        """Make a token.

        Args:
            session_id: The session that it is for.
            scope: What it is for, of `SCOPES`.
            expires_in_s: Seconds until its end, 30 days at most.
            agent_name: Who its bearer answers as; needed for the scope `answer`, and for it only.

        Raises:
            ProtocolError: An argument isn't right.
            StoreError: The keys can't be used.
        """
        _check(session=session_id, agent_name=agent_name)
        words = _checked_scope(scope, agent_name)
        if not 1 <= expires_in_s <= MAX_EXPIRES_IN_S:
            raise ProtocolError(
                "invalid_message",
                f"A chat token can't expire after {expires_in_s} seconds: choose 1 to "
                f"{MAX_EXPIRES_IN_S:.0f}.",
                "expires_in_s",
            )
        now = self._clock()
        expires_at = math.ceil(now + expires_in_s)

        def sign(keys: TokenKeys) -> TokenKeys:
            kept = keys.without_expired(now - LEEWAY_S)
            until = max(kept.signing_key.expires_at, expires_at)
            return replace(
                kept, keys=(*kept.keys[:-1], replace(kept.signing_key, expires_at=until))
            )

        keys = self._file.update(sign)
        ended, _ = keys.sessions.get(session_id, (0.0, 0.0))
        claims = {
            "iss": keys.issuer,
            "aud": AUDIENCE,
            "sub": session_id,
            "jti": self._new_id(),
            "nbf": int(now),
            # Later than any revocation of the session's tokens before, also within one tick.
            "iat": max(now, math.nextafter(ended, math.inf)),
            "exp": expires_at,
            "scope": " ".join(words),
            **({} if agent_name is None else {"agent": agent_name}),
        }
        key = keys.signing_key
        return jwt.encode(claims, key.secret, _ALGORITHM, headers={"kid": key.id})

    def check(self, token: object) -> TokenGrant:
        """Check a token, and return its permissions.

        Args:
            token: The token that a client sent.

        Raises:
            CommandError: `invalid_token`: the token is malformed, of another installation, expired, not
                yet valid, or revoked.
            StoreError: The keys can't be used.
        """
        keys = self._file.read()
        if not isinstance(token, str) or len(token) > _MAX_TOKEN_CHARS or keys is None:
            raise _refused()
        claims = _read(token, keys)
        ended, _ = keys.sessions.get(claims.sub, (-1.0, 0.0))
        if claims.jti in keys.revoked or claims.iat <= ended:
            raise _refused("was revoked")
        words = frozenset(claims.scope.split())
        return TokenGrant(claims.sub, words, claims.agent, claims.exp + LEEWAY_S, claims.jti)

    def revoke(self, token: str) -> None:
        """Revoke a token.

        Args:
            token: The token, or its id.

        Raises:
            CommandError: `invalid_token`: the token isn't valid.
            ProtocolError: The text is neither a token nor an id.
            StoreError: The keys can't be used.
        """
        now = self._clock()
        id, until = token, now + MAX_EXPIRES_IN_S + LEEWAY_S
        if token.count(".") == 2:
            grant = self.check(token)
            id, until = grant.id, grant.expires_at
        _check(token=id)
        self._change(now, lambda keys: replace(keys, revoked={**keys.revoked, id: until}))

    def revoke_session(self, session_id: str) -> None:
        """Revoke all tokens that were issued for a session so far.

        Args:
            session_id: The session's id.

        Raises:
            ProtocolError: The text isn't a session's id.
            StoreError: The keys can't be used.
        """
        _check(session=session_id)
        now = self._clock()

        def end(keys: TokenKeys) -> TokenKeys:
            before, _ = keys.sessions.get(session_id, (0.0, 0.0))
            # Later than what was issued in this tick, after an earlier revocation.
            ended = max(now, math.nextafter(before, math.inf))
            span = (ended, now + MAX_EXPIRES_IN_S + LEEWAY_S)
            return replace(keys, sessions={**keys.sessions, session_id: span})

        self._change(now, end)

    def rotate(self, *, drop_old: bool = False) -> None:
        """Sign with a new key from now on.

        Args:
            drop_old: Refuse at once what older keys signed. Else it counts until it ends.

        Raises:
            StoreError: The keys can't be used.
        """

        def add(keys: TokenKeys) -> TokenKeys:
            return replace(keys, keys=(make_key(),) if drop_old else (*keys.keys, make_key()))

        self._change(self._clock(), add)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be told where tokens may have lost their force here, on the thread that took it from them.

        Args:
            listener: Called without arguments.

        Returns:
            Ends it. Idempotent.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def _change(self, now: float, change: Callable[[TokenKeys], TokenKeys]) -> None:
        self._file.update(lambda keys: change(keys).without_expired(now - LEEWAY_S))
        for listener in list(self._listeners):
            listener()


def _checked_scope(scope: str | Iterable[str], agent_name: str | None) -> tuple[str, ...]:
    words = tuple(dict.fromkeys((scope,) if isinstance(scope, str) else scope))
    if not words or not set(words) <= set(SCOPES):
        raise ProtocolError(
            "invalid_message",
            f"{words!r} is not a scope of chat tokens: choose one or more of {', '.join(SCOPES)}.",
            "scope",
        )
    if (SCOPE_ANSWER in words) != (agent_name is not None):
        raise ProtocolError(
            "invalid_message",
            "A chat token needs agent_name= if and only if its scope includes answer: "
            "name the agent that the bearer answers as.",
            "agent_name",
        )
    return words


def _check(**given: object) -> None:
    """Let nothing into the file, or a token, that can't be read there again."""
    try:
        typed_json.decode(msgspec.json.encode(given), _TokenFields)
    except msgspec.ValidationError as error:
        raise make_field_error(error) from None
    except UnicodeError as error:
        raise ProtocolError(
            "invalid_message", f"The text has characters that UTF-8 can't carry: {error}."
        ) from None


def _read(token: str, keys: TokenKeys) -> _Claims:
    """What a token says, once it is known to be ours and good now."""
    try:
        payload = jwt.decode(
            token,
            _key_of(token, keys).secret,
            algorithms=[_ALGORITHM],
            audience=AUDIENCE,
            issuer=keys.issuer,
            leeway=LEEWAY_S,
            options={"require": _REQUIRED, "strict_aud": True},
        )
        return typed_json.convert(payload, _Claims)
    except jwt.ExpiredSignatureError:
        raise _refused("has expired") from None
    except (jwt.ImmatureSignatureError, jwt.InvalidIssuedAtError):
        raise _refused("isn't valid yet") from None
    except (jwt.PyJWTError, msgspec.ValidationError, ValueError, RecursionError):
        raise _refused() from None


def _key_of(token: str, keys: TokenKeys) -> TokenKey:
    key = keys.find(jwt.get_unverified_header(token).get("kid"))
    if key is None:
        raise _refused()
    return key


def _refused(why: str = "wasn't issued by this chat") -> CommandError:
    return CommandError("invalid_token", f"The chat token {why}. {_REQUEST_NEW_TOKEN}")
