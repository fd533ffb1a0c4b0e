"""An agent that asks Bedrock by botocore, with the seam that docs/guide/attach.md prints."""

import re
from pathlib import Path

import botocore.session
from botocore.config import Config

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "attach.md"
seam = {}
exec(
    re.search(r"```python\n([^`]*def attach.session.*?)```", GUIDE.read_text(), re.DOTALL)[1], seam
)
TOOL = {"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object"}}}}


class Agent:
    def __init__(self, _):
        self._session = botocore.session.get_session()
        self._session.set_credentials("any", "any")
        seam["attach"](self._session)

    def sync(self, url):
        client = self._session.create_client(
            "bedrock-runtime",
            region_name="eu-north-1",
            endpoint_url=url,
            config=Config(retries={"max_attempts": 2, "mode": "standard"}),
        )
        messages = [{"role": "user", "content": [{"text": "please add"}]}]
        while True:
            answer = client.converse(modelId="m", messages=messages, toolConfig={"tools": [TOOL]})
            message = answer["output"]["message"]
            messages.append(message)
            calls = [part["toolUse"] for part in message["content"] if "toolUse" in part]
            if not calls:
                return message["content"][0]["text"]
            results = [
                {
                    "toolResult": {
                        "toolUseId": call["toolUseId"],
                        "content": [{"text": str(call["input"]["a"] + call["input"]["b"])}],
                    }
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": results})
