"""Programs that bring files from elsewhere, or send them there."""

from __future__ import annotations

import re
from typing import Final

from ..judging import Judge, Look
from ..words import Call, Word, given, is_long, options, pairs

_SENDS = "sends files to another machine"
# A form or body that is read from a file.
_FROM_FILE = re.compile(r"([\w.-]*=)?[@<].*", re.DOTALL)
_BODIES: Final = (
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--json",
)
_CURL_WRITES: Final = (
    *("--output", "--output-dir", "--dump-header", "--cookie-jar", "--trace", "--trace-ascii"),
    *("--stderr", "--etag-save", "--hsts", "--alt-svc", "--libcurl"),
)
_WGET_WRITES: Final = (
    *("--output-document", "--directory-prefix", "--output-file", "--append-output"),
    *("--save-cookies", "--hsts-file", "--warc-file", "--rejected-log"),
)


def _curl(call: Call, judge: Judge) -> None:
    judge.fetches(call)
    if any(not word.sure and not word.text for word in options(call.args)):
        judge.unclear(call, "has options that are only known when it runs")
    if given(call.args, "--upload-file", shorts="T"):
        judge.danger(call, _SENDS)
    if given(call.args, "--config", shorts="K"):
        judge.danger(call, "takes its options from a file")
    for word, following in pairs(call.args):
        body, form = is_long(word.text, *_BODIES), is_long(word.text, "--form")
        if body or form or re.match(r"-[a-zA-Z]*[dF]", word.text):
            value = word.text.partition("=")[2] if "=" in word.text else following.text
            attached = re.sub(r"^-[a-zA-Z]*?[dF]", "", word.text)
            if _FROM_FILE.fullmatch(value) or _FROM_FILE.fullmatch(attached):
                judge.danger(call, _SENDS)
        _written(call, word, following, judge, "oDc", *_CURL_WRITES)


def _wget(call: Call, judge: Judge) -> None:
    judge.fetches(call)
    if any(not word.sure and not word.text for word in options(call.args)):
        judge.unclear(call, "has options that are only known when it runs")
    if given(call.args, "--post-file", "--body-file", "--post-data"):
        judge.danger(call, _SENDS)
    if given(call.args, "--execute", "--use-askpass", "--config", shorts="e"):
        judge.hidden(call, "can run another program")
    for word, following in pairs(call.args):
        _written(call, word, following, judge, "OPoa", *_WGET_WRITES)


def _written(
    call: Call, word: Word, following: Word, judge: Judge, letters: str, *longs: str
) -> None:
    """Look at the file that an option says output goes to."""
    if is_long(word.text, *longs):
        value = word.text.partition("=")[2]
        judge.writes(call, Word(value, word.sure) if "=" in word.text else following)
        return
    found = re.match(rf"-[a-zA-Z]*?[{letters}]", word.text)
    if found and not word.text.startswith("--"):
        rest = word.text[found.end() :]
        judge.writes(call, Word(rest, word.sure) if rest else following)


LOOKS: Final[dict[str, Look]] = {
    **dict.fromkeys(("curl", "curlie", "http", "https", "xh"), _curl),
    **dict.fromkeys(("wget", "wget2", "axel", "fetch"), _wget),
}
