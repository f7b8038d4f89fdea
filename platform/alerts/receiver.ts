// A receiver of alerts: its checks, and how it is stored. The address of a webhook often contains a token, so it is sealed like the signature key.

import { webhookUrlProblem } from "../log_export/webhook_sender.ts";
import { parseMailAddress } from "../mail/mail_address.ts";
import type { Vault } from "../vault.ts";
import {
  ALERT_SEVERITIES,
  type AlertProblem,
  isAlertKind,
  MAX_ADDRESSES,
  RECEIVER_DEFAULTS,
  RECEIVER_KINDS,
  type ReceiverSettings,
} from "./alert_kinds.ts";

/** "": none. */
export interface ReceiverSecrets {
  /** The address of a webhook. */
  readonly url: string;
  /** The key of its signatures. */
  readonly webhookSecret: string;
}

/** The value under ["alert_receiver", name]. */
export interface ReceiverRecord {
  readonly settings: ReceiverSettings;
  readonly sealed: Uint8Array;
  readonly createdMs: number;
  /** Grows with each change. */
  readonly version: number;
}

/** What fails if the secrets of a receiver cannot be read. Add it again. */
export const UNREADABLE_SECRETS = {
  code: "failed",
  detail: "the secrets of the receiver cannot be read",
  retryAfterMs: 0,
  isPermanent: true,
} as const;

/** The value under ["alert_receiver_state", name]. */
export interface ReceiverState {
  /** That of the receiver, so that a state belongs to no later receiver with the name. */
  readonly createdMs: number;
  readonly lastSentMs: number | null;
  readonly problem:
    | { readonly code: AlertProblem; readonly detail: string; readonly sinceMs: number }
    | null;
}

export const RECEIVERS: Deno.KvKey = ["alert_receiver"];
export const RECEIVER_STATES: Deno.KvKey = ["alert_receiver_state"];

export function receiverKey(name: string): Deno.KvKey {
  return [...RECEIVERS, name];
}

export function receiverStateKey(name: string): Deno.KvKey {
  return [...RECEIVER_STATES, name];
}

/** What is wrong with a receiver; `null`: nothing. */
export function receiverProblem(
  { kind, addresses, allowsHttp }: ReceiverSettings,
  url: string,
): "addresses" | "url" | "allowsHttp" | null {
  if (kind === "mail") {
    const isUsable = addresses.length > 0 && addresses.length <= MAX_ADDRESSES &&
      addresses.every((address) => parseMailAddress(address) !== null);
    return isUsable ? null : "addresses";
  }
  const problem = webhookUrlProblem(url, { allowsHttp });
  return problem === null ? null : problem === "bad_url" ? "url" : "allowsHttp";
}

/** Encrypts the secrets of a receiver. */
export function sealReceiver(vault: Vault, name: string, secrets: ReceiverSecrets): Uint8Array {
  return vault.seal(receiverKey(name), new TextEncoder().encode(JSON.stringify(secrets)));
}

/** @throws Error if the master key is another one */
export function openReceiver(
  vault: Vault,
  name: string,
  { sealed }: Pick<ReceiverRecord, "sealed">,
): ReceiverSecrets {
  const plain = vault.open(receiverKey(name), sealed);
  if (plain === null) throw new Error(`Cannot read the secrets of the receiver "${name}"`);
  return { url: "", webhookSecret: "", ...JSON.parse(new TextDecoder().decode(plain)) };
}

/** Where a receiver sends, for the list and the audit log. The path of a webhook may contain a token. */
export function receiverAddress(
  { kind, addresses }: ReceiverSettings,
  secrets: Pick<ReceiverSecrets, "url"> | null,
): string {
  if (kind === "mail") return addresses.join(", ");
  const parsed = URL.parse(secrets?.url ?? "");
  if (parsed === null) return "";
  return parsed.pathname === "/" && parsed.search === "" ? parsed.origin : `${parsed.origin}/…`;
}

/** A record as stored. @throws TypeError if it is not one of this version */
export function readReceiver(value: unknown): ReceiverRecord {
  const record = value as Partial<ReceiverRecord> | null;
  const { settings, sealed, createdMs, version } = record ?? {};
  const isKnown = settings !== undefined && RECEIVER_KINDS.includes(settings.kind) &&
    ALERT_SEVERITIES.includes(settings.minSeverity) && Array.isArray(settings.addresses) &&
    Array.isArray(settings.kinds);
  if (!isKnown || !(sealed instanceof Uint8Array)) throw new TypeError("Cannot read a receiver of alerts");
  if (typeof createdMs !== "number" || typeof version !== "number") {
    throw new TypeError("Cannot read a receiver of alerts: it has no version");
  }
  // A kind of another version is no reason to send nothing.
  const kinds = settings.kinds.filter(isAlertKind);
  return { settings: { ...RECEIVER_DEFAULTS, ...settings, kinds }, sealed, createdMs, version };
}
