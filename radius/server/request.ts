// A request that passed the gate, copied out of the receive buffer, and the state of its handling.

import type { AccountRefusal } from "../../platform/account_refusals.ts";
import { isRelaying, mayOmitSignatureOfChap } from "../../platform/client_settings.ts";
import { decodeText, isUtf8, readInteger } from "../protocol/attributes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { INTEGER_VALUES } from "../protocol/integer_values.ts";
import { readMsChap } from "../protocol/ms_chap.ts";
import { AUTHENTICATOR_AT, forEachAttribute, PacketView, sixteenOctetText } from "../protocol/packet.ts";
import { type Appended, isRefusedUserName, stripUserName } from "../protocol/login_input.ts";
import type { Client } from "./clients.ts";
import type { DuplicateSlot } from "./duplicate_cache.ts";
import type { Denial } from "../conversation/login_record.ts";
import type { Facts } from "../flow/context.ts";
import type { NotSentReason } from "../factors/limits.ts";
import type { FirstFactorReply } from "../ports.ts";
import type { AppUse, CodeFault } from "../tokens/token_codes.ts";
import type { TotpPairingRow } from "../factors/pairing.ts";
import type { TypedTokenCode } from "../tokens/hardware_tokens.ts";
import type { LoginPolicy } from "../conversation/login_policy.ts";
import type { RelayedVerdict } from "../conversation/conversation.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestSettings } from "../../platform/config/config.ts";

/** The destination of an answer, with `hostname` and `port` as the socket reported them. */
interface Sender {
  readonly socket: number;
  readonly hostname: string;
  readonly port: number;
  /** The TLS connection of the request; `null`: it came by UDP. */
  readonly stream: PacketStream | null;
}

/** A TLS connection of a client. */
export interface PacketStream {
  /** Differs from the number of each socket and each other connection. */
  readonly number: number;
  readonly source: string;
  /** The client of its certificate, with the secret of the connection's protocol. */
  readonly client: Client;
  /** Counts a request as in progress until {@link end}; `false` if too many are. */
  begin(request: Request): boolean;
  /** Sends the answer to a request; `null`: there is none. */
  end(request: Request, reply: Uint8Array | null): void;
  send(octets: Uint8Array): void;
}

/** Ends the requests that it received. */
export interface RequestServer {
  answer(request: Request, reply: Uint8Array): void;
  /** Ends a request that gets no answer. Unless `keepSlot`, its retransmission is handled. */
  release(request: Request, options?: { readonly keepSlot: boolean }): void;
}

export interface Request {
  readonly server: RequestServer;
  /** The packet without padding, a copy. */
  readonly octets: Uint8Array;
  readonly client: Client;
  readonly sender: Sender;
  /** The source address for display: IPv4 inside IPv6 as plain IPv4. */
  readonly source: string;
  readonly receivedMs: number;
  /** High-resolution time of reception, for the elapsed milliseconds of the log; 0 if the log does not have them. */
  readonly startedAt: number;
  readonly slot: DuplicateSlot;
  /** Whether it has Proxy-State attributes, which the reply repeats. */
  readonly hasProxyState: boolean;
  /** Whether it has an EAP-Message, so that the reply has one too. */
  readonly hasEap: boolean;
  /** Whether its Message-Authenticator was verified, or it came over TLS. */
  readonly signed: boolean;
  /** Whether it shows that the sender knows the secret: it is signed, or has a password. If the password is garbled, the request is refused later. */
  readonly hasProof: boolean;
  readonly name: UserName;
  /** User-Name as text, without the domain and the realm that the client strips. */
  readonly userName: string;
  /** The canonical form of `userName`. */
  readonly user: string;
}

