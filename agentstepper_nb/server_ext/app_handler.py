"""`/agentstepper/app`: the view on a page of its own, which needs no kernel."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado.web import authenticated

from .. import static_files
from .json_errors import AUTH_RESOURCE

#: Scripts and data from this server alone; styles also from the scripts, which make them.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="same-origin">
<title>AgentStepper</title>
<style>html, body { height: 100%; margin: 0 } #as-app { height: 100% }</style>
</head>
<body>
$body
</body>
</html>
""")

_VIEW = Template("""\
<div id="as-app" data-base-url="$base_url" data-run="$run"></div>
<noscript>AgentStepper shows its view with JavaScript, which this browser has switched off.</noscript>
<script type="module" src="$script"></script>""")

_NOT_BUILT_PAGE = Template("<p>$text</p>")


class AppHandler(JupyterHandler):
    """The page. `?run=ID` opens one run, else the newest is shown."""

    auth_resource = AUTH_RESOURCE

    def initialize(self, static_url: str, static_folder: Path) -> None:
        """Store the extension's settings; tornado calls this for each request.

        Args:
            static_url: The URL of the built files.
            static_folder: The folder of the built files.
        """
        self._static_url = static_url
        self._static_folder = static_folder

    @property
    def content_security_policy(self) -> str:
        """Jupyter's policy, which decides who may frame this page, and this extension's own."""
        return f"{super().content_security_policy}; {CONTENT_SECURITY_POLICY}"

    @authenticated
    @authorized
    def get(self) -> None:
        """Answer with the page, or with instructions if the view isn't built."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(_PAGE.substitute(body=self._body()))

    def _body(self) -> str:
        try:
            script = static_files.find_built_file("page", self._static_folder)
        except static_files.NotBuiltError as error:
            return _NOT_BUILT_PAGE.substitute(text=escape(str(error)))
        return _VIEW.substitute(
            base_url=escape(self.base_url),
            run=escape(self.get_query_argument("run", "")),
            script=escape(url_path_join(self._static_url, script)),
        )
