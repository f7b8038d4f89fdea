// A receiver of alerts: its checks, and how it is stored. The address of a webhook often contains a token, so it is sealed like the signature key.

import { webhookUrlProblem } from "../log_export/webhook_sender.ts";
import { parseMailAddress } from "../mail/mail_address.ts";
import { type SealedKind, type SealedRecord, type SealedRows, UNREADABLE_ROW } from "../sealed_rows.ts";
import {
  ALERT_SEVERITIES,
  type AlertProblem,
  isAlertKind,
  MAX_ADDRESSES,
  MAX_RECEIVERS,
  RECEIVER_DEFAULTS,
  RECEIVER_KINDS,
  type ReceiverSettings,
} from "./alert_kinds.ts";

/** "": none. */
interface ReceiverSecrets {
  /** The address of a webhook. */
  readonly url: string;
  /** The key of its signatures. */
  readonly webhookSecret: string;
}

/** The value under ["alert_receiver", name]. */
export type ReceiverRecord = SealedRecord<ReceiverSettings>;

/** The receivers in the store, mirrored by every node. */
export type AlertReceivers = SealedRows<ReceiverSettings, ReceiverSecrets>;

/** What fails if the secrets of a receiver cannot be read. Add it again. */
export const UNREADABLE_SECRETS = {
  code: "failed",
  detail: UNREADABLE_ROW,
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

const RECEIVER_STATES: Deno.KvKey = ["alert_receiver_state"];

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

/** @throws TypeError if the settings are not those of this version */
function readSettings(settings: ReceiverSettings): ReceiverSettings {
  const isKnown = RECEIVER_KINDS.includes(settings.kind) && ALERT_SEVERITIES.includes(settings.minSeverity) &&
    Array.isArray(settings.addresses) && Array.isArray(settings.kinds);
  if (!isKnown) throw new TypeError("Cannot read a receiver of alerts");
  // A kind of another version is no reason to send nothing.
  return { ...RECEIVER_DEFAULTS, ...settings, kinds: settings.kinds.filter(isAlertKind) };
}

const NO_RECEIVER_SECRETS: ReceiverSecrets = { url: "", webhookSecret: "" };

/** The receivers of alerts in the store. Messages that wait for a removed one are removed by the node that delivers. */
export const RECEIVER_ROWS: SealedKind<ReceiverSettings, ReceiverSecrets> = {
  prefix: ["alert_receiver"],
  object: "alert-receiver",
  maxRows: MAX_RECEIVERS,
  noSecrets: NO_RECEIVER_SECRETS,
  read: readSettings,
  dependents: (name) => [receiverStateKey(name)],
  actions: {
    create: "alert.receiver_create",
    secret: "alert.receiver_secret",
    remove: "alert.receiver_delete",
  },
  shown(settings, secrets) {
    const { addresses: _addresses, ...others } = settings;
    return { ...others, address: receiverAddress(settings, secrets) };
  },
};
