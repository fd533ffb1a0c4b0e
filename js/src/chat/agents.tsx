/** The agents of the conversation: name, role, and which of them speaks. */
import { Icon } from "../icons/icon";
import { cx } from "../view/classes";
import { visible } from "../view/visible";
import { roleWord } from "./messages/words";
import type { ChatModel } from "./model";
import { typeWords } from "./status";
import type { AgentInfo } from "./types";

interface AgentsProps {
  model: ChatModel;
  onOpen(run: string): void;
}

export function Agents({ model, onOpen }: AgentsProps) {
  const info = model.info.value;
  if (!info) return null;
  const speaking = info.state === "STATE_RUNNING" ? info.speaking : null;
  return (
    <ul class="as-ChatAgents" aria-label="Agents" title={namesOf(info.agents)}>
      {info.agents.map((agent) => (
        <li key={agent.name}>
          <Agent
            agent={agent}
            speaks={agent.name === speaking}
            works={info.waiting === null && !info.halted}
            usual={info.agents.length > 1 && agent.name === info.default_agent}
            onOpen={onOpen}
          />
        </li>
      ))}
    </ul>
  );
}

function namesOf(agents: readonly AgentInfo[]): string {
  return agents.map(({ name, role }) => `${visible(name)}: ${roleWord(role)}`).join("\n");
}

interface AgentProps {
  agent: AgentInfo;
  speaks: boolean;
  /** Whether who speaks waits for nobody. */
  works: boolean;
  usual: boolean;
  onOpen(run: string): void;
}

/** One that has a run of its own leads to it. */
function Agent({ agent, speaks, works, usual, onOpen }: AgentProps) {
  const { name, role, description, run_id } = agent;
  const notice = visible(agent.notice);
  const lines = [
    `${visible(name)}: ${visible(role)}, ${typeWords(agent)}`,
    description && visible(description),
    notice,
    usual && "Messages are for it where nobody else is chosen",
    run_id !== null && "Open its own run in the debugger",
  ];
  const busy = speaks && works;
  const inside = (
    <>
      <Icon name={busy ? "spin" : "agent"} small spin={busy} />
      <span class="as-Ellipsis">{visible(name)}</span>
      <span class="as-ChatAgent-role as-Muted">{roleWord(role)}</span>
      {notice && (
        <span class="as-ChatAgent-notice">
          {notice.split(":")[0]}
          <span class="as-Hidden">{notice.slice(notice.split(":")[0]?.length)}</span>
        </span>
      )}
      {speaks && <span class="as-Hidden">speaks</span>}
    </>
  );
  const look = cx("as-ChatAgent as-Small", speaks && "as-mod-speaks");
  const title = lines.filter(Boolean).join("\n");
  if (run_id === null) {
    return (
      <span class={look} title={title}>
        {inside}
      </span>
    );
  }
  return (
    <button type="button" class={look} title={title} onClick={() => onOpen(run_id)}>
      {inside}
    </button>
  );
}
