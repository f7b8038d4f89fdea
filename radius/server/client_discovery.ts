// Client discovery: records unknown senders, senders with another secret, and TLS peers with a certificate of no client, while an
// administrator adds a client. Limited in senders and per second. The records are deleted one minute after the list was last read.

import { type CertificateIdentity, ownSan } from "../../platform/certificate_names.ts";
import type { ClientContent } from "../../platform/client_settings.ts";
import { AUTHENTICATOR_AT, MAX_PASSWORD_OCTETS, PacketView } from "../protocol/packet.ts";
import { SharedSecret } from "../protocol/authenticity.ts";
import { looksGarbled } from "../protocol/login_input.ts";
import { decodeText } from "../protocol/attributes.ts";
import { authMethodOf } from "../protocol/eap.ts";
import type { Clock } from "../../platform/runtime.ts";
import { isCertificateOf } from "./clients.ts";

interface ObservedPacket {
  readonly octets: Uint8Array;
  readonly source: string;
  /** A drop reason, or `any_address` for a request that is served because no client is configured. */
  readonly reason: string;
  /** The client whose secret did not match. */
  readonly client: string | null;
}

/** A verified certificate that no client has, or not at this address. */
interface DiscoveredCertificate extends CertificateIdentity {
  readonly subject: string;
  /** The name to know it by, also after its renewal: {@link ownSan}. */
  readonly san: string;
}

interface ObservedPeer extends Omit<DiscoveredCertificate, "san"> {
  readonly source: string;
  /** The client whose certificate it is, at another address. */
  readonly client: string | null;
}

/** One sender, as the console shows it. */
export interface DiscoveredSender {
  readonly source: string;
  readonly nasIdentifier: string;
  readonly reason: string;
  readonly client: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Whether its last packet has a Message-Authenticator. */
  readonly signed: boolean;
  /** How its last packet proves the password: {@link authMethodOf}. */
  readonly method: string;
  /** Whether the last packet matches a candidate secret: by its signature, or because its password is text. */
  readonly fits: "signed" | "likely" | "wrong" | "unknown";
  /** Of a TLS connection, which was closed before its first packet; `null`: the sender uses UDP. */
  readonly certificate: DiscoveredCertificate | null;
}

export interface ClientDiscovery {
  record(packet: ObservedPacket): void;
  recordPeer(peer: ObservedPeer): void;
  /** Whether unknown senders are recorded now. */
  isOn(): boolean;
  /** The recorded senders, newest first. Continues the recording for another minute. `secret`: a candidate to test. */
  list(secret?: string): DiscoveredSender[];
  /** Forgets the senders that belong to a new client. */
  forget(client: Pick<ClientContent, "address" | "tlsSan" | "tlsFingerprint">): void;
}

type RecordedSender = Omit<DiscoveredSender, "fits" | "count" | "lastMs" | "signed" | "method"> & {
  count: number;
  lastMs: number;
  signed: boolean;
  method: string;
  octets: Uint8Array;
};

const OPEN_MS = 60_000;
const MAX_SENDERS = 100;
const MAX_PER_SECOND = 100;
/** Of a certificate. */
const MAX_NAMES = 20;
const MAX_SUBJECT_CHARACTERS = 300;
const REASONS = new Set(["unknown_client", "other_nas", "wrong_message_authenticator", "any_address"]);

