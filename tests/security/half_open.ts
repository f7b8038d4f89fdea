// Raw TCP connections of an attacker who sends an incomplete request, or nothing.

/** Connections that stay open until the test closes them. */
export interface HalfOpen extends Disposable {
  readonly count: number;
  /** The number of connections that the server has closed; waits up to `withinMs` until all are closed. */
  closedByServer(withinMs: number): Promise<number>;
}

/** Opens `count` connections and sends `text` on each. Connections that the server refuses are counted as opened. */
export async function openHalf(
  port: number,
  { count, text }: { count: number; text: string },
): Promise<HalfOpen> {
  const connections: Deno.TcpConn[] = [];
  let closed = 0;
  const watch = async (connection: Deno.TcpConn): Promise<void> => {
    try {
      while (await connection.read(new Uint8Array(4096)) !== null);
    } catch (_reset) {
      // A reset counts as a close.
    }
    closed += 1;
  };
  for (let at = 0; at < count; at++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.push(connection);
    // The server may already have closed it.
    if (text !== "") await connection.write(new TextEncoder().encode(text)).catch(() => 0);
    void watch(connection);
  }
  return {
    count,
    async closedByServer(withinMs) {
      for (const end = performance.now() + withinMs; performance.now() < end && closed < count;) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return closed;
    },
    [Symbol.dispose]() {
      for (const connection of connections) connection.close();
    },
  };
}

/** A request head without its end. */
export const INCOMPLETE_HEAD = "GET / HTTP/1.1\r\nHost: x\r\nX-A: ";

/** Long, for a slow machine: a listener that stopped permanently never answers. */
const HEALTH_MS = 30_000;

/** Requests `/healthz` on new connections until it answers, for a limited time; the last status, or 0. */
export async function waitForHealth(url: string, client?: Deno.HttpClient): Promise<number> {
  let status = 0;
  for (const end = performance.now() + HEALTH_MS; performance.now() < end && status !== 200;) {
    try {
      const init: RequestInit & { client?: Deno.HttpClient } = {
        client,
        headers: { connection: "close" },
        signal: AbortSignal.timeout(2000),
      };
      const answer = await fetch(`${url}/healthz`, init);
      status = answer.status;
      await answer.body?.cancel();
    } catch (_noAnswer) {
      status = 0;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return status;
}
