// One request of a connection at a time (RFC 9112 §9.3.2). A client sends its next request when it has the response, which
// can be before this process learns that the response is written: so one request waits. A connection that sends more is
// closed, because its responses would collect in memory. Browsers and reverse proxies do not pipeline.

/** What {@link createRequestQueue} needs of a connection. */
export interface QueuedConnection {
  readonly destroyed: boolean;
  destroy(): unknown;
}

export interface RequestQueue {
  /**
   * Runs `answer` after the response before it. `answer` never rejects.
   *
   * @returns false if the connection is closed, or was closed now because it sent too many requests.
   */
  add(connection: QueuedConnection, answer: () => Promise<void>): boolean;
}

/** One in progress, and one that waits. */
const MAX_REQUESTS = 2;

interface Line {
  count: number;
  /** Resolves after the last request of the line. */
  last: Promise<void>;
}

export function createRequestQueue(): RequestQueue {
  const lines = new WeakMap<QueuedConnection, Line>();
  return {
    add(connection, answer) {
      if (connection.destroyed) return false;
      const line = lines.get(connection) ?? { count: 0, last: Promise.resolve() };
      if (line.count === MAX_REQUESTS) {
        connection.destroy();
        return false;
      }
      lines.set(connection, line);
      line.count += 1;
      const run = async (): Promise<void> => {
        if (!connection.destroyed) await answer();
        line.count -= 1;
      };
      line.last = line.count === 1 ? run() : line.last.then(run);
      return true;
    },
  };
}
