// A receiver of alerts: its checks, and how it is stored. The address of a webhook often contains a token, so it is sealed like the signature key.

import type { CallProblem } from "../call_fault.ts";
import type { FieldChecks } from "../fields.ts";
import { webhookUrlProblem } from "../log_export/webhook_sender.ts";
import { parseMailAddress } from "../mail/mail_address.ts";
import { type SealedKind, type SealedRecord, type SealedRows, UNREADABLE_ROW } from "../sealed_rows.ts";
import {
  MAX_RECEIVERS,
  RECEIVER_FIELDS,
  type ReceiverSecrets,
  type ReceiverSettings,
} from "./alert_kinds.ts";

/** The value under ["alert_receiver", name]. */
export type ReceiverRecord = SealedRecord<ReceiverSettings>;

/** The receivers in the store, mirrored by every node. */
export type AlertReceivers = SealedRows<typeof RECEIVER_FIELDS>;

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
    | { readonly code: CallProblem; readonly detail: string; readonly sinceMs: number }
    | null;
}

const RECEIVER_STATES: Deno.KvKey = ["alert_receiver_state"];

export function receiverStateKey(name: string): Deno.KvKey {
  return [...RECEIVER_STATES, name];
}

/** Checks of the fields beyond their bounds. */
export const RECEIVER_CHECKS: FieldChecks<typeof RECEIVER_FIELDS> = {
  addresses: (addresses) => addresses.every((address) => parseMailAddress(address) !== null),
  url: (url) => webhookUrlProblem(url, { allowsHttp: true }) === null,
  allowsHttp: (allowsHttp, { url }) => webhookUrlProblem(url, { allowsHttp }) === null,
};

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

/** The receivers of alerts in the store. Messages that wait for a removed one are removed by the node that delivers. */
export const RECEIVER_ROWS: SealedKind<typeof RECEIVER_FIELDS> = {
  prefix: ["alert_receiver"],
  object: "alert-receiver",
  maxRows: MAX_RECEIVERS,
  fields: RECEIVER_FIELDS,
  isSigned: ({ kind }) => kind === "webhook",
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
