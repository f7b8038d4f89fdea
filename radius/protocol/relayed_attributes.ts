// The attributes between a client and its first-factor server: those of a request with a password that the server receives, and those of its answer
// that the client receives.

import {
  type ClearAttribute,
  clearIdentity,
  identityOfName,
  isHidden,
  readClearAttributes,
} from "./clear_attributes.ts";
import { type AttributeName, typeOf } from "./dictionary.ts";
import type { ReplyName } from "./packet.ts";

const identities = (...names: AttributeName[]): string[] => names.map((name) => String(typeOf(name)));
const ofMicrosoft = (...types: number[]): string[] => types.map((type) => `26.311.${type}`);

/** RFC 2865 §5.24, §5.33 and RFC 3579 §3.2: they belong to one hop. */
const OF_ONE_HOP = identities("State", "Proxy-State", "Message-Authenticator");
/** RFC 2548 §2 except keys and policies: they answer a request with MS-CHAP. */
const MS_CHAP = ofMicrosoft(1, 2, 3, 4, 5, 6, 10, 11, 25, 26, 27);
/** Not in a request with a password. */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...OF_ONE_HOP,
  ...MS_CHAP,
  ...identities("User-Name", "User-Password", "CHAP-Password", "CHAP-Challenge", "EAP-Message"),
]);
/** Not in the answer to a request with a password. Keys of MS-CHAP have no use there. */
const NOT_RETURNED: ReadonlySet<string> = new Set([
  ...OF_ONE_HOP,
  ...MS_CHAP,
  ...ofMicrosoft(12),
  ...identities("EAP-Message", "Reply-Message", "Prompt"),
]);
const REPLY_MESSAGE = typeOf("Reply-Message");
/** The user cannot answer a challenge without them. */
const OF_QUESTION: ReadonlySet<number> = new Set([typeOf("State"), REPLY_MESSAGE, typeOf("Prompt")]);
/** RFC 2865 §5.44: the other attributes that a challenge may have. */
const IN_CHALLENGE: ReadonlySet<number> = new Set([
  typeOf("Vendor-Specific"),
  typeOf("Session-Timeout"),
  typeOf("Idle-Timeout"),
]);

/** RFC 2865 §4.1: an Access-Request has one of these. */
const NAS_NAMES: ReadonlySet<number> = new Set([
  typeOf("NAS-IP-Address"),
  typeOf("NAS-Identifier"),
  typeOf("NAS-IPv6-Address"),
]);

const encoder = new TextEncoder();
const NO_SECRET = { secret: null, authenticator: new Uint8Array(0) };

/** A request with a password that a first-factor server checks. */
interface PasswordRequest {
  readonly userName: string;
  readonly password: Uint8Array;
  /** The client's request: its other attributes are copied, in order. Absent: there is none. */
  readonly request?: Uint8Array | undefined;
  /** The challenge of the server that the password answers. */
  readonly challenge?: { readonly attributes: readonly ClearAttribute[] } | null | undefined;
}

/** The attributes that the first-factor server receives, without Message-Authenticator. */
export function passwordRequestAttributes(
  { userName, password, request, challenge }: PasswordRequest,
): readonly ClearAttribute[] {
  // No hidden value is sent on, so the secret of the client is not needed.
  const read = request === undefined ? null : readClearAttributes(request, NO_SECRET);
  const copied = read?.ok
    ? read.value.filter((one) => !NOT_SENT.has(clearIdentity(one)) && !isHidden(one))
    : [];
  return [
    { type: typeOf("User-Name"), value: encoder.encode(userName) },
    { type: typeOf("User-Password"), value: password },
    ...copied,
    ...copied.some(({ type }) => NAS_NAMES.has(type))
      ? []
      : [{ type: typeOf("NAS-Identifier"), value: encoder.encode("countersign") }],
    ...challenge?.attributes.filter(({ type }) => type === typeOf("State")) ?? [],
  ];
}

/**
 * The attributes of an answer that the login keeps: those that `reply_from_first_factor` names; of a Reject only Reply-Message; of a challenge also
 * what its answer needs.
 *
 * @param setting `all` or `none` alone, or names of attributes
 */
export function keptReply<
  T extends { readonly code: ReplyName; readonly attributes: readonly ClearAttribute[] },
>(
  answer: T,
  setting: readonly string[],
): T {
  const isWanted = wantedBy(setting);
  const isKept = (attribute: ClearAttribute): boolean => {
    if (answer.code === "Access-Reject") return attribute.type === REPLY_MESSAGE && isWanted(attribute);
    if (answer.code === "Access-Challenge") {
      if (OF_QUESTION.has(attribute.type)) return true;
      if (!IN_CHALLENGE.has(attribute.type)) return false;
    }
    return !NOT_RETURNED.has(clearIdentity(attribute)) && isWanted(attribute);
  };
  return { ...answer, attributes: answer.attributes.filter(isKept) };
}

/** Without them, a client that sent CHAP, MS-CHAP or EAP cannot use the Access-Accept. */
const OF_PROOF: ReadonlySet<string> = new Set([
  ...ofMicrosoft(7, 8, 10, 12, 16, 17, 26),
  ...identities("EAP-Message"),
]);

/** The attributes of the answer to a relayed request that a login keeps: those of the proof, and those that the setting names. */
export function keptRelayedReply<T extends Parameters<typeof keptReply>[0]>(
  answer: T,
  setting: readonly string[],
): T {
  const isWanted = wantedBy(setting);
  const isKept = (attribute: ClearAttribute): boolean => {
    const identity = clearIdentity(attribute);
    return OF_PROOF.has(identity) || (!NOT_RETURNED.has(identity) && isWanted(attribute));
  };
  return { ...answer, attributes: answer.attributes.filter(isKept) };
}

function wantedBy(setting: readonly string[]): (attribute: ClearAttribute) => boolean {
  if (setting[0] === "all") return () => true;
  const wanted = new Set(setting.map(identityOfName));
  return (attribute) => wanted.has(clearIdentity(attribute));
}

/** Whether a text can be an entry of `reply_from_first_factor`: `all` and `none` only alone. */
export function isReplySource(entry: string, all: readonly unknown[]): boolean {
  if (entry === "all" || entry === "none") return all.length === 1;
  const identity = identityOfName(entry);
  return identity !== null && (!NOT_RETURNED.has(identity) || identity === String(REPLY_MESSAGE));
}
