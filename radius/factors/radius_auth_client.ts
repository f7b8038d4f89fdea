// The first factor at another RADIUS server: PAP, forwarded under a secret of its own (RFC 2865 §2.3).

import type { FirstFactorServer } from "../../platform/client_values.ts";
import type { Log } from "../../platform/log.ts";
import type { CancelTimer, Clock, Random } from "../../platform/runtime.ts";
import { HEADER_OCTETS, MAX_VALUE_OCTETS, PACKET_CODES } from "../protocol/codes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { findMessageAuthenticator, SharedSecret } from "../protocol/authenticity.ts";
import { PacketWriter } from "../protocol/packet.ts";
import type { FirstFactor, FirstFactorVerdict } from "../ports.ts";
import type { DatagramSocket } from "../server/server.ts";

/** A name that no user has: a server that answers about it has the right secret, whatever the answer is. */
const PROBE_NAME = "countersign-test";

/** How often a request is sent before the server counts as unavailable. */
const TRIES = 3;

/**
 * @param serverOf the server of a client, or `null` when its first factor is another.
 * @param open opens a datagram socket on a free port.
 */
export function createRadiusFirstFactor(
  { serverOf, open, clock, random, log }: {
    serverOf: (client: string) => FirstFactorServer | null;
    open: (hostname: string) => DatagramSocket;
    clock: Clock;
    random: Random;
    log: Log;
  },
): FirstFactor & {
  /** Asks a server about a name that no user has: "right" and "wrong" both mean that it answers and knows the secret. */
  probe(server: FirstFactorServer): Promise<FirstFactorVerdict>;
  close(): void;
} {
  const peers = new Map<string, Peer>();
  const peerOf = (client: string, server: FirstFactorServer): Peer => {
    const key = `${server.address.hostname} ${server.address.port} ${client}`;
    const known = peers.get(key);
    if (known !== undefined && known.isFor(server)) return known;
    // Given another secret or time: what it was asked already ends by its own deadline.
    known?.close();
    const peer = createPeer(server, { open, clock, random, log });
    peers.set(key, peer);
    return peer;
  };
  return {
    async probe(server) {
      const peer = createPeer(server, { open, clock, random, log });
      try {
        return await peer.ask(PROBE_NAME, new TextEncoder().encode(random.bytes(8).toHex()));
      } finally {
        peer.close();
      }
    },
    async verify({ client, userName, password }) {
      const server = serverOf(client);
      if (server === null) return "unavailable";
      // Octets that are no UTF-8 grew to U+FFFD; no server knows a name that its attribute cannot hold.
      if (new TextEncoder().encode(userName).length > MAX_VALUE_OCTETS) return "unchecked";
      return await peerOf(client, server).ask(userName, password);
    },
    close() {
      for (const peer of peers.values()) peer.close();
      peers.clear();
    },
  };
}

interface Peer {
  isFor(server: FirstFactorServer): boolean;
  ask(userName: string, password: Uint8Array): Promise<FirstFactorVerdict>;
  close(): void;
}

interface Asked {
  readonly authenticator: Uint8Array;
  readonly settle: (verdict: FirstFactorVerdict) => void;
}

