// A RADIUS server that accepts one password, as the first factor of a test. It uses the packets of the tests.

import { createHash, createHmac } from "node:crypto";
import { hidePassword } from "../../support/radius_packets.ts";

/** Its behaviour for a request. */
export type FirstFactorConduct = "judge" | "silent" | "challenge" | "wrong_secret" | "unsigned";

export interface FirstFactorServer extends Disposable {
  readonly port: number;
  /** Settings that make any client use it. */
  readonly toml: string;
  /** The User-Names that arrived, one entry per datagram. */
  readonly asked: readonly string[];
  conduct: FirstFactorConduct;
  /** The only right password. */
  password: string;
}

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
    [Symbol.dispose]: () => socket.close(),
  };
  const loop = async () => {
    for (;;) {
      try {
        const [request, from] = await socket.receive(new Uint8Array(4200));
        asked.push(new TextDecoder().decode(valueOf(request, 1)));
        const answer = answerTo(request, server);
        if (answer !== null) await socket.send(answer, from);
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

function valueOf(packet: Uint8Array, type: number): Uint8Array {
  for (let at = 20; at + 2 <= packet.length;) {
    const length = packet[at + 1] ?? 0;
    if (length < 2) break;
    if (packet[at] === type) return packet.slice(at + 2, at + length);
    at += length;
  }
  return new Uint8Array(0);
}

function reply(request: Uint8Array, code: number, secret: string): Uint8Array {
  const bytes = new Uint8Array(38);
  bytes.set([code, request[1] ?? 0, 0, bytes.length]);
  bytes.set(request.slice(4, 20), 4);
  bytes.set([80, 18], 20);
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
