/** The WebSocket transport: straight to the Core in the Jupyter server, past the kernel. */
import { SUBPROTOCOL } from "../protocol/messages";
import type { Link, LinkEvents, Transport } from "./transport";

/** Open a WebSocket as a link. */
export function openSocket(url: string | URL, events: LinkEvents): Link {
  const socket = new WebSocket(url, SUBPROTOCOL);
  let opened = false;
  let over = false;
  socket.onopen = () => {
    opened = true;
    if (!over) events.opened();
  };
  socket.onmessage = (event: MessageEvent<unknown>) => {
    if (!over && typeof event.data === "string") events.message(event.data);
  };
  socket.onclose = (event) => {
    if (!over) events.closed({ code: event.code, reason: event.reason, opened });
    over = true;
  };
  return {
    send: (text) => socket.send(text),
    close() {
      over = true;
      socket.close();
    },
  };
}

const LOGIN = "This login has run out or may not watch agents. Log in to Jupyter, then try again.";
const NOT_THERE =
  "The Jupyter server runs without agentstepper_nb. Install it in the server's environment " +
  "(pip install agentstepper_nb), restart the server, then try again.";
const NO_SOCKET =
  "The Jupyter server answers, but refuses the WebSocket: a proxy or its origin check is in the way.";

/** After so many failed attempts a server that answers otherwise is taken to refuse WebSockets. */
const PATIENCE = 3;

/**
 * The Core of a Jupyter server.
 *
 * @param baseUrl The server's base URL, ending with a slash.
 * @param token Tried where the login cookie isn't taken, as in a frame whose cookies are blocked.
 * @param path Of the Core's door, behind the base URL.
 */
export function serverTransport(baseUrl: URL, token = "", path = "agentstepper/ui"): Transport {
  let useToken = false;
  return {
    open(events) {
      const url = new URL(path, baseUrl);
      url.protocol = url.protocol.replace("http", "ws");
      if (useToken) url.searchParams.set("token", token);
      return openSocket(url, events);
    },
    async explain(attempt) {
      const status = await probe(baseUrl, useToken ? token : "");
      if (status === 404) return NOT_THERE;
      if (status === 200 && attempt >= PATIENCE) return NO_SOCKET;
      if (status !== 401 && status !== 403) return null;
      if (useToken || token === "") return LOGIN;
      useToken = true;
      return null;
    },
  };
}

/** The status of the Core's list of runs; 403 stands for a login page, 0 for no answer. */
async function probe(baseUrl: URL, token: string): Promise<number> {
  try {
    const headers: HeadersInit = token ? { Authorization: `token ${token}` } : {};
    const answer = await fetch(new URL("agentstepper/api/runs", baseUrl), { headers });
    return answer.redirected ? 403 : answer.status;
  } catch {
    return 0;
  }
}
