"""The content security policy of a page: browsers run its own scripts only, and load nothing."""

from base64 import b64encode
from hashlib import sha256

__all__ = ["content_policy"]


def content_policy(*scripts: str | bytes) -> str:
    """Return the policy of a page whose scripts are these, with all of their spaces.

    A script, an attribute such as ``onerror``, or an address such as ``javascript:`` that entered
    the page with a name does not run, even if it was not escaped.

    Examples
    --------
    >>> from kernsemble.report.content_policy import content_policy
    >>> content_policy()
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; style-src
    'unsafe-inline'; script-src 'none'"
    """
    texts = (each.encode() if isinstance(each, str) else each for each in scripts)
    hashes = [f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in texts]
    allowed = " ".join(hashes) or "'none'"
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
        f"style-src 'unsafe-inline'; script-src {allowed}"
    )
