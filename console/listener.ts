// Listens for HTTP or HTTPS and hands requests to the application; stops in order, within a deadline.

import type { SocketAddress } from "../config.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { HttpApp } from "./http.ts";

export interface ListenerDeps {
  readonly listen: SocketAddress;
  readonly tls: { readonly certPem: string; readonly keyPem: string } | null;
  /** One that is still being made answers what came meanwhile. */
  readonly app: HttpApp | Promise<HttpApp>;
  readonly log: Log;
  readonly clock: Clock;
}

export interface HttpListener {
  /** Where it listens; the port is the real one when 0 was asked for. */
  readonly address: SocketAddress;
  /** Ends the streams, lets requests under way finish for `deadlineMs`, then cuts them off. Never rejects. */
  stop(options: { deadlineMs: number }): Promise<void>;
}

/**
 * Starts listening.
 *
 * @throws Error that says which setting to change when the address cannot be had.
 */
export function serveHttp({ listen, tls, app, log, clock }: ListenerDeps): HttpListener {
  const cutOff = new AbortController();
  const options = {
    hostname: listen.hostname,
    port: listen.port,
    signal: cutOff.signal,
    onListen: () => undefined,
    // The application answers its own faults; what is left is a connection that broke.
    onError(fault: unknown) {
      log.warn("an HTTP answer was not sent", {
        error: fault instanceof Error ? fault.message : String(fault),
      });
      return new Response(null, { status: 500 });
    },
  };
  const handle = async (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>) =>
    await (await app)(request, { remoteAddress: info.remoteAddr.hostname });
  const server = startServer(
    () =>
      tls === null
        ? Deno.serve(options, handle)
        : Deno.serve({ ...options, cert: tls.certPem, key: tls.keyPem }, handle),
    listen,
  );
  return {
    address: { hostname: server.addr.hostname, port: server.addr.port },
    async stop({ deadlineMs }) {
      (await app).close();
      const stopTimer = clock.after(deadlineMs, () => cutOff.abort());
      await server.shutdown().catch((fault: unknown) =>
        log.warn("the HTTP listener stopped oddly", {
          error: fault instanceof Error ? fault.message : String(fault),
        })
      );
      stopTimer();
    },
  };
}

function startServer<T>(start: () => T, { hostname, port }: SocketAddress): T {
  try {
    return start();
  } catch (cause) {
    const where = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
    throw new Error(`Cannot listen for HTTP on ${where}: ${reasonOf(cause)} (http.listen)`, { cause });
  }
}

function reasonOf(cause: unknown): string {
  if (cause instanceof Deno.errors.AddrInUse) return "another program uses that port";
  if (cause instanceof Deno.errors.PermissionDenied) return "ports below 1024 need CAP_NET_BIND_SERVICE";
  if (cause instanceof Deno.errors.AddrNotAvailable) return "this host has no such address";
  return cause instanceof Error ? cause.message : String(cause);
}
