// A first-factor server for relayed requests, as a script of tests: CHAP, MS-CHAP, EAP methods that carry a name, and a tunnel. It checks CHAP with
// MD5. The other proofs are right if they consist of the octet RIGHT. Uses node:crypto and no code of the gateway.

import { createHash, createHmac } from "node:crypto";
import { type Attribute, CODES, hideSalted } from "./radius_packets.ts";

export const RIGHT = 0x11;
const SECRET = "relay-server-secret-of-tests";
const EAP = { identity: 1, nak: 3, md5: 4, gtc: 6, tunnel: 25, msChap: 26 } as const;
const MICROSOFT = [0, 0, 1, 55];

/** A request that arrived. */
export interface RelayedRequest {
  readonly identifier: number;
  readonly authenticator: Uint8Array;
  readonly attributes: readonly Attribute[];
  readonly source: number;
  /** Whether its Message-Authenticator is right and first. */
  readonly isSigned: boolean;
}

export type EapScript = "md5" | "gtc" | "ms_chap" | "tunnel";

export interface RelayServer extends Disposable {
  readonly port: number;
  readonly secret: string;
  readonly toml: string;
  readonly requests: readonly RelayedRequest[];
  /** The EAP method that it offers. */
  script: EapScript;
  /** The User-Name of an Access-Accept; absent: none. */
  acceptName: string | undefined;
  /** Attributes of each Access-Accept, in front of keys. */
  attributes: readonly Attribute[];
  /** The octets of the State of a challenge. */
  stateOctets: number;
  /** Answers in place of the script; `null`: not at all. */
  judge: ((request: RelayedRequest) => RelayAnswer | null | Promise<RelayAnswer | null>) | null;
  /** Whether it answers. */
  isSilent: boolean;
  /** Whether it answers MS-CHAP with a question. */
  isPrompting: boolean;
  /** The password of CHAP. */
  password: string;
  /** Rounds of the tunnel. */
  rounds: number;
  /** The octets of an EAP-Request of the tunnel. */
  fragmentOctets: number;
}

/** The MPPE keys of each Access-Accept. */
export const MPPE_KEYS = {
  send: new Uint8Array(32).fill(0xa5),
  receive: new Uint8Array(32).fill(0x5a),
} as const;

/** Starts it on a free port of the loopback interface. @param options.more settings after those of [radius] */
export function startRelayServer(
  { script = "ms_chap", more = "", port: wanted = 0 }: { script?: EapScript; more?: string; port?: number } =
    {},
): RelayServer {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: wanted });
  const { port } = socket.addr as Deno.NetAddr;
  const requests: RelayedRequest[] = [];
  const server: RelayServer = {
    port,
    secret: SECRET,
    toml: `[radius]
first_factor = "radius"
first_factor_server.address = "127.0.0.1:${port}"
first_factor_server.secret = "${SECRET}"
first_factor_server.timeout_ms = 3000
hold_s = 20
${more}
`,
    requests,
    script,
    acceptName: undefined,
    attributes: [],
    stateOctets: 16,
    judge: null,
    isSilent: false,
    isPrompting: false,
    password: "open sesame",
    rounds: 2,
    fragmentOctets: 600,
    [Symbol.dispose]: () => socket.close(),
  };
  const answer = async (request: RelayedRequest, from: Deno.Addr) => {
    const given = server.judge === null ? answerTo(request, server) : await server.judge(request);
    if (given !== null) await socket.send(writeAnswer(request, given), from).catch(() => undefined);
  };
  const loop = async () => {
    for (;;) {
      try {
        const [octets, from] = await socket.receive(new Uint8Array(4200));
        const request = readRequest(octets, (from as Deno.NetAddr).port);
        requests.push(request);
        if (!server.isSilent) void answer(request, from);
      } catch (fault) {
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        throw fault;
      }
    }
  };
  void loop();
  return server;
}

/** The values of a type. */
export function valuesOf(attributes: readonly Attribute[], type: number): Uint8Array[] {
  return attributes.filter((one) => one.type === type).map(({ value }) => value);
}

/** The values of a type of Microsoft (RFC 2548). */
export function microsoftOf(attributes: readonly Attribute[], type: number): Uint8Array[] {
  return valuesOf(attributes, 26).filter((value) =>
    MICROSOFT.every((octet, at) => value[at] === octet) && value[4] === type
  )
    .map((value) => value.subarray(6));
}

