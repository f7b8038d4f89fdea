// The stored record of a finished login: fields by position, not by name, because every login writes one. It includes the
// buckets of its duration, and the cause if a push was not approved.

/** One row per cause. `reason` names the sentence that explains a rejected login (`why_<reason>` in the console). */
export const DENIAL_CAUSES = {
  /** The user pressed Deny, on the phone page or on the account page. */
  phone: { reason: "denied_on_phone" },
  /** The user entered another number than the login prompt showed. */
  wrong_number: { reason: "wrong_number" },
  wrong_passcode: { reason: "passcode_wrong" },
  administrator: { reason: "denied_by_administrator" },
  cancelled_by_administrator: { reason: "cancelled_by_administrator" },
  expired: { reason: "push_expired" },
  /** Newer push requests to the same phone replaced this one, or the login started over. */
  replaced: { reason: "push_replaced" },
  /** The pairing of the phone ended, or phones were turned off, before the sign-in ended. */
  revoked: { reason: "phone_revoked" },
  /** An external second-factor service. Its interface does not show whether the request was denied or expired. */
  service: { reason: "denied_at_service" },
} as const satisfies Record<string, { reason: string }>;

export type DenialCause = keyof typeof DENIAL_CAUSES;

/** The cause of a denied push. */
export interface Denial {
  readonly cause: DenialCause;
  /** The administrator who decided, by name. */
  readonly by?: string;
}

const causes = new Map<string, DenialCause>(
  Object.keys(DENIAL_CAUSES).map((cause) => [cause, cause as DenialCause]),
);

/** Reads a stored denial, `[cause, by]`; `undefined` for anything else. */
function readDenial(stored: unknown): Denial | undefined {
  if (!Array.isArray(stored)) return undefined;
  const cause = causes.get(String(stored[0]));
  if (cause === undefined) return undefined;
  return { cause, ...(typeof stored[1] === "string" ? { by: stored[1] } : {}) };
}

/** The method of a login without PAP, and the name in User-Name. */
export interface RelayedSignIn {
  /** `CHAP`, `MS-CHAPv2`, `PEAP` and so on. */
  readonly method: string;
  /** As typed, without the domain and realm that the client strips. With a tunnel, it can differ from the user. */
  readonly outer: string;
}

/** The result of one login. Contains no secret. */
export interface LoginRecord {
  readonly user: string;
  readonly client: string;
  readonly source: string;
  readonly place: string;
  readonly factor: string | null;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly outcome: string;
  /** Why the user was refused; absent if the login ended for another reason. */
  readonly refusedFor: string | null;
  /** Whether the first factor was checked and was right. */
  readonly passwordRight: boolean;
  /** The target whose users log in; absent in older records. */
  readonly target?: string;
  /** The name of the phone that received the last push; absent without a name, or with another factor. */
  readonly phone?: string;
  /** The serial number of the hardware token whose code was right; absent with another factor. */
  readonly token?: string;
  /** The first-factor server that answered; absent for another first factor. */
  readonly firstFactorServer?: string;
  /** Why the push was not approved; absent if the login ended for another reason. */
  readonly denial?: Denial;
  /** The policy that applied, by name; absent if the settings applied. */
  readonly policy?: string;
  /** How the user proved the password to the first-factor server, or with EAP-GTC to the gateway; absent for PAP. */
  readonly relay?: RelayedSignIn;
  readonly moments: readonly { readonly atMs: number; readonly step: string; readonly row: string }[];
}

/** How long finished logins are stored. */
export const HISTORY_RETENTION_MS = 90 * 24 * 3600_000;

/** The store's key of a finished conversation; ordered by its start. */
export function historyKey(conversationId: string): readonly [string, string] {
  return ["history", conversationId];
}

/** The first key of a moment. Keys count in 1/1024 ms since the epoch, in 11 characters of base 36. */
export function historyKeyAt(atMs: number): string {
  return Math.max(0, Math.floor(atMs * 1024)).toString(36).padStart(11, "0");
}

/** The maximum of `radius.conversation_ttl_s`: no login takes longer. */
export const LONGEST_LOGIN_MS = 3600_000;

/** The keys of logins that may have ended in a range, as they are in the order in which logins began. */
export function historyKeysOfEnds(
  { fromMs, toMs }: { readonly fromMs: number | null; readonly toMs: number | null },
): { readonly start: string; readonly end: string } {
  return {
    start: fromMs === null ? "" : historyKeyAt(fromMs - LONGEST_LOGIN_MS),
    end: toMs === null ? "\u{10ffff}" : historyKeyAt(toMs + 1),
  };
}

/** Whether a login ended in a range; its ends belong to it. */
export function endedIn(
  { endedMs }: Pick<LoginRecord, "endedMs">,
  { fromMs, toMs }: { readonly fromMs: number | null; readonly toMs: number | null },
): boolean {
  return (fromMs === null || endedMs >= fromMs) && (toMs === null || endedMs <= toMs);
}

const utf8 = new TextEncoder();
const text = new TextDecoder();

