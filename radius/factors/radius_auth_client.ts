// The first factor at another RADIUS server: PAP, forwarded with the shared secret of that server (RFC 2865 §2.3).

import type { FirstFactorServer } from "../../platform/client_settings.ts";
import type { Log } from "../../platform/log.ts";
import { type CancelTimer, type Clock, pauseFor, type Random } from "../../platform/runtime.ts";
import type { FirstFactorVerdict, FirstFactorVerifier, PasswordAttempt } from "../ports.ts";
import { findMessageAuthenticator, SharedSecret } from "../protocol/authenticity.ts";
import {
  HEADER_OCTETS,
  MAX_PASSWORD_OCTETS,
  MAX_VALUE_OCTETS,
  PACKET_CODES,
  PacketWriter,
} from "../protocol/packet.ts";
import { typeOf } from "../protocol/dictionary.ts";
import type { DatagramSocket } from "../server/server.ts";
import type { FirstFactorHealth } from "./first_factor_health.ts";

/** No user has this name. Any signed answer for it proves that the server has the right secret. */
const PROBE_NAME = "countersign-test";

/** Why an answer that was received is ignored. */
const OTHER_SECRET = ": an answer is not signed with this shared secret";

/** How often a request is sent before the server counts as unavailable. */
const TRIES = 3;

interface RadiusAuthClientDeps {
  /** The server of a client, or `null` if its first factor is not RADIUS. */
  readonly serverOf: (client: string) => FirstFactorServer | null;
  /** Opens a datagram socket on a free port. */
  readonly open: (hostname: string) => DatagramSocket;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly health: FirstFactorHealth;
}

export class RadiusAuthClient implements FirstFactorVerifier {
  readonly #deps: RadiusAuthClientDeps;
  readonly #peers = new Map<string, AuthServerPeer>();

  constructor(deps: RadiusAuthClientDeps) {
    this.#deps = deps;
  }