/** The reasons to refuse a valid packet before its conversation is looked up. The answer is an Access-Reject. */
export const REQUEST_REFUSALS = {
  no_user_name: {
    sentence: "no User-Name, or with CHAP, MS-CHAP or EAP more than one",
    prompt: "denied",
    ref: "RFC 2865 §4.1",
  },
  refused_user_name: {
    sentence:
      "User-Name is empty without its domain and realm, begins or ends with a blank, or contains a format " +
      "character or NUL",
    prompt: "denied",
    ref: "RFC 8265 §3.3",
  },
  several_users: {
    sentence: "User-Name finds several users with the filter of the directory (user_filter)",
    prompt: "denied",
    ref: "docs/configuration.md",
  },
  eap_gtc_refused: {
    sentence:
      "the user's device refuses EAP-GTC (Nak), the only EAP method of this client: let the device use EAP-GTC",
    prompt: "not_supported",
    ref: "RFC 3748 §5.3.1",
  },
  eap_unasked: {
    sentence:
      "the EAP-Response answers no prompt of this gateway: it is of another method, or the prompt has expired",
    prompt: "denied",
    ref: "RFC 3748 §2.1",
  },
  two_states: { sentence: "two State attributes", prompt: "denied", ref: "RFC 2865 §5.44" },
  two_passwords: { sentence: "more than one password", prompt: "denied", ref: "RFC 2865 §5.44" },
  bad_password_length: {
    sentence: "User-Password is not 16 to 128 octets in steps of 16",
    prompt: "denied",
    ref: "RFC 2865 §5.2",
  },
  garbled_password: {
    sentence: "the revealed password is no text: is the shared secret of this client right?",
    prompt: "denied",
    ref: "RFC 2865 §5.2; without Message-Authenticator it proves nothing",
  },
  chap: {
    sentence:
      'CHAP or MS-CHAP: only a server of first_factor = "radius" can check it, with eap = "auto" or "relay"; otherwise ' +
      "set the client to PAP",
    prompt: "not_supported",
    ref: "RFC 2865 §5.3",
  },
  unsigned_chap: {
    sentence:
      "CHAP or MS-CHAP without Message-Authenticator, from a client with a network or any address: any host there could " +
      "have sent it; let the client send it, or list the addresses of the client one by one",
    prompt: "denied",
    ref: "RFC 2865 §3: an Access-Request is not authenticated",
  },
  malformed_chap: {
    sentence: "the CHAP or MS-CHAP response has a wrong length, or CHAP-Challenge is missing in RADIUS/1.1",
    prompt: "denied",
    ref: "RFC 2865 §5.3, RFC 2548 §2.1.3 and §2.3.2",
  },
  ms_chap_change: {
    sentence:
      "the user changes the password over MS-CHAP, which the server would do before the second factor",
    prompt: "not_supported",
    ref: "RFC 2548 §2.3.4",
  },
  eap: {
    sentence:
      'EAP: only a server of first_factor = "radius" can check it, with eap = "auto" or "relay"; otherwise set ' +
      'eap = "gtc", or the client to PAP',
    prompt: "not_supported",
    ref: "RFC 3579 §2.2",
  },
  malformed_eap: {
    sentence: "EAP-Message contains no valid EAP-Response",
    prompt: "denied",
    ref: "RFC 3579 §2.2, RFC 3748 §4",
  },
  eap_names_differ: {
    sentence: "the EAP identity, User-Name and the name of the EAP method are not the same user",
    prompt: "denied",
    ref: "RFC 3579 §2.1",
  },
  eap_outer_identity: {
    sentence:
      "the outer identity of this EAP method is free text: let the first-factor server name the user in User-Name of its " +
      'Access-Accept, and set eap_outer_identity = "reply"',
    prompt: "not_supported",
    ref: "RFC 3748 §5.1",
  },
  eap_user_unnamed: {
    sentence:
      "the Access-Accept of the first-factor server does not name the user: in FreeRADIUS, use use_tunneled_reply, and put " +
      "User-Name into the reply of the inner tunnel",
    prompt: "denied",
    ref: "RFC 2865 §5.1",
  },
  relay_over: {
    sentence: "State of a relayed conversation that has expired, or of another client or User-Name",
    prompt: "gone",
    ref: "RFC 2865 §5.24",
  },
  relay_prompted: {
    sentence:
      "the first-factor server asks for an answer that a client with CHAP, MS-CHAP or EAP cannot show",
    prompt: "not_supported",
    ref: "RFC 2865 §4.4",
  },
  mixed_versions: {
    sentence: "CHAP, MS-CHAP or EAP while nodes of version 0.2 use the same store: upgrade them",
    prompt: "not_supported",
    ref: "docs/upgrading.md",
  },
  no_login: {
    sentence:
      "the request is not the login of a user: its Service-Type is one such as Call-Check, or the name is " +
      "the MAC address in Calling-Station-Id",
    prompt: "not_supported",
    ref: "RFC 2865 §5.6",
  },
  sshd_password: {
    sentence:
      "sshd asks for a user that its host does not know: the password is the text that sshd sends then",
    prompt: "denied",
    ref: "OpenSSH, auth-pam.c, fake_password()",
  },
  unknown_state: {
    sentence: "a State that this gateway never issues",
    prompt: "unknown_state",
    ref: "RFC 2865 §5.24",
  },
} as const satisfies Record<string, { sentence: string; prompt: string; ref: string }>;

