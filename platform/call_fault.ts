// Why a call to another system failed: the words of webhooks, syslog and messages about alerts. The console has a text for each: `common.call_<code>`.

export type CallProblem =
  | "bad_mail_address"
  | "bad_mail_values"
  /** The settings cannot be used, such as their secrets. */
  | "bad_settings"
  | "bad_url"
  /** The receiver asks to wait. */
  | "busy"
  | "certificate"
  | "connection_lost"
  /** The receiver failed, or no call was made. */
  | "failed"
  | "http_not_allowed"
  | "mail_off"
  | "mail_queue_full"
  | "name_not_found"
  | "not_confirmed"
  /** It failed lately and is left alone for a while. */
  | "paused"
  | "redirected"
  | "refused"
  | "slow"
  | "timeout"
  | "too_large"
  /** The limit of messages in an hour. */
  | "too_many"
  | "unreachable";

export interface CallFault {
  readonly code: CallProblem;
  /** For the administrator: no secret, no URL. */
  readonly detail: string;
  /** How long the receiver asked to wait (Retry-After); 0: it did not say. At most an hour. */
  readonly retryAfterMs: number;
  /** Whether the same message will be refused again, until the administrator changes something. */
  readonly isPermanent: boolean;
}
