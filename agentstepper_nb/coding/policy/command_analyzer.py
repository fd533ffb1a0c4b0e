"""Analyzes a command, including the commands nested in its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Final

from ..tool import Risk
from .command_model import (
    Assignment,
    CommandFinding,
    CommandReport,
    CommandWord,
    ProgramCall,
    Redirect,
    is_device,
    shorten_part,
)
from .shell_parser import (
    Dialect,
    ParsedShellText,
    Tree,
    UnparsableError,
    is_same_in_all_dialects,
    parse_tree,
    read_tree,
)

#: The deepest nesting of commands, as in `sh -c "env sh -c …"`, and the most nested commands.
MAX_DEPTH: Final = 8
MAX_NESTED_TEXTS: Final = 16
#: The most findings and possible calls in a report. A person reads the first few.
MAX_FINDINGS: Final = 50
MAX_POSSIBLE_CALLS: Final = 500
#: The most words of a possible call that are analyzed.
MAX_POSSIBLE_CALL_WORDS: Final = 24

#: The dialects that `sh` may be, depending on the machine. A command must be harmless in each.
DIALECTS: Final[tuple[Dialect, ...]] = ("posix", "bash")

# What other shells don't refuse, but read as something else, and how they read it.
_BASH: Final = (
    (re.compile(r"\[\["), "[ "),
    (re.compile(r"&>"), "& >"),
    (re.compile(r"(?<!\$)(?<!for )\(\("), "( ("),
)
_WRITES = re.compile(r"^(>|&>|<>)")
# What stands between words in any language.
_TOKEN = re.compile(r"""[^\s"'`()\[\]{},;|&<>=!$\\]+""")
#: The folders of the system's programs. A path elsewhere is a program that anybody may have written.
_SYSTEM: Final = re.compile(r"/+((usr|opt)/)?(local/)?s?bin/")

#: A function that analyzes one program call, and adds findings to a `CommandAnalyzer`.
CallAnalyzer = Callable[[ProgramCall, "CommandAnalyzer"], None]