export function encodeLoginRecord(login: LoginRecord): Uint8Array<ArrayBuffer> {
  const { user, client, source, place, factor, startedMs, endedMs, outcome, refusedFor, denial } = login;
  const moments: unknown[] = [];
  for (const { atMs, step, row } of login.moments) moments.push(atMs - startedMs, step, row);
  return utf8.encode(
    JSON.stringify([
      user,
      client,
      source,
      place,
      factor,
      startedMs,
      endedMs - startedMs,
      outcome,
      refusedFor,
      moments,
      login.passwordRight ? 1 : 0,
      login.target,
      login.phone,
      denial === undefined ? null : [denial.cause, denial.by],
      login.policy,
      login.token,
      login.firstFactorServer,
      login.relay === undefined ? undefined : [login.relay.method, login.relay.outer],
    ]),
  );
}

/** `null` for any other value. */
export function decodeLoginRecord(value: unknown): LoginRecord | null {
  if (!(value instanceof Uint8Array)) return null;
  try {
    return readList(JSON.parse(text.decode(value)));
  } catch (_notJson) {
    return null;
  }
}

function readList(list: unknown): LoginRecord | null {
  if (!Array.isArray(list)) return null;
  const [user, client, source, place, factor, startedMs, tookMs, outcome, refusedFor, packed, right] = list;
  const [target, phone, storedDenial, policy, token, firstFactorServer, storedRelay] = list.slice(11);
  const relay = readRelay(storedRelay);
  const denial = readDenial(storedDenial);
  const texts = [user, client, source, place, outcome];
  if (!texts.every((one) => typeof one === "string") || !Array.isArray(packed)) return null;
  if (typeof startedMs !== "number" || typeof tookMs !== "number") return null;
  const moments: { atMs: number; step: string; row: string }[] = [];
  for (let at = 0; at + 2 < packed.length; at += 3) {
    moments.push({
      atMs: startedMs + Number(packed[at]),
      step: String(packed[at + 1]),
      row: String(packed[at + 2]),
    });
  }
  return {
    user,
    client,
    source,
    place,
    factor: typeof factor === "string" ? factor : null,
    startedMs,
    endedMs: startedMs + tookMs,
    outcome,
    refusedFor: typeof refusedFor === "string" ? refusedFor : null,
    moments,
    passwordRight: right === 1,
    ...(typeof target === "string" ? { target } : {}),
    ...(typeof phone === "string" ? { phone } : {}),
    ...(denial === undefined ? {} : { denial }),
    ...(typeof policy === "string" ? { policy } : {}),
    ...(typeof token === "string" ? { token } : {}),
    ...(typeof firstFactorServer === "string" ? { firstFactorServer } : {}),
    ...(relay === undefined ? {} : { relay }),
  };
}

/** `undefined` for anything else. */
function readRelay(stored: unknown): RelayedSignIn | undefined {
  if (!Array.isArray(stored) || !stored.every((one) => typeof one === "string")) return undefined;
  const [method = "", outer = ""] = stored;
  return { method, outer };
}

/** Rows that refuse a code of an app, a token or a list. */
export const WRONG_CODE_ROWS: ReadonlySet<string> = new Set([
  "code_wrong",
  "code_used",
  "code_before_last_step",
  "code_of_fast_clock",
  "code_of_slow_clock",
]);
/** Rows that refuse what the user typed. */
const WRONG_ANSWERS: ReadonlySet<string> = new Set([
  ...WRONG_CODE_ROWS,
  "otp_wrong",
  "text_code_wrong",
  "call_code_wrong",
  "typed_text_code_wrong",
  "typed_call_code_wrong",
]);
/** Decisions of the user on the phone. */
const PHONE_ANSWERS: ReadonlySet<string> = new Set([
  "decided_approved",
  "decided_phone",
  "decided_wrong_number",
]);

/** How long the user took to answer the second factor; `null` if the login asked for none, or if the user did not answer. */
export function answeredAfterMs(
  { factor, outcome, startedMs, endedMs, moments }:
    & Pick<
      LoginRecord,
      "factor" | "startedMs" | "endedMs" | "moments"
    >
    & { readonly outcome: string | null },
): number | null {
  if (factor === null || (outcome !== "accepted" && outcome !== "rejected")) return null;
  const [decision, last] = [moments.at(-2), moments.at(-1)];
  if (decision !== undefined && PHONE_ANSWERS.has(decision.row)) return decision.atMs - startedMs;
  const isAnswered = outcome === "accepted" || WRONG_ANSWERS.has(last?.row ?? "");
  return isAnswered ? endedMs - startedMs : null;
}

/** The bounds of the buckets grow by the square root of two, from 1 ms on. */
export const TIME_BUCKETS = 44;

/** Clients with their own count. All further clients share {@link OTHER_CLIENTS}. */
export const MAX_COUNTED_CLIENTS = 200;
export const OTHER_CLIENTS = "(others)";

/** The bucket of a duration. */
export function bucketOf(tookMs: number): number {
  if (!(tookMs > 1)) return 0;
  return Math.min(TIME_BUCKETS - 1, Math.ceil(2 * Math.log2(tookMs)));
}