export type RequestRefusal = keyof typeof REQUEST_REFUSALS;

/**
 * The Service-Types of requests by which a NAS asks something else than whether a user may sign in. Not Outbound: the RADIUS plug-in of OpenVPN sends
 * it with every login.
 */
const NO_LOGINS: ReadonlySet<number> = new Set(
  ([
    "Call-Check",
    "Voice",
    "Fax",
    "Modem-Relay",
    "IAPP-Register",
    "IAPP-AP-Check",
    "Authorize-Only",
    "Additional-Authorization",
  ] as const).map((name) => INTEGER_VALUES["Service-Type"].values[name]),
);

/** Some access points authenticate a MAC address with the Service-Type of a login: its name is the Calling-Station-Id. */
export function isNoLogin(view: PacketView, { mac }: Pick<UserName, "mac">): boolean {
  const { octets, slots: { serviceType: { count, at, lengthOctets } } } = view;
  if (count > 0 && lengthOctets === 4 && NO_LOGINS.has(readInteger(octets, at))) return true;
  return mac !== "" && macOf(callingStation(view)) === mac;
}

/** The reason to refuse a valid packet, or `null`. */
export function findRefusal(
  view: PacketView,
  { name, signed, client: { settings, secret, hasNetwork } }: Pick<Request, "name" | "signed" | "client">,
): RequestRefusal | null {
  const { userName, userPassword, chapPassword, state, eapMessage } = view.slots;
  const hasEap = eapMessage.count > 0;
  if (hasEap && settings.eap !== "gtc" && !isRelaying(settings)) return "eap";
  if (isNoLogin(view, name)) return "no_login";
  if (userName.count === 0) return "no_user_name";
  if (name.isRefused) return "refused_user_name";
  if (state.count > 1) return "two_states";
  if (userPassword.count + chapPassword.count + (hasEap ? 1 : 0) > 1) return "two_passwords";
  // A request may have neither password nor State: some clients, such as radclient, send no attribute for an empty password.
  if (!isChap(view)) return null;
  if (!isRelaying(settings)) return "chap";
  // RFC 9765 §5.1.2: there is no Request Authenticator that could be the challenge.
  if (secret.isClear && chapPassword.count > 0 && !hasAttribute(view, CHAP_CHALLENGE)) {
    return "malformed_chap";
  }
  return signed || mayOmitSignatureOfChap({ ...settings, hasNetwork }) ? null : "unsigned_chap";
}

const CHAP_CHALLENGE = typeOf("CHAP-Challenge");

function hasAttribute({ octets, lengthOctets }: PacketView, wanted: number): boolean {
  let isThere = false;
  forEachAttribute(octets, lengthOctets, (type) => isThere ||= type === wanted);
  return isThere;
}

/** Whether a request has CHAP or MS-CHAP in place of a password. */
function isChap({ octets, lengthOctets, slots: { userPassword, chapPassword } }: PacketView): boolean {
  return chapPassword.count > 0 || (userPassword.count === 0 && readMsChap(octets, lengthOctets) !== null);
}

/** Whether only the first-factor server can check the proof of a request that is not refused. */
export function isRelayedRequest(view: PacketView, { settings }: Pick<Client, "settings">): boolean {
  return isRelaying(settings) && (view.slots.eapMessage.count > 0 || isChap(view));
}