class CommandAnalyzer:
    """Analyzes one command with all nested commands, and collects findings.

    Args:
        call_analyzer: The function that analyzes each program call.
    """

    def __init__(self, call_analyzer: CallAnalyzer) -> None:
        self._call_analyzer = call_analyzer
        self._tree = cache(parse_tree)
        self._depth = 0
        self._text_count = 0
        self._findings: dict[CommandFinding, None] = {}
        self._calls: dict[ProgramCall, None] = {}
        self._mentions: dict[ProgramCall, None] = {}
        self._redirects: dict[Redirect, None] = {}
        self._assigns: set[str] = set()
        self._fetching_calls: list[ProgramCall] = []
        self._file_runs: list[tuple[ProgramCall, str]] = []

    def report(self) -> CommandReport:
        """Return the findings so far."""
        self._find_fetched_scripts()
        return CommandReport(
            findings=tuple(self._findings),
            calls=tuple(self._calls),
            possible_calls=tuple(self._mentions),
            redirects=tuple(self._redirects),
            assigned_names=frozenset(self._assigns),
        )

    # ---- what the looks at programs say ----

    def add_dangerous_finding(
        self, part: ProgramCall | str, reason: str, risk: Risk = Risk.HIGH
    ) -> None:
        """Add a finding: a part of the command is on the dangerous list.

        Args:
            part: The part of the command.
            reason: The part's effect, as the end of a sentence that begins with the part.
            risk: The risk; high if the part destroys data.
        """
        self._find(CommandFinding(risk, _part(part), reason))

    def add_unclear_finding(self, part: ProgramCall | str, reason: str) -> None:
        """Add a finding: a part may be on the dangerous list, but only running the command would show.

        See `add_dangerous_finding`.
        """
        self._find(CommandFinding(Risk.MEDIUM, _part(part), reason, is_unclear=True))

    def record_download(self, call: ProgramCall) -> None:
        """Record that a call downloads files."""
        self._fetching_calls.append(call)

    def record_execution(self, call: ProgramCall, script: str) -> None:
        """Record that a call runs a script; an empty name: the script is its input, or is unknown."""
        self._file_runs.append((call, script))

    # ---- what they go on with ----

    def analyze_text(self, text: str, dialects: Iterable[Dialect] = DIALECTS) -> None:
        """Analyze a shell command.

        Args:
            text: The command.
            dialects: The shell dialects that may parse the command.
        """
        for dialect in islice(dialects, 1 if is_same_in_all_dialects(text) else None):
            self._text_count += 1
            if self._text_count > MAX_NESTED_TEXTS or self._depth >= MAX_DEPTH:
                self.add_unclear_finding("", "the command contains too many other commands")
                return
            try:
                parsed = self._parsed(text, dialect, dialects)
                shell_text = None if parsed is None else read_tree(*parsed)
            except UnparsableError as error:
                self.add_unclear_finding("", str(error))
                continue
            if shell_text is not None:
                self._analyze_shell_text(shell_text)

    def _analyze_shell_text(self, shell_text: ParsedShellText) -> None:
        """Analyze the contents of a parsed command."""
        self._depth += 1
        self._assign(shell_text.assignments)
        for redirect in shell_text.redirects:
            self._redirect(redirect)
        for call in shell_text.calls:
            self.analyze_program(call)
        self._depth -= 1

    def analyze_wrapped_command(
        self,
        outer: ProgramCall,
        words: tuple[CommandWord, ...],
        assignments: Iterable[Assignment] = (),
    ) -> None:
        """Analyze a program that another program runs, such as `env`.

        Args:
            outer: The call of the other program.
            words: The program's name and arguments.
            assignments: The environment variables that the other program sets.
        """
        assignments = tuple(assignments)
        self._assign(assignments)
        if self._depth >= MAX_DEPTH:
            self.add_unclear_finding(outer, "contains too many other commands")
        elif words:
            self._depth += 1
            self.analyze_program(
                ProgramCall(
                    words, outer.source_text, (*outer.assignments, *assignments), outer.stdin
                )
            )
            self._depth -= 1

    def analyze_program(self, call: ProgramCall) -> None:
        """Analyze one program call."""
        self._calls[call] = None
        name = call.words[0]
        if name.is_certain:
            self._call_analyzer(call, self)
        elif "/" not in name.text or _SYSTEM.match(name.text):
            self.add_unclear_finding(call, "runs a program whose name is known only when it runs")

    def find_possible_calls(self, call: ProgramCall) -> Iterator[ProgramCall]:
        """Iterate over the calls that a program may make with its arguments, from each word on.

        Each possible call is returned once, although possible calls may contain others.
        """
        given = [word.text for word in call.args] + ([call.stdin.text] if call.stdin else [])
        tokens = [CommandWord(token) for text in given for token in _TOKEN.findall(text)]
        for place in range(len(tokens)):
            mention = ProgramCall(
                tuple(tokens[place : place + MAX_POSSIBLE_CALL_WORDS]), call.source_text
            )
            if mention not in self._mentions and len(self._mentions) < MAX_POSSIBLE_CALLS:
                self._mentions[mention] = None
                yield mention

    # ---- inside ----

    def _parsed(
        self, text: str, dialect: Dialect, dialects: Iterable[Dialect]
    ) -> tuple[Tree, str] | None:
        """Parse a text, and return its syntax tree and the text as shells of a dialect read it.

        None: only bash accepts the text.

        Raises:
            UnparsableError: No shell can parse the text.
        """
        try:
            return self._tree(text, dialect), text
        except UnparsableError:
            if dialect != "posix" or "bash" not in dialects:
                raise
            self._tree(text, "bash")
        plain = text
        for sign, instead in _BASH:
            plain = sign.sub(instead, plain)
        return None if plain == text else (self._tree(plain, dialect), plain)

    def _find(self, finding: CommandFinding) -> None:
        if len(self._findings) < MAX_FINDINGS:
            self._findings[finding] = None

    def _assign(self, assignments: Iterable[Assignment]) -> None:
        self._assigns.update(each.name for each in assignments)

    def _redirect(self, redirect: Redirect) -> None:
        self._redirects[redirect] = None
        target = redirect.target
        if _WRITES.match(redirect.operator) and is_device(target.text):
            part = f"{redirect.operator} {target.text}{'' if target.is_certain else '…'}"
            self.add_dangerous_finding(part, "writes to a device")

    def _find_fetched_scripts(self) -> None:
        """Find a script that the command downloads and runs."""
        texts = [word.text for call in self._fetching_calls for word in call.args]
        texts += [redirect.target.text for redirect in self._redirects]
        for call, script in self._file_runs if self._fetching_calls else ():
            name = script.rpartition("/")[2]
            if not name or any(name in text for text in texts):
                self.add_dangerous_finding(
                    call, f"runs what `{self._fetching_calls[0].source_text}` fetched"
                )


def _part(part: ProgramCall | str) -> str:
    return shorten_part(part.source_text if isinstance(part, ProgramCall) else part)
