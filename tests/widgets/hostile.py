"""A run whose agent means harm, with every text that it can choose."""

from __future__ import annotations

#: Sets `hacked` wherever it is taken for more than text.
TEXT = (
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    '"><svg/onload=window.hacked=1></td></table><iframe srcdoc="<script>top.hacked=1</script>">'
    "</textarea><style>*{display:none}</style>"
    "[x](javascript:window.hacked=1) <a href=javascript:window.hacked=1>go</a>"
)
#: As one line of a table tells it: cut, with signs where characters hide.
FORMULA = r"$\href{javascript:window.hacked=1}{x}$ \(\href{javascript:window.hacked=1}{y}\)"
HIDDEN = "\x1b[31m\x1b]8;;javascript:window.hacked=1\x07 \u202egnp.exe \ud800 \x00"

#: The program's name, quoted for a magic's line.
PROGRAM = "'" + TEXT.replace("'", "") + "'"


def agent(folder: str) -> str:
    """What such an agent does, for a kernel in whose folder it may write.

    Args:
        folder: Its workspace.
    """
    return f"""from pathlib import Path
print("READY")
TEXT, FORMULA, HIDDEN = {TEXT!r}, {FORMULA!r}, {HIDDEN!r}
folder = Path({folder!r})
def write(name, text):
    place = folder / name.replace("/", "_")[:200]
    place.write_text(text)
for evil in (TEXT, FORMULA, HIDDEN):
    with dbg.llm({{"messages": [{{"role": "user", "content": evil}}]}}, model=evil) as q:
        q.response = evil
    args = {{"a": evil, "__proto__": {{"hacked": 1}}, "constructor": evil, "n": 10**40}}
    with dbg.tool(evil, args) as t:
        if "\\0" not in evil:
            write(evil, evil)
        t.result = evil
    dbg.post_debug_message(evil)
    dbg.commit_agent_changes(evil, evil)
with dbg.tool("long", {{}}) as t:
    t.result = "<b>" * 3_500_000
class Evil(Exception):
    pass
Evil.__qualname__ = "<img src=x onerror=window.hacked=1>"
with dbg.tool("fails", {{}}) as t:
    raise Evil(TEXT + FORMULA + HIDDEN)
"""


#: A cell with such an agent.
CELL = f"%%step {PROGRAM} --workspace hostile\n{agent('hostile')}"
