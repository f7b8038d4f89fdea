// A RADIUS server that accepts one password, as the first factor of a test. It uses the packets of the tests.

import { createHash, createHmac } from "node:crypto";
import { type Attribute, hidePassword } from "../../support/radius_packets.ts";

/** Its behaviour for a request. */
export type FirstFactorConduct = "judge" | "silent" | "challenge" | "wrong_secret" | "unsigned";

export interface FirstFactorServer extends Disposable {
  readonly port: number;
  /** Settings that make any client use it. */
  readonly toml: string;
  /**
   * The User-Names that arrived. A copy of an answered request gets the same answer and is not listed (RFC 5080 §2.2.2): on a busy machine, one
   * is sent before the answer arrives.
   */
  readonly asked: readonly string[];
  conduct: FirstFactorConduct;
  /** The only right password. */
  password: string;
  /** Answers instead of `conduct`, if it is set. */
  script: FirstFactorScript | null;
}

/** A reply by the attributes of the request and its password in clear. */
export type FirstFactorScript = (
  request: { readonly attributes: readonly Attribute[]; readonly password: string },
  key: { readonly secret: string; readonly authenticator: Uint8Array },
) => { readonly code: number; readonly attributes: readonly Attribute[] };

const SECRET = "first-factor-secret-of-tests";

/** Starts it on a free port of the loopback interface. */
export function startFirstFactorServer(
  { password, conduct = "judge", timeoutMs = 900 }: {
    password: string;
    conduct?: FirstFactorConduct;
    /** How long the gateway waits for its answer, by the gateway's clock. */
    timeoutMs?: number;
  },
): FirstFactorServer {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { port } = socket.addr as Deno.NetAddr;
  const asked: string[] = [];
  const server: FirstFactorServer = {
    port,
    toml: `[radius]
first_factor = "radius"
first_factor_server.address = "127.0.0.1:${port}"
first_factor_server.secret = "${SECRET}"
first_factor_server.timeout_ms = ${timeoutMs}
`,
    asked,
    conduct,
    password,
    script: null,
    [Symbol.dispose]: () => socket.close(),
  };
  /** By the Request Authenticator. */
  const answers = new Map<string, Uint8Array>();
  const loop = async () => {
    for (;;) {
      try {
        const [request, from] = await socket.receive(new Uint8Array(4200));
        const key = request.slice(4, 20).toHex();
        const known = answers.get(key);
        if (known === undefined) asked.push(new TextDecoder().decode(valueOf(request, 1)));
        const answer = known ?? answerTo(request, server);
        if (answer === null) continue;
        answers.set(key, answer);
        await socket.send(answer, from);
      } catch (fault) {
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        throw fault;
      }
    }
  };
  void loop();
  return server;
}

function answerTo(request: Uint8Array, server: FirstFactorServer): Uint8Array | null {
  if (server.script !== null) {
    const key = { secret: SECRET, authenticator: request.slice(4, 20) };
    const password = revealPassword(valueOf(request, 2), key);
    const { code, attributes } = server.script({ attributes: attributesOf(request), password }, key);
    return reply(request, code, SECRET, attributes);
  }
  if (server.conduct === "silent") return null;
  if (server.conduct === "challenge") return reply(request, 11, SECRET);
  const hidden = hidePassword(new TextEncoder().encode(server.password), {
    secret: SECRET,
    authenticator: request.slice(4, 20),
  });
  const isRight = hidden.toHex() === valueOf(request, 2).toHex();
  const code = isRight ? 2 : 3;
  if (server.conduct === "unsigned") return unsignedReply(request, code, SECRET);
  return reply(request, code, server.conduct === "wrong_secret" ? "another-secret" : SECRET);
}

function attributesOf(packet: Uint8Array): Attribute[] {
  const list: Attribute[] = [];
  for (let at = 20; at + 2 <= packet.length;) {
    const length = packet[at + 1] ?? 0;
    if (length < 2) break;
    list.push({ type: packet[at] ?? 0, value: packet.slice(at + 2, at + length) });
    at += length;
  }
  return list;
}

function valueOf(packet: Uint8Array, type: number): Uint8Array {
  return attributesOf(packet).find((one) => one.type === type)?.value ?? new Uint8Array(0);
}

/** RFC 2865 §5.2. */
function revealPassword(hidden: Uint8Array, key: { secret: string; authenticator: Uint8Array }): string {
  let previous = key.authenticator;
  const plain: number[] = [];
  for (let at = 0; at < hidden.length; at += 16) {
    const mask = createHash("md5").update(key.secret).update(previous).digest();
    previous = hidden.slice(at, at + 16);
    plain.push(...previous.map((octet, i) => octet ^ (mask[i] ?? 0)));
  }
  return new TextDecoder().decode(Uint8Array.from(plain)).replace(/\0+$/, "");
}

function reply(
  request: Uint8Array,
  code: number,
  secret: string,
  attributes: readonly Attribute[] = [],
): Uint8Array {
  const more = attributes.flatMap(({ type, value }) => [type, value.length + 2, ...value]);
  const bytes = new Uint8Array(38 + more.length);
  bytes.set([code, request[1] ?? 0, bytes.length >> 8, bytes.length & 0xff]);
  bytes.set(request.slice(4, 20), 4);
  bytes.set([80, 18], 20);
  bytes.set(more, 38);
  bytes.set(createHmac("md5", secret).update(bytes).digest(), 22);
  bytes.set(createHash("md5").update(bytes).update(secret).digest(), 4);
  return bytes;
}

/** Like the answers of servers before Message-Authenticator was required. */
function unsignedReply(request: Uint8Array, code: number, secret: string): Uint8Array {
  const bytes = new Uint8Array(20);
  bytes.set([code, request[1] ?? 0, 0, bytes.length]);
  bytes.set(request.slice(4, 20), 4);
  bytes.set(createHash("md5").update(bytes).update(secret).digest(), 4);
  return bytes;
}