function createPeer(
  { address, secret: secretText, timeoutMs, messageAuthenticator }: FirstFactorServer,
  { open, clock, random, log }: {
    open: (hostname: string) => DatagramSocket;
    clock: Clock;
    random: Random;
    log: Log;
  },
): Peer {
  const secret = new SharedSecret(secretText);
  const socket = open(address.hostname.includes(":") ? "::" : "0.0.0.0");
  const asked: (Asked | undefined)[] = new Array(256).fill(undefined);
  const writer = new PacketWriter();
  const to: Deno.NetAddr = { transport: "udp", ...address };
  let next = 0;
  /** Whether an answer without Message-Authenticator is ignored: it can be forged on the way (CVE-2024-3596). */
  let mustSign = messageAuthenticator === "require";
  let hasWarned = false;
  let open_ = true;

  const receiveAll = async (): Promise<void> => {
    const buffer = new Uint8Array(4096);
    while (open_) {
      try {
        const [octets] = await socket.receive(buffer);
        take(octets);
      } catch (fault) {
        if (!open_) return;
        // "Connection refused" surfaces here on some hosts; the deadline of each request decides.
        log.debug("the first-factor socket reported a fault", { fault: String(fault) });
        await new Promise<void>((resolve) => void clock.after(10, resolve));
      }
    }
  };
  void receiveAll();

  function take(octets: Uint8Array): void {
    if (octets.length < HEADER_OCTETS) return;
    const waiting = asked[octets[1] as number];
    const length = ((octets[2] as number) << 8) | (octets[3] as number);
    if (waiting === undefined || length < HEADER_OCTETS || length > octets.length) return;
    const reply = octets.slice(0, length);
    if (!secret.isAnswerTo(reply, waiting.authenticator)) return;
    const signature = findMessageAuthenticator(reply);
    const place = signature === null ? null : { ...signature, lengthOctets: length };
    if (place === null && mustSign) return warnUnsigned();
    if (place !== null && !secret.isAuthentic(reply, place, waiting.authenticator)) return;
    // In the mode "auto", a server that signed once must sign from then on.
    mustSign ||= place !== null;
    const code = reply[0];
    if (code === PACKET_CODES["Access-Accept"].code) return waiting.settle("right");
    if (code === PACKET_CODES["Access-Reject"].code) return waiting.settle("wrong");
    log.warn("the first-factor server answered with a challenge, which is not supported there", {
      server: address.hostname,
    });
    waiting.settle("unavailable");
  }

  function warnUnsigned(): void {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(
      "an answer of the first-factor server has no Message-Authenticator and is ignored: update that server, or set " +
        'first_factor_server.message_authenticator = "auto"',
      { server: address.hostname },
    );
  }

  function freeIdentifier(): number | null {
    for (let i = 0; i < 256; i++) {
      const identifier = (next + i) & 0xff;
      if (asked[identifier] !== undefined) continue;
      next = identifier + 1;
      return identifier;
    }
    return null;
  }

  function write(
    identifier: number,
    authenticator: Uint8Array,
    userName: string,
    password: Uint8Array,
  ): Uint8Array {
    secret.beginSigned(writer, PACKET_CODES["Access-Request"].code, identifier);
    writer.attribute(typeOf("User-Name"), new TextEncoder().encode(userName));
    writer.attribute(typeOf("User-Password"), secret.hidePassword(password, authenticator));
    writer.attribute(typeOf("NAS-Identifier"), new TextEncoder().encode("countersign"));
    return secret.signRequest(writer, authenticator);
  }

  return {
    isFor: (server) =>
      server.secret === secretText && server.timeoutMs === timeoutMs &&
      server.messageAuthenticator === messageAuthenticator,
    ask(userName, password) {
      const identifier = freeIdentifier();
      if (identifier === null) return Promise.resolve<FirstFactorVerdict>("busy");
      const authenticator = random.bytes(16);
      const packet = write(identifier, authenticator, userName, password);
      return new Promise((resolve) => {
        let timer: CancelTimer = () => {};
        const settle = (verdict: FirstFactorVerdict): void => {
          timer();
          asked[identifier] = undefined;
          resolve(verdict);
        };
        asked[identifier] = { authenticator, settle };
        const send = (triesLeft: number): void => {
          if (triesLeft === 0) {
            log.warn("the first-factor server does not answer", { server: address.hostname, timeoutMs });
            return settle("unavailable");
          }
          socket.send(packet, to).catch((fault: unknown) =>
            log.warn("the first-factor server cannot be reached", {
              server: address.hostname,
              fault: String(fault),
            })
          );
          timer = clock.after(timeoutMs / TRIES, () => send(triesLeft - 1));
        };
        send(TRIES);
      });
    },
    close() {
      open_ = false;
      socket.close();
    },
  };
}
