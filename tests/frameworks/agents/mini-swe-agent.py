"""An agent of mini-swe-agent, as its author would write it: nothing here knows the debugger."""

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel


class Agent:
    def __init__(self, url):
        options = {"api_base": url, "api_key": "any"}
        self._model = LitellmModel(
            model_name="openai/m", model_kwargs=options, cost_tracking="ignore_errors"
        )

    def sync(self, text):
        agent = DefaultAgent(
            self._model,
            LocalEnvironment(),
            system_template="You run commands.",
            instance_template="{{task}}",
            wall_time_limit_seconds=1 if text == "work" else 0,
        )
        return agent.run(text)["submission"].strip()
