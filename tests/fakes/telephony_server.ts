// A telephony service for tests: Calls.json and Messages.json over real HTTP, the provider's magic numbers and error
// bodies, every request recorded, and any fault on demand.

import {
  type Handling,
  type RawReply,
  type RawRequest,
  type RawServer,
  type ServiceFault,
  startRawServer,
} from "./raw_http.ts";

/** One request as it arrived. `body` is the form before decoding. `authorized`: its Basic credentials are right. */
export interface RecordedSend extends RawRequest {
  readonly kind: "call" | "text" | "other";
  readonly form: URLSearchParams;
  readonly authorized: boolean;
  /** The speech of a call: introduction and digits, from the markup (Twiml or the query of Url). */
  readonly spoken: readonly string[];
}

/** The running fake. */
export interface FakeTelephony {
  readonly url: string;
  readonly accountId: string;
  readonly authToken: string;
  /** A number of the account, for From. */
  readonly from: string;
  readonly requests: readonly RecordedSend[];
  /** The connections below; see raw_http.ts. */
  readonly server: RawServer;
  /** The accepted texts and calls (201), in order. */
  taken(): readonly RecordedSend[];
  /** The passcode of the last text or call to `to` that was accepted: the spoken digits, or the last run of digits. */
  lastPasscode(to: string): string | undefined;
  /** The results of the next requests, one for each fault; `undefined` means no fault. */
  failNext(...faults: (ServiceFault | undefined)[]): void;
  /** From now on every request has this fault; `null` ends it. */
  failAlways(fault: ServiceFault | null): void;
  close(): Promise<void>;
}

export interface FakeTelephonyOptions {
  readonly accountId?: string;
  readonly authToken?: string;
  readonly from?: string;
}

/** The refusals of the provider's test credentials, as code and HTTP status, by the number called or texted. */
const MAGIC_TO: Readonly<Record<"call" | "text", ReadonlyMap<string, number>>> = {
  call: new Map([["+15005550001", 21217], ["+15005550002", 21214], ["+15005550003", 21215], [
    "+15005550004",
    21216,
  ]]),
  text: new Map([
    ["+15005550001", 21211],
    ["+15005550002", 21612],
    ["+15005550003", 21408],
    ["+15005550004", 21610],
    ["+15005550009", 21614],
  ]),
};
const MAGIC_FROM: Readonly<Record<"call" | "text", ReadonlyMap<string, number>>> = {
  call: new Map([["+15005550001", 21212]]),
  text: new Map([["+15005550001", 21212], ["+15005550007", 21606], ["+15005550008", 21611]]),
};
const ILL_FORMED: Readonly<Record<"call" | "text", number>> = { call: 13223, text: 21211 };

const MAX_TEXT_CHARACTERS = 1600;

/** Starts on a free port of the loopback address. */
export function startFakeTelephony(options: FakeTelephonyOptions = {}): Promise<FakeTelephony> {
  const {
    accountId = `AC${"0123456789abcdef".repeat(2)}`,
    authToken = "test-auth-token",
    from = "+15005550006",
  } = options;
  const requests: RecordedSend[] = [];
  const taken: RecordedSend[] = [];
  const faults: (ServiceFault | undefined)[] = [];
  let permanent: ServiceFault | null = null;

  const answer = (request: RecordedSend): RawReply => {
    if (!request.authorized) return errorReply(401, 20003);
    if (request.kind === "other" || request.method !== "POST") return errorReply(404, 20404);
    const code = refusalOf(request.kind, request.form);
    if (code !== null) return errorReply(400, code);
    taken.push(request);
    return request.kind === "call" ? callReply(accountId, request.form) : textReply(accountId, request.form);
  };

  const handle = (raw: RawRequest): Handling => {
    // The gateway asks now and then whether the service answers. That is no send.
    if (raw.method === "HEAD") {
      return { reply: permanent?.kind === "status" ? statusReply(permanent) : errorReply(404, 20404) };
    }
    const form = new URLSearchParams(raw.body);
    const request: RecordedSend = {
      ...raw,
      form,
      kind: kindOf(raw.target, accountId),
      authorized: raw.headers.get("authorization") === `Basic ${btoa(`${accountId}:${authToken}`)}`,
      spoken: spokenIn(form),
    };
    requests.push(request);
    const fault = faults.length > 0 ? faults.shift() : permanent ?? undefined;
    if (fault?.kind === "status") return { reply: statusReply(fault) };
    return { reply: answer(request), fault };
  };
  const server = startRawServer(handle);

  return Promise.resolve({
    url: server.url,
    accountId,
    authToken,
    from,
    requests,
    server,
    taken: () => taken,
    lastPasscode(to) {
      const last = taken.findLast((request) => request.form.get("To") === to);
      if (last === undefined) return undefined;
      if (last.kind === "call") return last.spoken.slice(1).join("");
      return (last.form.get("Body") ?? "").match(/\d{4,10}/g)?.at(-1);
    },
    failNext: (...next) => void faults.push(...next),
    failAlways: (fault) => permanent = fault,
    close: () => server.close(),
  });
}