export function microsoft(type: number, value: Uint8Array): Attribute {
  return { type: 26, value: Uint8Array.of(...MICROSOFT, type, value.length + 2, ...value) };
}

/** The EAP packet of attributes. */
export function eapOf(attributes: readonly Attribute[]): Uint8Array {
  return Uint8Array.from(valuesOf(attributes, 79).flatMap((value) => [...value]));
}

/** EAP-Message attributes (RFC 3579 §3.1). */
export function eapMessages(eap: Uint8Array): Attribute[] {
  const parts: Attribute[] = [];
  for (let at = 0; at < eap.length; at += 253) parts.push({ type: 79, value: eap.slice(at, at + 253) });
  return parts;
}

/** An EAP packet (RFC 3748 §4). */
export function eapPacket(
  code: number,
  identifier: number,
  type?: number,
  data: Iterable<number> = [],
): Uint8Array {
  const body = type === undefined ? [] : [type, ...data];
  const length = body.length + 4;
  return Uint8Array.of(code, identifier, length >> 8, length & 0xff, ...body);
}

function readRequest(octets: Uint8Array, source: number): RelayedRequest {
  const attributes: Attribute[] = [];
  for (let at = 20; at + 2 <= octets.length;) {
    const end = at + (octets[at + 1] ?? 2);
    attributes.push({ type: octets[at] ?? 0, value: octets.slice(at + 2, end) });
    at = end;
  }
  const zeroed = octets.slice();
  zeroed.fill(0, 22, 38);
  const expected = createHmac("md5", SECRET).update(zeroed).digest();
  const isSigned = attributes[0]?.type === 80 && expected.equals(octets.subarray(22, 38));
  return { identifier: octets[1] ?? 0, authenticator: octets.slice(4, 20), attributes, source, isSigned };
}

export interface RelayAnswer {
  readonly code: number;
  readonly attributes: readonly Attribute[];
  readonly hasKeys?: boolean;
}

function writeAnswer(
  request: RelayedRequest,
  { code, attributes, hasKeys = false }: RelayAnswer,
): Uint8Array {
  const key = { secret: SECRET, authenticator: request.authenticator };
  const keys = hasKeys
    ? [
      microsoft(16, hideSalted(MPPE_KEYS.send, { ...key, salt: Uint8Array.of(0x80, 1) })),
      microsoft(17, hideSalted(MPPE_KEYS.receive, { ...key, salt: Uint8Array.of(0x80, 2) })),
    ]
    : [];
  const body = [...attributes, ...keys].flatMap(({ type, value }) => [type, value.length + 2, ...value]);
  const octets = new Uint8Array(38 + body.length);
  octets.set([code, request.identifier, octets.length >> 8, octets.length & 0xff]);
  octets.set(request.authenticator, 4);
  octets.set([80, 18], 20);
  octets.set(body, 38);
  octets.set(createHmac("md5", SECRET).update(octets).digest(), 22);
  octets.set(createHash("md5").update(octets).update(SECRET).digest(), 4);
  return octets;
}

function answerTo(request: RelayedRequest, server: RelayServer): RelayAnswer {
  const { attributes } = request;
  const [chap] = valuesOf(attributes, 3);
  if (chap !== undefined) return judgeChap(chap, request, server);
  const [response] = [...microsoftOf(attributes, 25), ...microsoftOf(attributes, 1)];
  if (response !== undefined) return judgeMsChap(response, server);
  return judgeEap(eapOf(attributes), request, server);
}

function accept(server: RelayServer, attributes: readonly Attribute[], hasKeys: boolean): RelayAnswer {
  const name = server.acceptName === undefined
    ? []
    : [{ type: 1, value: new TextEncoder().encode(server.acceptName) }];
  return { code: CODES.accessAccept, attributes: [...name, ...server.attributes, ...attributes], hasKeys };
}

function judgeChap(
  chap: Uint8Array,
  { attributes, authenticator }: RelayedRequest,
  server: RelayServer,
): RelayAnswer {
  const challenge = valuesOf(attributes, 60)[0] ?? authenticator;
  const expected = createHash("md5").update(chap.subarray(0, 1)).update(server.password).update(challenge)
    .digest();
  if (expected.equals(chap.subarray(1))) return accept(server, [], false);
  return { code: CODES.accessReject, attributes: [{ type: 18, value: new TextEncoder().encode("Wrong.") }] };
}

