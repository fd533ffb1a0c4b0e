/** What the Changes tab says where there is nothing to show, and the line of code that changes it. */
import { CopyButton } from "../inspector/copy";
import { titleOf } from "../model/commits";
import type { Commit, Model } from "../model/model";
import { visible } from "../view/visible";

export function NoWorkspace() {
  return (
    <div class="as-Empty">
      <h3>No workspace is watched</h3>
      <p>
        Name the folder that the agent works on, and what it changes there is kept here, commit by
        commit.
      </p>
      <CodeLine code="%%step --workspace path/to/folder" />
      <p>Or in the agent's own code:</p>
      <CodeLine code='AgentStepper("my-agent", agent_workspace_path="path/to/folder")' />
    </div>
  );
}

export function NoCommits({ model }: { model: Model }) {
  return (
    <div class="as-Empty">
      <h3>No commit yet</h3>
      <p>
        {"The agent works on "}
        <code class="as-Code">{model.run.value?.workspace}</code>
        {". What its steps change there is shown here. This line puts a name to it:"}
      </p>
      <CodeLine code='dbg.commit_agent_changes("what was done")' />
    </div>
  );
}

export function NoChanges({ commit }: { commit: Commit }) {
  return (
    <div class="as-Empty">
      <h3>{visible(titleOf(commit))}</h3>
      <p>
        {visible(commit.description) ||
          "This commit changes no file: it is the state that later commits are compared with."}
      </p>
    </div>
  );
}

function CodeLine({ code }: { code: string }) {
  return (
    <div class="as-CodeLine">
      <pre>{code}</pre>
      <CopyButton label="Copy this line" text={() => code} />
    </div>
  );
}
