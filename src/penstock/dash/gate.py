"""Access control: the checks that every request must pass.

Another web site can make a browser send requests here. It can even point its own host name to this address (DNS
rebinding). Three rules prevent that: the Host must be one that this page is served under; an Origin, if there is one,
must be this page; and a request that changes something must be a POST with the token in a header, which other sites
cannot set.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

TOKEN_HEADER = "x-penstock-token"
MOST_BODY_BYTES = 65536
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """The HTTP status and the text of a refusal."""

    status: int
    why: str


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules for one address.

    Reading needs the token, on loopback too: every user of the machine can connect there. Changing needs `control` as
    well.
    """

    host: str
    port: int
    token: str
    names: tuple[str, ...] = ()
    control: bool = False

    @property
    def hosts(self) -> frozenset[str]:
        """The accepted values of the Host header."""
        named = {self.host, *self.names} | ({"localhost", "127.0.0.1", "::1"} if self.local else set())
        return frozenset(f"{_bracketed(name)}:{self.port}" for name in named)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the page."""
        return is_loopback(self.host)

    def refuse(self, method: str, headers: Mapping[str, str]) -> Refused | None:
        """The reason to refuse a request, or None. Header names must be in lower case."""
        if headers.get("host", "").lower() not in self.hosts:
            return Refused(421, "this page is not served under that name")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return Refused(403, "requests from other pages are refused")
        return None if method in ("GET", "HEAD") else self._refuse_change(method, headers)

    def _refuse_change(self, method: str, headers: Mapping[str, str]) -> Refused | None:
        if method != "POST":
            return Refused(405, "only GET and POST are answered")
        if not self.control:
            return Refused(403, "this page only shows: start it with --control to change anything")
        if not self.knows(headers):
            return Refused(403, "the token is missing or wrong")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return Refused(415, "a request is application/json")
        return None

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether the request carries the token."""
        given = headers.get(TOKEN_HEADER, "")
        return hmac.compare_digest(given.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether an address or host name is loopback.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, True, False, True)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()