/** The Identifier of the EAP-Request that follows a Response: it differs from the one before (RFC 3748 §4.1). */
export function nextEapIdentifier(identifier: number): number {
  return (identifier + 1) & 0xff;
}

/** The Request Authenticator as it is stored. */
export function authenticatorText({ octets }: Request): string {
  return sixteenOctetText(octets, AUTHENTICATOR_AT);
}

/** Reads the copied packet again. */
export function readView({ octets }: Request): PacketView {
  const view = new PacketView();
  view.read(octets, octets.length);
  return view;
}

/** Calling-Station-Id as text; empty without one. */
export function callingStation(view: PacketView): string {
  const { at, count, lengthOctets } = view.slots.callingStationId;
  return count === 0 ? "" : decodeText(view.octets, at, lengthOctets);
}

/** A right code, with its time step (HOTP: its counter). */
export type TypedTotp =
  | AppUse & { readonly pairing: TotpPairingRow }
  | { readonly step: number; readonly tokenCode: TypedTokenCode };

export interface LoginAttempt {
  readonly client: Client;
  /** `null` at the start of a login. */
  readonly answer: string | null;
  /** The password of a login without the appended text, the answer to the first-factor server, or a new password; empty for other answers. */
  readonly password: Uint8Array;
  /** The packet. Absent: a dry run has none. */
  readonly octets?: Uint8Array | undefined;
  readonly hasEap: boolean;
  readonly hasProxyState: boolean;
  readonly appended: Appended | null;
  readonly receivedMs: number;
  /** Whether the packet's Message-Authenticator was verified. */
  readonly signed: boolean;
  /** Whether this is the retransmission of a login that was held when the server stopped. Its push was already sent. */
  readonly holdsAgain: boolean;
  /** Whether another login was accepted with the same approval first. */
  readonly approvalUsed: boolean;
  /** The result for the same request before it was handled again. A server may count each wrong password. */
  readonly checkedBefore: CheckedFirstFactor | null;
  firstFactor: "wrong" | "unavailable" | "right" | "challenged" | AccountRefusal | null;
  /** What the first-factor server answered; `null` for another first factor. */
  firstFactorReply: FirstFactorReply | null;
  /** Whether the password was compared with the right one. */
  passwordChecked: boolean;
  /** The result of the change of a password in this login. */
  passwordChange: Facts["passwordChange"];
  /** Why the user was refused. For the log and the audit log, never for the reply. */
  refusedFor: "inactive" | "deleted" | "unknown" | "locked" | AccountRefusal | CodeFault | null;
  decision: Facts["decision"];
  /** Why `decision` is "denied". */
  denial?: Denial | undefined;
  /** When the phone or an administrator decided, if the service says so. */
  decidedMs?: number | undefined;
  pairing: Facts["pairing"];
  messageSent: boolean;
  /** Why no message was sent to a typed number. */
  notSent: NotSentReason | null;
  /** The passcode length of the new pairing, from the service. */
  newPairingTotpLength: number;
  /** The name of that device, from the service. */
  newPairingName: string | undefined;
  /** The TOTP pairing and time step of a typed code; looked up once. */
  totp: TypedTotp | null | undefined;
  /** The digest of the recovery code that was typed; looked up once. */
  recoveryCode: string | null | undefined;
  /** The verdict of the first-factor server about a relayed request that begins the login; `null` for any other. */
  readonly relayed: RelayedVerdict | null;
  /** The policy of this packet; decided when it is first needed. */
  policy: LoginPolicy | null;
}

/** The result of the first factor of a request. */
export type CheckedFirstFactor = Pick<
  LoginAttempt,
  "firstFactor" | "firstFactorReply" | "passwordChecked"
>;

const NO_OCTETS = new Uint8Array(0);

