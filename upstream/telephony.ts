// The client of an external telephony service: Calls.json and Messages.json of the dated interface 2010-04-01, with
// Basic credentials (RFC 7617).

import { type Fetch, fetchWithDeadline } from "../platform/fetch_with_deadline.ts";
import type { Outcome, TelephonyService } from "../radius/ports.ts";
import type { Clock } from "../platform/runtime.ts";
import { type HttpAnswer, type HttpCaller, malformed } from "./http/service_caller.ts";
import { isIdentifier } from "./second_factor.ts";
import { encodeForm, type FormParameters, percentEncode } from "./http/oauth1.ts";

/** The address and the account of the service, and the number that the recipient sees. */
interface TelephonySettings {
  readonly url: string;
  readonly accountId: string;
  readonly authToken: string;
  readonly from: string;
  /** "": the form has the markup in Twiml. Otherwise it has this address in Url, with the markup in its query. */
  readonly twimlEchoUrl: string;
  /** For a whole call: the wait for a connection, the request, the body. */
  readonly timeoutMs: number;
}

const MAX_VALIDITY_SECONDS = 36_000;

/** The maximum that the telephony service accepts in its `Twiml` field. */
export const MAX_TWIML_CHARACTERS = 4000;

const PAUSE = '<Pause length="1"/>';

const XML_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

/** The characters that XML 1.0 §2.2 does not allow. Lone surrogates are replaced before. */
// deno-lint-ignore no-control-regex
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** @param deps.userAgent sent with every call. */
export function createTelephonyClient(
  deps: { caller: HttpCaller; settings: TelephonySettings; userAgent: string },
): TelephonyService {
  const { caller, settings } = deps;
  const account = `${
    settings.url.endsWith("/") ? settings.url.slice(0, -1) : settings.url
  }/2010-04-01/Accounts/${percentEncode(settings.accountId)}`;

  const send = async (
    resource: "Calls.json" | "Messages.json",
    { form, secrets }: { form: FormParameters; secrets: readonly string[] },
  ): Promise<Outcome<{ id: string }>> =>
    readSid(
      await caller.call({
        method: "POST",
        url: `${account}/${resource}`,
        headers: () => ({
          "Accept": "application/json",
          "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
          "User-Agent": deps.userAgent,
          "Authorization": basicCredentials(settings.accountId, settings.authToken),
        }),
        body: encodeForm(form),
        timeoutMs: settings.timeoutMs,
        readError: (body) => ({ code: body.member("code"), detail: body.member("message") }),
        secrets: [settings.authToken, ...secrets],
      }),
    );

  return {
    embedded: false,
    text: ({ to, body, validitySeconds }) =>
      send("Messages.json", {
        form: [
          ["To", to],
          ["From", settings.from],
          ["Body", body],
          ["ValidityPeriod", String(clampValidity(validitySeconds))],
        ],
        secrets: [body],
      }),
    call: ({ to, intro, digits }) =>
      send("Calls.json", {
        form: [["From", settings.from], ["To", to], markupField(renderTwiml(intro, digits), settings)],
        secrets: [digits],
      }),
  };
}

/** The markup as a field of the form. The query of an echo address encodes it once, and the form encodes it again. */
function markupField(markup: string, { twimlEchoUrl }: TelephonySettings): readonly [string, string] {
  if (twimlEchoUrl === "") return ["Twiml", markup];
  const separator = twimlEchoUrl.includes("?") ? "&" : "?";
  return ["Url", `${twimlEchoUrl}${separator}Twiml=${percentEncode(markup)}`];
}

/** RFC 7617: user and password as UTF-8 in Base64. */
function basicCredentials(user: string, password: string): string {
  return `Basic ${new TextEncoder().encode(`${user}:${password}`).toBase64()}`;
}

function clampValidity(seconds: number): number {
  return Math.min(MAX_VALIDITY_SECONDS, Math.max(1, Math.ceil(seconds)));
}

function readSid(answer: Outcome<HttpAnswer>): Outcome<{ id: string }> {
  if (!answer.ok) return answer;
  const sid = answer.value.body.member("sid");
  return typeof sid === "string" && isIdentifier(sid)
    ? { ok: true, value: { id: sid } }
    : malformed("an answer without a sid");
}

/**
 * The voice markup of a call, at most {@link MAX_TWIML_CHARACTERS}: one Response with a Say for the introduction, then a
 * Say per digit with a Pause between digits. A long introduction is cut; the digits are not.
 *
 * @param intro any text; names in it may be hostile.
 * @param digits 1 to 20 decimal digits.
 * @throws {RangeError} on other digits.
 */
export function renderTwiml(intro: string, digits: string): string {
  if (!/^\d{1,20}$/.test(digits)) throw new RangeError("Cannot speak a passcode: it is not 1 to 20 digits");
  const spoken = [...digits].map((digit) => `<Say>${digit}</Say>`).join(PAUSE);
  const frame = `<Response><Say></Say>${spoken}</Response>`;
  return `<Response><Say>${
    escapeWithin(intro, MAX_TWIML_CHARACTERS - frame.length)
  }</Say>${spoken}</Response>`;
}

/** `text` escaped for XML, cut between characters so that the result has at most `room` characters. */
function escapeWithin(text: string, room: number): string {
  let escaped = "";
  for (const character of text.slice(0, room).toWellFormed().replace(NOT_XML, "")) {
    const next = XML_ESCAPES.get(character) ?? character;
    if (escaped.length + next.length > room) break;
    escaped += next;
  }
  return escaped;
}

/** The result of a probe; `detail` is for an administrator. */
export interface Reachability {
  readonly ok: boolean;
  readonly detail: string;
}

/**
 * Asks whether the service answers: it has no call without an effect, so the probe is a HEAD of its address. Any answer
 * but a server error is good.
 */
export function createReachabilityProbe(
  { url, timeoutMs }: Pick<TelephonySettings, "url" | "timeoutMs">,
  { fetch, clock }: { fetch: Fetch; clock: Clock },
): () => Promise<Reachability> {
  return async () => {
    const limits = { fetch, clock, deadlineMs: clock.nowMs() + timeoutMs, maxOctets: 0 };
    const answer = await fetchWithDeadline({ method: "HEAD", url, headers: {} }, limits);
    if (!answer.ok) return { ok: false, detail: "It did not answer." };
    return { ok: answer.status < 500, detail: `It answered with status ${answer.status}.` };
  };
}