export function createClientDiscovery({ clock }: { clock: Pick<Clock, "nowMs"> }): ClientDiscovery {
  const senders = new Map<string, RecordedSender>();
  const view = new PacketView();
  let openUntilMs = 0;
  let second = 0;
  let inSecond = 0;

  const mayRecord = (nowMs: number): boolean => {
    if (nowMs >= openUntilMs) {
      senders.clear();
      return false;
    }
    const now = Math.floor(nowMs / 1000);
    if (now !== second) [second, inSecond] = [now, 0];
    inSecond += 1;
    return inSecond <= MAX_PER_SECOND;
  };

  const keep = (
    key: string,
    nowMs: number,
    sender: Omit<RecordedSender, "count" | "firstMs" | "lastMs">,
  ): void => {
    const known = senders.get(key);
    senders.delete(key);
    if (senders.size >= MAX_SENDERS) {
      for (const oldest of senders.keys()) {
        senders.delete(oldest);
        break;
      }
    }
    const count = (known?.count ?? 0) + 1;
    senders.set(key, { ...sender, count, firstMs: known?.firstMs ?? nowMs, lastMs: nowMs });
  };

  return {
    record({ octets, source, reason, client }) {
      if (openUntilMs === 0 || !REASONS.has(reason)) return;
      const nowMs = clock.nowMs();
      if (!mayRecord(nowMs) || view.read(octets, octets.length) !== null) return;
      const given = view.value("nasIdentifier");
      const nasIdentifier = given === null ? "" : decodeText(given);
      keep(`${source} ${nasIdentifier}`, nowMs, {
        ...{ source, nasIdentifier, reason, client, certificate: null },
        signed: view.slots.messageAuthenticator.count > 0,
        method: authMethodOf(view),
        octets: octets.slice(0, view.lengthOctets),
      });
    },
    recordPeer({ source, client, ...identity }) {
      if (openUntilMs === 0) return;
      const nowMs = clock.nowMs();
      if (!mayRecord(nowMs)) return;
      keep(`tls ${source} ${identity.fingerprint}`, nowMs, {
        ...{ source, client, nasIdentifier: "", reason: "unknown_certificate" },
        certificate: shownCertificate(identity),
        ...{ signed: true, method: "", octets: NO_OCTETS },
      });
    },
    isOn: () => clock.nowMs() < openUntilMs,
    list(secret) {
      const nowMs = clock.nowMs();
      if (nowMs >= openUntilMs) senders.clear();
      openUntilMs = nowMs + OPEN_MS;
      const candidate = secret === undefined ? null : new SharedSecret(secret);
      return [...senders.values()].reverse().map(({ octets, ...sender }) => ({
        ...sender,
        fits: candidate === null ? "unknown" : fitOf(octets, { view, candidate }),
      }));
    },
    forget(client) {
      for (const [key, { source, certificate }] of senders) {
        const isOfClient = certificate === null
          ? client.address.includes(source)
          : isCertificateOf(client, certificate);
        if (isOfClient) senders.delete(key);
      }
    },
  };
}

function shownCertificate(
  { subject, names, fingerprint }: Omit<DiscoveredCertificate, "san">,
): DiscoveredCertificate {
  return {
    subject: subject.slice(0, MAX_SUBJECT_CHARACTERS),
    names: names.slice(0, MAX_NAMES),
    fingerprint,
    san: ownSan(names),
  };
}

const NO_OCTETS = new Uint8Array(0);

function fitOf(
  octets: Uint8Array,
  { view, candidate }: { view: PacketView; candidate: SharedSecret },
): DiscoveredSender["fits"] {
  if (view.read(octets, octets.length) !== null) return "unknown";
  const { messageAuthenticator } = view.slots;
  if (messageAuthenticator.count > 0) {
    const place = {
      lengthOctets: view.lengthOctets,
      valueAt: messageAuthenticator.at,
      valueOctets: messageAuthenticator.lengthOctets,
    };
    return candidate.isAuthentic(view.octets, place) ? "signed" : "wrong";
  }
  const hidden = view.value("userPassword");
  if (hidden === null) return "unknown";
  const plain = new Uint8Array(MAX_PASSWORD_OCTETS);
  const length = candidate.revealPasswordInto(plain, hidden, { authenticator: octets, at: AUTHENTICATOR_AT });
  const fits = length >= 0 && !looksGarbled(plain.subarray(0, length));
  plain.fill(0);
  return fits ? "likely" : "wrong";
}
