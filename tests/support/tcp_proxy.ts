// A TCP proxy between a client and a real server, for losses that a server cannot show: an answer that never arrives, and a dead connection.

/** Declare it with `using`. */
export interface TcpProxy extends Disposable {
  readonly port: number;
  /** The number of connections that clients opened. */
  opened(): number;
  /** From now on, each connection is cut when the server sends something. */
  cutAnswers(): void;
  /** The present connections stay open, but nothing passes in either direction. */
  blackHole(): void;
  /** Cuts the present connections. */
  cut(): void;
  /** From now on, everything passes again; for new connections after `blackHole()`. */
  pass(): void;
}

interface Pair {
  readonly ends: readonly [Deno.Conn, Deno.Conn];
  isDead: boolean;
}

/** Listens on a free port of the loopback interface. */
export function startTcpProxy(serverPort: number): TcpProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pairs = new Set<Pair>();
  let opened = 0;
  let cutsAnswers = false;

  const cutPair = (pair: Pair): void => {
    if (!pairs.delete(pair)) return;
    for (const end of pair.ends) end.close();
  };
  const pump = async (pair: Pair, { from, isAnswer }: { from: 0 | 1; isAnswer: boolean }): Promise<void> => {
    const buffer = new Uint8Array(65_536);
    const [source, target] = [pair.ends[from], pair.ends[from === 0 ? 1 : 0] as Deno.Conn];
    try {
      for (let octets = await source.read(buffer); octets !== null; octets = await source.read(buffer)) {
        if (pair.isDead) continue;
        if (isAnswer && cutsAnswers) break;
        for (let sent = 0; sent < octets;) sent += await target.write(buffer.subarray(sent, octets));
      }
    } catch (_ended) {
      // One of the ends was closed.
    }
    if (!pair.isDead) cutPair(pair);
  };
  const accept = async (): Promise<void> => {
    for await (const client of listener) {
      opened++;
      const server = await Deno.connect({ hostname: "127.0.0.1", port: serverPort }).catch(() => null);
      if (server === null) {
        client.close();
        continue;
      }
      client.setNoDelay(true);
      server.setNoDelay(true);
      const pair: Pair = { ends: [client, server], isDead: false };
      pairs.add(pair);
      void pump(pair, { from: 0, isAnswer: false });
      void pump(pair, { from: 1, isAnswer: true });
    }
  };
  void accept();
  const cut = (): void => {
    for (const pair of [...pairs]) cutPair(pair);
  };
  return {
    port: listener.addr.port,
    opened: () => opened,
    cutAnswers: () => cutsAnswers = true,
    blackHole() {
      for (const pair of pairs) pair.isDead = true;
    },
    cut,
    pass: () => cutsAnswers = false,
    [Symbol.dispose]() {
      listener.close();
      cut();
    },
  };
}