  /** Tests a server with a name that no user has. "right" and "wrong" both mean that it answers and knows the secret. */
  async probe(server: FirstFactorServer): Promise<FirstFactorVerdict> {
    const peer = new AuthServerPeer(server, this.#deps);
    try {
      const password = new TextEncoder().encode(this.#deps.random.bytes(8).toHex());
      return await peer.ask(PROBE_NAME, password);
    } finally {
      peer.close();
    }
  }

  async verify({ client, userName, password }: PasswordAttempt): Promise<FirstFactorVerdict> {
    const server = this.#deps.serverOf(client);
    if (server === null) return "unavailable";
    // Text that was not UTF-8 is longer now. No server knows a name or a password that is too long for its attribute.
    const nameOctets = new TextEncoder().encode(userName).length;
    if (nameOctets > MAX_VALUE_OCTETS || password.length > MAX_PASSWORD_OCTETS) return "unchecked";
    return await this.#peerOf(client, server).ask(userName, password);
  }

  close(): void {
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
  }

  #peerOf(client: string, server: FirstFactorServer): AuthServerPeer {
    const key = `${server.address.hostname} ${server.address.port} ${client}`;
    const known = this.#peers.get(key);
    if (known !== undefined && known.isFor(server)) return known;
    // The settings changed. Requests in progress end by their own deadline.
    known?.close();
    const peer = new AuthServerPeer(server, this.#deps);
    this.#peers.set(key, peer);
    return peer;
  }
}

interface PendingRequest {
  readonly authenticator: Uint8Array;
  readonly settle: (verdict: FirstFactorVerdict) => void;
}

/** One server with its socket and its requests by Identifier. */
class AuthServerPeer {
  readonly #server: FirstFactorServer;
  readonly #deps: RadiusAuthClientDeps;
  readonly #secret: SharedSecret;
  readonly #socket: DatagramSocket;
  readonly #pending: (PendingRequest | undefined)[] = new Array(256).fill(undefined);
  readonly #writer = new PacketWriter();
  #nextIdentifier = 0;
  /** Whether answers without Message-Authenticator are ignored, because they can be forged in transit (CVE-2024-3596). */
  #mustSign: boolean;
  #hasWarned = false;
  /** What the socket or the last ignored answer says about requests without an answer, behind a colon; or "". */
  #lastFault = "";
  /** Clients that share a server and its secret share its health, too. */
  readonly #key: string;
  #isOpen = true;

  constructor(server: FirstFactorServer, deps: RadiusAuthClientDeps) {
    this.#server = server;
    this.#deps = deps;
    this.#secret = new SharedSecret(server.secret);
    this.#key = `radius ${server.address.hostname} ${server.address.port} ${server.secret}`;
    this.#mustSign = server.messageAuthenticator === "require";
    this.#socket = deps.open(server.address.hostname.includes(":") ? "::" : "0.0.0.0");
    void this.#receiveAll();
  }

  isFor({ secret, timeoutMs, messageAuthenticator }: FirstFactorServer): boolean {
    return secret === this.#server.secret && timeoutMs === this.#server.timeoutMs &&
      messageAuthenticator === this.#server.messageAuthenticator;
  }

  ask(userName: string, password: Uint8Array): Promise<FirstFactorVerdict> {
    const identifier = this.#freeIdentifier();
    if (identifier === null) return Promise.resolve<FirstFactorVerdict>("busy");
    const authenticator = this.#deps.random.bytes(16);
    const packet = this.#write({ identifier, authenticator, userName, password });
    return new Promise((resolve) => {
      let timer: CancelTimer = () => {};
      const settle = (verdict: FirstFactorVerdict): void => {
        timer();
        this.#pending[identifier] = undefined;
        resolve(verdict);
      };
      this.#pending[identifier] = { authenticator, settle };
      const { timeoutMs } = this.#server;
      const send = (triesLeft: number): void => {
        if (triesLeft === 0) {
          this.#failed(`no answer within ${timeoutMs} ms${this.#lastFault}`);
          return settle("unavailable");
        }
        this.#send(packet);
        timer = this.#deps.clock.after(timeoutMs / TRIES, () => send(triesLeft - 1));
      };
      send(TRIES);
    });
  }

  close(): void {
    this.#isOpen = false;
    this.#socket.close();
  }

  #send(packet: Uint8Array): void {
    const { address } = this.#server;
    this.#socket.send(packet, { transport: "udp", ...address }).catch((fault: unknown) => {
      this.#lastFault = `: ${fault}`;
    });
  }

  async #receiveAll(): Promise<void> {
    const buffer = new Uint8Array(4096);
    while (this.#isOpen) {
      try {
        const [octets] = await this.#socket.receive(buffer);
        this.#take(octets);
      } catch (fault) {
        if (!this.#isOpen) return;
        // Some hosts report "Connection refused" here. Each request continues until its own deadline.
        this.#lastFault = `: ${fault}`;
        await pauseFor(this.#deps.clock, 10);
      }
    }
  }

  #take(octets: Uint8Array): void {
    if (octets.length < HEADER_OCTETS) return;
    const request = this.#pending[octets[1] as number];
    const length = ((octets[2] as number) << 8) | (octets[3] as number);
    if (request === undefined || length < HEADER_OCTETS || length > octets.length) return;
    const reply = octets.slice(0, length);
    if (!this.#secret.isAnswerTo(reply, request.authenticator)) {
      this.#lastFault = OTHER_SECRET;
      return;
    }
    const signature = findMessageAuthenticator(reply);
    const place = signature === null ? null : { ...signature, lengthOctets: length };
    if (place === null && this.#mustSign) return this.#warnUnsigned();
    if (place !== null && !this.#secret.isAuthentic(reply, place, request.authenticator)) {
      this.#lastFault = OTHER_SECRET;
      return;
    }
    // In the mode "auto", a server that signed once must sign from then on.
    this.#mustSign ||= place !== null;
    const code = reply[0];
    const verdict = code === PACKET_CODES["Access-Accept"].code
      ? "right"
      : code === PACKET_CODES["Access-Reject"].code
      ? "wrong"
      : "unavailable";
    if (verdict === "unavailable") this.#failed("it answered with a challenge, which is not supported there");
    else this.#works();
    request.settle(verdict);
  }

  #failed(fault: string): void {
    const { hostname: server, port } = this.#server.address;
    this.#deps.health.failed(this.#key, { first_factor: "radius", server, port }, fault);
  }

  #works(): void {
    this.#lastFault = "";
    this.#deps.health.works(this.#key);
  }

  #warnUnsigned(): void {
    this.#lastFault = ": its answers have no Message-Authenticator";
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#deps.log.warn(
      "an answer of the first-factor server has no Message-Authenticator and is ignored: update that server, or set " +
        'first_factor_server.message_authenticator = "auto"',
      { server: this.#server.address.hostname },
    );
  }

  #freeIdentifier(): number | null {
    for (let i = 0; i < 256; i++) {
      const identifier = (this.#nextIdentifier + i) & 0xff;
      if (this.#pending[identifier] !== undefined) continue;
      this.#nextIdentifier = identifier + 1;
      return identifier;
    }
    return null;
  }

  #write(
    { identifier, authenticator, userName, password }: {
      identifier: number;
      authenticator: Uint8Array;
      userName: string;
      password: Uint8Array;
    },
  ): Uint8Array {
    this.#secret.beginSigned(this.#writer, PACKET_CODES["Access-Request"].code, identifier);
    this.#writer.attribute(typeOf("User-Name"), new TextEncoder().encode(userName));
    this.#writer.attribute(typeOf("User-Password"), this.#secret.hidePassword(password, authenticator));
    this.#writer.attribute(typeOf("NAS-Identifier"), new TextEncoder().encode("countersign"));
    return this.#secret.signRequest(this.#writer, authenticator);
  }
}
