// A NAS that answers Disconnect-Requests (RFC 5176), for tests. It computes all digests by itself.

import { createHash, createHmac } from "node:crypto";

/** Its behaviour for a request. A number is the Error-Cause of a Disconnect-NAK. */
export type NasConduct =
  | "ack"
  | "signed_ack"
  | "nak_without_cause"
  | "silent"
  | "wrong_secret"
  | "wrong_identifier"
  | "wrong_message_authenticator"
  | "other_source"
  | "other_code"
  | number;

/** A request that arrived. */
export interface DisconnectAsked {
  readonly identifier: number;
  /** The values of the attributes in hexadecimal, by type. */
  readonly attributes: ReadonlyMap<number, readonly string[]>;
  /** Whether both authenticators are right (RFC 5176 §2.3, §3.4), and Message-Authenticator is the first attribute. */
  readonly isSigned: boolean;
  readonly hex: string;
}

export interface DisconnectNas extends Disposable {
  readonly port: number;
  /** One entry for each datagram. */
  readonly asked: readonly DisconnectAsked[];
  /** By User-Name or Acct-Session-Id; others get an ACK. */
  readonly conduct: Map<string, NasConduct>;
}

const CODES = { request: 40, ack: 41, nak: 42, coaAck: 44 } as const;
const TYPES = { userName: 1, session: 44, messageAuthenticator: 80, errorCause: 101 } as const;
const HEADER_OCTETS = 20;

/** Starts it on a free port of the loopback interface. */
export function startDisconnectNas(secret: string): DisconnectNas {
  const listen = () => Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const [socket, other] = [listen(), listen()];
  const asked: DisconnectAsked[] = [];
  const conduct = new Map<string, NasConduct>();
  const serve = async () => {
    for (;;) {
      const [request, from] = await socket.receive(new Uint8Array(4200));
      const read = readRequest(request, secret);
      asked.push(read);
      const names = [TYPES.userName, TYPES.session].map((type) => read.attributes.get(type)?.[0] ?? "");
      const conducts = names.map((hex) => conduct.get(new TextDecoder().decode(Uint8Array.fromHex(hex))));
      const how = conducts.find((one) => one !== undefined) ?? "ack";
      const answer = answerTo(request, { how, secret });
      if (answer !== null) await (how === "other_source" ? other : socket).send(answer, from);
    }
  };
  serve().catch((fault: unknown) => {
    if (!(fault instanceof Deno.errors.BadResource) && !(fault instanceof Deno.errors.Interrupted)) {
      throw fault;
    }
  });
  return {
    port: (socket.addr as Deno.NetAddr).port,
    asked,
    conduct,
    [Symbol.dispose]() {
      socket.close();
      other.close();
    },
  };
}

function readRequest(request: Uint8Array, secret: string): DisconnectAsked {
  const attributes = new Map<number, string[]>();
  let signatureAt = 0;
  for (let at = HEADER_OCTETS; at < request.length; at += request[at + 1] ?? 2) {
    const type = request[at] ?? 0;
    const value = request.slice(at + 2, at + (request[at + 1] ?? 2));
    if (type === TYPES.messageAuthenticator) signatureAt = at;
    attributes.set(type, [...attributes.get(type) ?? [], value.toHex()]);
  }
  const zeroed = request.slice();
  zeroed.fill(0, 4, HEADER_OCTETS);
  const authenticator = createHash("md5").update(zeroed).update(secret).digest("hex");
  const unsigned = zeroed.slice();
  unsigned.fill(0, signatureAt + 2, signatureAt + 18);
  const signature = createHmac("md5", secret).update(unsigned).digest("hex");
  return {
    identifier: request[1] ?? 0,
    attributes,
    isSigned: request[0] === CODES.request && signatureAt === HEADER_OCTETS &&
      request.slice(4, HEADER_OCTETS).toHex() === authenticator &&
      attributes.get(TYPES.messageAuthenticator)?.[0] === signature,
    hex: request.toHex(),
  };
}

/** The answer of a NAS to a request; `null`: it is silent. */
export function answerTo(
  request: Uint8Array,
  { how, secret }: { how: NasConduct; secret: string },
): Uint8Array<ArrayBuffer> | null {
  if (how === "silent") return null;
  const isNak = typeof how === "number" || how === "nak_without_cause";
  const code = how === "other_code" ? CODES.coaAck : isNak ? CODES.nak : CODES.ack;
  const identifier = ((request[1] ?? 0) + (how === "wrong_identifier" ? 1 : 0)) % 256;
  const isSigned = how === "signed_ack" || how === "wrong_message_authenticator";
  const attributes = [
    ...(typeof how === "number" ? [TYPES.errorCause, 6, 0, 0, how >> 8, how & 0xff] : []),
    ...(isSigned ? [TYPES.messageAuthenticator, 18, ...new Uint8Array(16)] : []),
  ];
  const answer = Uint8Array.of(
    code,
    identifier,
    0,
    20 + attributes.length,
    ...request.slice(4, 20),
    ...attributes,
  );
  const own = how === "wrong_secret" ? "another secret" : secret;
  if (isSigned) {
    const key = how === "wrong_message_authenticator" ? "another secret" : own;
    answer.set(createHmac("md5", key).update(answer).digest(), answer.length - 16);
  }
  answer.set(createHash("md5").update(answer).update(own).digest(), 4);
  return answer;
}