function judgeMsChap(response: Uint8Array, server: RelayServer): RelayAnswer {
  const ident = response[0] ?? 0;
  if (server.isPrompting) {
    return { code: CODES.accessChallenge, attributes: [{ type: 24, value: Uint8Array.of(1) }] };
  }
  if (response[49] === RIGHT) {
    const success = new TextEncoder().encode(`S=${"AB".repeat(20)}`);
    return accept(server, [microsoft(26, Uint8Array.of(ident, ...success))], true);
  }
  const error = new TextEncoder().encode(`E=691 R=1 C=${"0".repeat(32)} V=3 M=Wrong`);
  return { code: CODES.accessReject, attributes: [microsoft(2, Uint8Array.of(ident, ...error))] };
}

const ROUND_AT = 1;

/** State: its first octets are the rounds so far and a mark, the others fill it. */
function challenge(server: RelayServer, round: number, eap: Uint8Array): RelayAnswer {
  const state = new Uint8Array(server.stateOctets).fill(0xee);
  state[ROUND_AT] = round;
  const timeout = { type: 27, value: Uint8Array.of(0, 0, 0, 30) };
  return {
    code: CODES.accessChallenge,
    attributes: [...eapMessages(eap), { type: 24, value: state }, timeout],
  };
}

function judgeEap(eap: Uint8Array, request: RelayedRequest, server: RelayServer): RelayAnswer {
  const [, identifier = 0, , , type] = eap;
  const next = (identifier + 1) & 0xff;
  const round = valuesOf(request.attributes, 24)[0]?.[ROUND_AT] ?? 0;
  if (type === EAP.identity) return challenge(server, 1, firstRequest(server.script, next, server));
  const rejected = { code: CODES.accessReject, attributes: eapMessages(eapPacket(4, identifier)) };
  const accepted = () =>
    accept(server, eapMessages(eapPacket(3, identifier)), type === EAP.tunnel || type === EAP.msChap);
  if (round === 0) return rejected;
  if (type === EAP.tunnel) {
    if (round < server.rounds) {
      return challenge(
        server,
        round + 1,
        eapPacket(1, next, EAP.tunnel, new Uint8Array(server.fragmentOctets).fill(7)),
      );
    }
    return eap.at(-1) === RIGHT ? accepted() : rejected;
  }
  if (type === EAP.md5) return eap[5] === 16 && eap[6] === RIGHT ? accepted() : rejected;
  if (type === EAP.gtc) {
    return new TextDecoder().decode(eap.subarray(5)) === server.password ? accepted() : rejected;
  }
  if (type !== EAP.msChap) return rejected;
  return judgeEapMsChap(eap, { server, round, next, accepted, rejected });
}

function judgeEapMsChap(
  eap: Uint8Array,
  { server, round, next, accepted, rejected }: {
    server: RelayServer;
    round: number;
    next: number;
    accepted: () => RelayAnswer;
    rejected: RelayAnswer;
  },
): RelayAnswer {
  const opCode = eap[5];
  if (opCode === 3) return round === 2 ? accepted() : rejected;
  if (opCode !== 2) return rejected;
  const isRight = eap[10] === RIGHT;
  const message = new TextEncoder().encode(
    isRight ? `S=${"AB".repeat(20)}` : `E=691 R=0 C=${"0".repeat(32)} V=3`,
  );
  const data = [isRight ? 3 : 4, eap[6] ?? 0, 0, message.length + 4, ...message];
  return challenge(server, isRight ? 2 : 3, eapPacket(1, next, EAP.msChap, data));
}

function firstRequest(script: EapScript, identifier: number, server: RelayServer): Uint8Array {
  if (script === "md5") return eapPacket(1, identifier, EAP.md5, [16, ...new Uint8Array(16)]);
  if (script === "gtc") return eapPacket(1, identifier, EAP.gtc, new TextEncoder().encode("Password: "));
  if (script === "tunnel") {
    return eapPacket(1, identifier, EAP.tunnel, new Uint8Array(server.fragmentOctets).fill(7));
  }
  return eapPacket(1, identifier, EAP.msChap, [1, 9, 0, 21, 16, ...new Uint8Array(16)]);
}