/** The state of a new packet. */
export function newLoginAttempt(
  request:
    & Pick<Request, "client" | "receivedMs" | "signed">
    & Partial<Pick<Request, "octets" | "hasEap" | "hasProxyState">>,
  typed:
    & Pick<LoginAttempt, "answer">
    & Partial<Pick<LoginAttempt, "password" | "appended" | "checkedBefore" | "relayed">>,
): LoginAttempt {
  return {
    answer: typed.answer,
    password: typed.password ?? NO_OCTETS,
    appended: typed.appended ?? null,
    client: request.client,
    octets: request.octets,
    hasEap: request.hasEap ?? false,
    hasProxyState: request.hasProxyState ?? false,
    receivedMs: request.receivedMs,
    signed: request.signed,
    holdsAgain: false,
    approvalUsed: false,
    checkedBefore: typed.checkedBefore ?? null,
    firstFactor: null,
    firstFactorReply: null,
    passwordChecked: false,
    passwordChange: null,
    refusedFor: null,
    decision: null,
    pairing: null,
    messageSent: false,
    notSent: null,
    newPairingTotpLength: 0,
    newPairingName: undefined,
    totp: undefined,
    recoveryCode: undefined,
    relayed: typed.relayed ?? null,
    policy: null,
  };
}

// User-Names as text, with the names that the gateway derives from them. The last results are remembered, because the same users log in again,
// and every packet of a login has the same name.

/** A User-Name without the domain and the realm that its client strips. */
interface UserName {
  /** As typed. Empty if the packet has no User-Name. */
  readonly shown: string;
  readonly canonical: string;
  /** Whether an Access-Request with this name is rejected. */
  readonly isRefused: boolean;
  /** Whether the octets are UTF-8. Others are read as Windows-1252. */
  readonly isUtf8: boolean;
  /** The hexadecimal digits of a name that is a MAC address, otherwise "". */
  readonly mac: string;
  /** Whether the client's settings list the name as that of a health check. */
  readonly isHealthCheck: boolean;
}

interface RememberedName extends UserName {
  /** They decide what is stripped. */
  readonly settings: RequestSettings;
}

/** A power of two. */
const SLOTS = 8192;
/** A place of the table of names: the length, then the octets. Longer names are not remembered. */
const PLACE_OCTETS = 32;

export class UserNames {
  readonly #names: (RememberedName | undefined)[] = new Array(SLOTS).fill(undefined);
  /** The octets of the names side by side, so that a comparison reads one line of the processor's cache. */
  readonly #octets = new Uint8Array(SLOTS * PLACE_OCTETS);

  read(view: PacketView, settings: RequestSettings): UserName {
    const { octets, slots: { userName: { at, count, lengthOctets } } } = view;
    const length = count === 0 ? 0 : lengthOctets;
    if (length >= PLACE_OCTETS) return nameOf(octets.subarray(at, at + length), settings);
    let hash = length;
    for (let i = 0; i < length; i++) {
      hash = Math.imul(hash ^ (octets[at + i] as number), 0x5bd1e995);
      hash ^= hash >>> 15;
    }
    const slot = hash & (SLOTS - 1);
    const place = slot * PLACE_OCTETS;
    const known = this.#names[slot];
    if (known !== undefined && known.settings === settings && this.#octets[place] === length) {
      let i = 0;
      while (i < length && this.#octets[place + 1 + i] === octets[at + i]) i++;
      if (i === length) return known;
    }
    const name = nameOf(octets.subarray(at, at + length), settings);
    this.#names[slot] = name;
    this.#octets[place] = length;
    for (let i = 0; i < length; i++) this.#octets[place + 1 + i] = octets[at + i] as number;
    return name;
  }
}

/** The hexadecimal digits of a MAC address, in lower case; "" if a text is none. */
function macOf(text: string): string {
  const digits = text.length > MAX_MAC_CHARACTERS ? "" : text.toLowerCase().replace(/[-:. ]/g, "");
  return /^[0-9a-f]{12}$/.test(digits) ? digits : "";
}

const MAX_MAC_CHARACTERS = 17;

function nameOf(octets: Uint8Array, settings: RequestSettings): RememberedName {
  const shown = stripUserName(decodeText(octets), settings);
  const canonical = canonicalName(shown);
  return {
    shown,
    canonical,
    isRefused: isRefusedUserName(shown),
    isUtf8: isUtf8(octets),
    mac: macOf(shown),
    isHealthCheck: settings.healthCheckUsers.some((name) => canonicalName(name) === canonical),
    settings,
  };
}
