"""Paths and URIs of files, both ways, for every kind of path on every machine.

Pure: nothing is looked up on disk, and links are not followed.
"""

import re
from urllib.parse import quote, unquote, urlsplit

_DRIVE = re.compile(r"^[A-Za-z]:(?=[\\/]|$)")
_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_SAFE = "/!$&'()*+,;=:@~-._"


def is_uri(text: str) -> bool:
    """Whether this is a URI; a path on a drive is none, since a scheme has two letters or more."""
    return _URI.match(text) is not None


def path_to_uri(path: str) -> str:
    """The file URI of an absolute path; drive letters become lower case, as VS Code spells them."""
    if path.startswith("\\\\"):
        host, _, rest = path[2:].replace("\\", "/").partition("/")
        return f"file://{quote(host, safe='')}/{quote(rest, safe=_SAFE)}"
    if _DRIVE.match(path):
        rest = path[2:].replace("\\", "/")
        return f"file:///{path[0].lower()}%3A{quote(rest, safe=_SAFE)}"
    return "file://" + quote(path, safe=_SAFE, errors="surrogateescape")


def uri_to_path(uri: str) -> str | None:
    """The absolute path of a file URI, None for any other URI (untitled, remote)."""
    parts = urlsplit(uri)
    if parts.scheme.lower() != "file":
        return None
    # A literal ? or # belongs to the name in the URIs of clients that forget to encode them.
    tail = uri.split(":", 1)[1]
    if tail.startswith("//"):
        tail = "/" + tail[2:].partition("/")[2]
    path = unquote(tail, errors="surrogateescape")
    host = unquote(parts.netloc)
    if host and host.lower() != "localhost":
        return "\\\\" + host + path.replace("/", "\\")
    if _DRIVE.match(path[1:]):
        return (path[1].upper() + path[2:]).replace("/", "\\")
    return path


def beneath(uri: str, folder: str) -> str | None:
    """What follows a folder's URI in that of what is in it; "" for itself, None if it is not."""
    folder = folder.rstrip("/")
    if uri == folder:
        return ""
    return uri[len(folder) :] if uri.startswith(folder + "/") else None


def same_key(uri_or_path: str) -> str:
    """One spelling for all the spellings of a URI or a path, to look things up by.

    `file:///a%20b`, `file:/a b` and `/a b` are the same; so are `c%3A` and `C:`.
    """
    if not is_uri(uri_or_path):
        return path_to_uri(uri_or_path)
    path = uri_to_path(uri_or_path)
    if path is not None:
        return path_to_uri(path)
    scheme, _, rest = uri_or_path.partition(":")
    return f"{scheme.lower()}:{quote(unquote(rest), safe=_SAFE + '?#')}"