function kindOf(target: string, accountId: string): RecordedSend["kind"] {
  const account = `/2010-04-01/Accounts/${accountId}`;
  if (target === `${account}/Calls.json`) return "call";
  return target === `${account}/Messages.json` ? "text" : "other";
}

function refusalOf(kind: "call" | "text", form: URLSearchParams): number | null {
  const to = form.get("To") ?? "";
  const from = form.get("From") ?? "";
  if (to === "") return kind === "call" ? 21201 : 21604;
  if (from === "") return kind === "call" ? 21213 : 21603;
  if (!/^\+[1-9]\d{6,14}$/.test(to)) return ILL_FORMED[kind];
  const body = form.get("Body") ?? "";
  if (kind === "text" && body === "") return 21602;
  if (kind === "text" && body.length > MAX_TEXT_CHARACTERS) return 21617;
  if (kind === "call" && !form.get("Url") && !form.get("Twiml")) return 21205;
  return MAGIC_TO[kind].get(to) ?? MAGIC_FROM[kind].get(from) ?? null;
}

function spokenIn(form: URLSearchParams): string[] {
  const url = form.get("Url");
  const markup = url === null ? form.get("Twiml") : URL.parse(url)?.searchParams.get("Twiml");
  return [...(markup ?? "").matchAll(/<Say>([^<]*)<\/Say>/g)].map(([, said = ""]) => said);
}

const JSON_HEADERS = { "Content-Type": "application/json; charset=utf-8" };

function errorReply(status: number, code: number): RawReply {
  const body = {
    code,
    message: `Refused with ${code}`,
    more_info: `https://www.example.com/docs/errors/${code}`,
    status,
  };
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

function statusReply({ status, headers, body }: ServiceFault & { kind: "status" }): RawReply {
  const reply = errorReply(status, status === 429 ? 20429 : status);
  return { status, headers: { ...reply.headers, ...headers }, body: body ?? reply.body };
}

function randomSid(prefix: string): string {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}

function callReply(accountId: string, form: URLSearchParams): RawReply {
  const sid = randomSid("CA");
  const body = {
    sid,
    account_sid: accountId,
    api_version: "2010-04-01",
    status: "queued",
    to: form.get("To"),
    from: form.get("From"),
    direction: "outbound-api",
    date_created: null,
    price: null,
    uri: `/2010-04-01/Accounts/${accountId}/Calls/${sid}.json`,
    subresource_uris: {},
  };
  return { status: 201, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

function textReply(accountId: string, form: URLSearchParams): RawReply {
  const sid = randomSid("SM");
  const body = {
    sid,
    account_sid: accountId,
    api_version: "2010-04-01",
    status: "queued",
    to: form.get("To"),
    from: form.get("From"),
    direction: "outbound-api",
    num_segments: "1",
    error_code: null,
    error_message: null,
    uri: `/2010-04-01/Accounts/${accountId}/Messages/${sid}.json`,
  };
  return { status: 201, headers: JSON_HEADERS, body: JSON.stringify(body) };
}
