"""Addresses of the web and of e-mail in text without spaces, where Chinese characters end them."""

import re

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_ENDS = "com|org|net|edu|gov|info|io|cn|tw|hk|jp|kr|uk|de|fr|eu|ru"
_PATH = r"(?::[0-9]+)?(?:[/?#](?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*[A-Za-z0-9_~/#=&])?)?"

ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9])(?:https?://{_NAME}(?:\.{_NAME})*{_PATH}"
    rf"|[A-Za-z0-9](?:[A-Za-z0-9._%+-]*[A-Za-z0-9_])?@{_NAME}(?:\.{_NAME})+"
    rf"|(?:{_NAME}\.)+(?:{_ENDS})(?![A-Za-z0-9-]|\.[A-Za-z]){_PATH})"
)
