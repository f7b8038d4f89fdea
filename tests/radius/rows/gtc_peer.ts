// A user's device with EAP-GTC, and the RADIUS client between it and the gateway (RFC 3579 §2.1, RFC 3748 §4). Uses no code of the gateway.

import type { RequestParts } from "../../support/radius_packets.ts";
import type { Answer, createLogin, Login } from "./login.ts";

export const EAP = { identity: 1, notification: 2, nak: 3, md5: 4, gtc: 6 } as const;

/** The EAP packet of a reply. `type` and `text` are those of a Request. */
export interface EapReply {
  readonly kind: "request" | "success" | "failure" | "none";
  readonly identifier: number;
  readonly type: number;
  readonly text: string;
  /** How many EAP-Message attributes carry it. */
  readonly attributes: number;
}

export interface GtcPeer {
  readonly login: Login;
  /** Sends EAP-Response/Identity, without State. */
  identify(identity?: string, more?: RequestParts): Promise<Answer>;
  /** Answers the last EAP-Request. */
  type(text: string, more?: RequestParts): Promise<Answer>;
  /** Builds an answer, with another EAP type or Identifier if one is given. */
  build(
    octets: string | Uint8Array,
    change?: { type?: number; identifier?: number; more?: RequestParts },
  ): ReturnType<Login["build"]>;
}

/** @param open opens a login of the client */
export function createGtcPeer(
  open: (who: Parameters<typeof createLogin>[1]) => Login,
  who: Parameters<typeof createLogin>[1],
): GtcPeer {
  const login = open(who);
  let identifier = 41;
  const exchange = async (request: ReturnType<Login["build"]>): Promise<Answer> => {
    const answer = await login.exchange(request);
    const eap = eapOf(answer);
    if (eap.kind === "request") identifier = eap.identifier;
    return answer;
  };
  const build: GtcPeer["build"] = (octets, { type = EAP.gtc, identifier: other, more } = {}) =>
    login.build("", withEap(responsePacket(other ?? identifier, type, octets), more));
  return {
    login,
    build,
    identify: (identity = login.user, more) =>
      exchange(login.buildStart("", withEap(responsePacket(identifier, EAP.identity, identity), more))),
    type: (text, more) => exchange(build(text, more === undefined ? {} : { more })),
  };
}

/** The parts of a request with an EAP packet and no password. */
export function withEap(eap: Uint8Array, more: RequestParts = {}): RequestParts {
  const parts: { type: number; value: Uint8Array }[] = [];
  for (let at = 0; at < eap.length || at === 0; at += 253) {
    parts.push({ type: 79, value: eap.subarray(at, at + 253) });
  }
  const { password: _none, ...others } = { password: undefined, ...more };
  return { ...others, password: undefined, more: [...more.more ?? [], ...parts] } as RequestParts;
}

export function responsePacket(identifier: number, type: number, octets: string | Uint8Array): Uint8Array {
  const data = typeof octets === "string" ? new TextEncoder().encode(octets) : octets;
  const length = 5 + data.length;
  return Uint8Array.of(2, identifier, length >> 8, length & 0xff, type, ...data);
}

const KINDS: Readonly<Record<number, EapReply["kind"]>> = { 1: "request", 3: "success", 4: "failure" };

/** The EAP packet of a reply; the kind is `none` if it is missing or malformed. */
export function eapOf({ attributes }: Pick<Answer, "attributes">): EapReply {
  const parts = attributes.filter(({ type }) => type === 79).map(({ value }) => value);
  const octets = Uint8Array.from(parts.flatMap((part) => [...part]));
  const [code = 0, identifier = 0, high = 0, low = 0, type = 0] = octets;
  const isWhole = octets.length >= 4 && high * 256 + low === octets.length;
  return {
    kind: isWhole ? KINDS[code] ?? "none" : "none",
    ...{ identifier, type },
    text: new TextDecoder().decode(octets.subarray(5)),
    attributes: parts.length,
  };
}
