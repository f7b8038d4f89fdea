// Ports for programs that cannot choose a free one themselves, and ports that must stay closed.

/**
 * Ports below the range from which Linux serves port 0 (32768 and up). No other test can get one of them by chance
 * between the choice and the bind, or while a program restarts.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_767;

type Bind = (address: { readonly hostname: string; readonly port: number }) => { close(): void };

/** A UDP port of the loopback interface that is free now. The program that uses it must report when it cannot bind. */
export function freeUdpPort(): number {
  return freePort((address) => Deno.listenDatagram({ transport: "udp", ...address }));
}

/** The same for TCP. */
export function freeTcpPort(): number {
  return freePort((address) => Deno.listen(address));
}

function freePort(bind: Bind): number {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    try {
      bind({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (fault) {
      if (!(fault instanceof Deno.errors.AddrInUse)) throw fault;
    }
  }
}
