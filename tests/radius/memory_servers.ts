// RADIUS servers in memory, and the gateway's list of them on a manual clock. The packets are built with node:crypto and no code of the gateway.

import { createHash, createHmac } from "node:crypto";
import { parseSocketAddress, socketAddressText } from "../../platform/addresses.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import type { FirstFactorServer } from "../../platform/client_settings.ts";
import { FirstFactorHealth, FirstFactorServers } from "../../radius/factors/first_factor_servers.ts";
import type { DatagramSocket } from "../../radius/server/server.ts";
import { nextTurn } from "../support/settle.ts";
import { CODES } from "../support/radius_numbers.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

export const SERVER_SECRET = "secret-of-memory-servers";

/**
 * What a server does with a request. `picky`: it does not answer for the user `ignored`. `logins_only`: as NPS, it does not answer Status-Server. `late`: it answers when {@link answerLate} is called.
 * `person`: the same for logins, while probes are answered as NPS does.
 * `unsigned`: without Message-Authenticator. `eap`: the same, with an EAP-Message. `malformed`: with a hidden value that cannot be revealed.
 */
export type ServerConduct =
  | "accept"
  | "reject"
  | "challenge"
  | "silent"
  | "picky"
  | "logins_only"
  | "late"
  | "person"
  | "wrong_secret"
  | "unsigned"
  | "eap"
  | "malformed"
  | "accounting_response";

interface SeenRequest {
  /** `host:port` */
  readonly server: string;
  readonly code: number;
  readonly identifier: number;
  readonly packet: Uint8Array;
  readonly atMs: number;
}

const CODE_OF: Partial<Record<ServerConduct, number>> = {
  reject: CODES.accessReject,
  challenge: CODES.accessChallenge,
  accounting_response: 5,
};

/** Servers that answer at once, and a client "vpn" of the gateway that has them. */
export function openMemoryServers(
  conduct: Record<string, ServerConduct>,
  { timeoutMs = 3000, messageAuthenticator = "require" as "require" | "auto", maxSockets = Infinity } = {},
) {
  const clock = createManualClock();
  const lines: string[] = [];
  const write = (octets: Uint8Array) =>
    void lines.push(...new TextDecoder().decode(octets).trimEnd().split("\n"));
  const log = createLog({ format: "text", level: "debug", clock, write });
  const seen: SeenRequest[] = [];
  const late: (() => void)[] = [];
  let sockets = 0;
  const open = (): DatagramSocket => {
    if (++sockets > maxSockets) throw new Error("Too many open files");
    return memorySocket((packet, to, deliver) => {
      const server = socketAddressText(to);
      const [code = 0, identifier = 0] = packet;
      seen.push({ server, code, identifier, packet, atMs: clock.nowMs() });
      const does = conduct[server] ?? "silent";
      if (does === "silent" || (does === "logins_only" && code === CODES.statusServer)) return;
      if (does === "picky" && new TextDecoder().decode(packet).includes("ignored")) return;
      const isProbe = new TextDecoder().decode(packet).includes("countersign-test");
      if (does === "person" && code === CODES.statusServer) return;
      if (does === "late" || (does === "person" && !isProbe)) {
        return void late.push(() => deliver(answer(packet, "accept")));
      }
      deliver(answer(packet, does));
    });
  };
  let settings: FirstFactorServer | null = {
    address: Object.keys(conduct).flatMap((name) => parseSocketAddress(name) ?? []),
    secret: SERVER_SECRET,
    ...{ timeoutMs, messageAuthenticator },
  };
  const servers = new FirstFactorServers({
    ...{ open, clock, log, random: createSystemRandom(), health: new FirstFactorHealth({ log, clock }) },
    serversOf: () => settings,
    all: () => settings === null ? [] : [{ client: "vpn", servers: settings }],
  });
  return {
    ...{ servers, clock, conduct, seen, lines, sockets: () => sockets },
    change: (next: Partial<FirstFactorServer>) =>
      settings = settings === null ? null : { ...settings, ...next },
    answerLate: () => late.splice(0).forEach((send) => send()),
    /** Lets `forMs` pass, and everything that waits for its turn run, in steps of 100 ms. */
    async pass(forMs: number): Promise<void> {
      for (let left = forMs; left > 0; left -= 100) {
        for (let turns = 0; turns < 4; turns++) await nextTurn();
        clock.advance(Math.min(100, left));
      }
      for (let turns = 0; turns < 4; turns++) await nextTurn();
    },
    /** Asks for a login while time passes. */
    async exchange(request: Partial<Parameters<FirstFactorServers["exchange"]>[0]> = {}) {
      const startedMs = clock.nowMs();
      let isDone = false;
      const outcome = servers.exchange({ client: "vpn", attributes: [], ...request }).finally(() =>
        isDone = true
      );
      for (let spentMs = 0; spentMs < 60_000; spentMs += 50) {
        for (let turns = 0; turns < 4; turns++) await nextTurn();
        if (isDone) break;
        clock.advance(50);
      }
      return { ...await outcome, tookMs: clock.nowMs() - startedMs };
    },
    [Symbol.dispose]: () => servers.close(),
  };
}

function memorySocket(
  onSent: (packet: Uint8Array, to: Deno.NetAddr, deliver: (answer: Uint8Array) => void) => void,
): DatagramSocket {
  const queue: Uint8Array[] = [];
  let arrival = Promise.withResolvers<void>();
  return {
    async receive(buffer) {
      while (queue.length === 0) {
        await arrival.promise;
        arrival = Promise.withResolvers();
      }
      const packet = queue.shift() ?? new Uint8Array(0);
      buffer.set(packet);
      return [buffer.subarray(0, packet.length), { transport: "udp", hostname: "192.0.2.1", port: 1812 }];
    },
    send(octets, to) {
      onSent(octets.slice(), to, (answer) => {
        queue.push(answer);
        arrival.resolve();
      });
      return Promise.resolve(octets.length);
    },
    close: () => arrival.reject(new Deno.errors.BadResource("closed")),
  };
}

const FILTER_ID = [11, 5, 0x76, 0x70, 0x6e];
const EAP_SUCCESS = [79, 6, 3, 1, 0, 4];
/** A Tunnel-Password whose hidden part has no block of 16 octets. */
const BAD_TUNNEL_PASSWORD = [69, 8, 1, 0x80, 1, 9, 9, 9];

function answer(request: Uint8Array, conduct: ServerConduct): Uint8Array {
  const secret = conduct === "wrong_secret" ? "another-secret" : SERVER_SECRET;
  const isSigned = conduct !== "unsigned" && conduct !== "eap";
  const attributes = [
    ...isSigned ? [80, 18, ...new Array<number>(16).fill(0)] : [],
    ...conduct === "eap" ? EAP_SUCCESS : conduct === "malformed" ? BAD_TUNNEL_PASSWORD : FILTER_ID,
  ];
  const bytes = new Uint8Array(20 + attributes.length);
  bytes.set([CODE_OF[conduct] ?? CODES.accessAccept, request[1] ?? 0, 0, bytes.length]);
  bytes.set(request.slice(4, 20), 4);
  bytes.set(attributes, 20);
  if (isSigned) bytes.set(createHmac("md5", secret).update(bytes).digest(), 22);
  bytes.set(createHash("md5").update(bytes).update(secret).digest(), 4);
  return bytes;
}
