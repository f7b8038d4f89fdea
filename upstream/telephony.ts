// The client of an external telephony service: Calls.json and Messages.json of the dated interface 2010-04-01, with
// Basic credentials (RFC 7617).

import type { Outcome, TelephonyService } from "../radius/doing/ports.ts";
import { nonsense } from "./faults.ts";
import type { HttpAnswer, HttpCaller } from "./http.ts";
import { encodeForm, type Parameters, percentEncode } from "./percent_encoding.ts";
import { isIdentifier } from "./records.ts";
import { voiceMarkup } from "./voice_markup.ts";

/** Where the service is, who pays, and which number is shown to the person called. */
export interface TelephonySettings {
  readonly url: string;
  readonly accountId: string;
  readonly authToken: string;
  readonly from: string;
  /** "": the markup goes into the Twiml field; else the Url field points here, with the markup in its query. */
  readonly twimlEchoUrl: string;
  /** Over one call: the wait for a connection, the request, the body. */
  readonly timeoutMs: number;
}

const MAX_VALIDITY_SECONDS = 36_000;

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
    { form, secrets }: { form: Parameters; secrets: readonly string[] },
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
        form: [["From", settings.from], ["To", to], markupField(voiceMarkup(intro, digits), settings)],
        secrets: [digits],
      }),
  };
}

/** The markup as a field: encoded once inside the address of the echo service, and again by the form around it. */
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
    : nonsense("an answer without a sid");
}
