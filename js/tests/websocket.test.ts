import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { serverTransport } from "../src/client/websocket";

const BASE = new URL("http://host:8888/user/alice/");

/** The browser's WebSocket, played by the test. */
class FakeSocket {
  static made: FakeSocket[] = [];
  sent: string[] = [];
  closed = false;
  onopen?: () => void;
  onmessage?: (event: { data: unknown }) => void;
  onclose?: (event: { code: number; reason: string }) => void;
  constructor(
    readonly url: URL,
    readonly protocol: string,
  ) {
    FakeSocket.made.push(this);
  }
  send(text: string) {
    this.sent.push(text);
  }
  close() {
    this.closed = true;
  }
}

beforeEach(() => {
  FakeSocket.made = [];
  vi.stubGlobal("WebSocket", FakeSocket);
});
afterEach(() => vi.unstubAllGlobals());

function opened(transport = serverTransport(BASE)) {
  const heard: unknown[] = [];
  const link = transport.open({
    opened: () => heard.push("opened"),
    message: (text) => heard.push(text),
    closed: (why) => heard.push(why),
  });
  return { link, heard, socket: FakeSocket.made.at(-1) as FakeSocket };
}

test("it asks for version 2 below the server's base URL, without a token", () => {
  const { socket } = opened();
  expect(String(socket.url)).toBe("ws://host:8888/user/alice/agentstepper/ui");
  expect(socket.protocol).toBe("agentstepper.v2");
  const secure = opened(serverTransport(new URL("https://host/"))).socket;
  expect(String(secure.url)).toBe("wss://host/agentstepper/ui");
});

test("text goes both ways, binary frames are passed over, and the end says whether it had begun", () => {
  const { link, heard, socket } = opened();
  socket.onopen?.();
  link.send("a");
  socket.onmessage?.({ data: "b" });
  socket.onmessage?.({ data: new ArrayBuffer(1) });
  socket.onclose?.({ code: 1006, reason: "" });
  expect(socket.sent).toEqual(["a"]);
  expect(heard).toEqual(["opened", "b", { code: 1006, reason: "", opened: true }]);
});

test("after close nothing is heard", () => {
  const { link, heard, socket } = opened();
  link.close();
  socket.onopen?.();
  socket.onmessage?.({ data: "b" });
  socket.onclose?.({ code: 1000, reason: "" });
  expect([socket.closed, heard]).toEqual([true, []]);
});

describe("why an attempt failed", () => {
  const answering = (status: number, redirected = false) =>
    vi.stubGlobal("fetch", async () => ({ status, redirected }));

  test.each([
    [404, false, 1, "Install it"],
    [403, false, 1, "Log in"],
    [200, true, 1, "Log in"],
    [200, false, 3, "refuses the WebSocket"],
  ])("status %i (redirected: %s) at attempt %i", async (status, redirected, attempt, words) => {
    answering(status, redirected);
    expect(await serverTransport(BASE).explain?.(attempt)).toContain(words);
  });

  test("a server that is down, or has only just failed, may come back", async () => {
    answering(503);
    expect(await serverTransport(BASE).explain?.(9)).toBeNull();
    answering(200);
    expect(await serverTransport(BASE).explain?.(1)).toBeNull();
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("down")));
    expect(await serverTransport(BASE).explain?.(9)).toBeNull();
  });

  test("where the cookie isn't taken the page's token is tried, once", async () => {
    answering(403);
    const transport = serverTransport(BASE, "secret");
    expect(await transport.explain?.(1)).toBeNull();
    expect(opened(transport).socket.url.searchParams.get("token")).toBe("secret");
    expect(await transport.explain?.(2)).toContain("Log in");
  });
});
