// The page that confirms one login, as HTML without script. Opening it decides nothing.

import en from "../web/i18n/en.json" with { type: "json" };
import type { OwnRequest } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { Dist } from "../assets.ts";
import { formatMessage, type Language, type MessageKey, type MessageValues } from "../web/i18n/catalogue.ts";

/** The content of the page. */
export type ApproveView =
  /** `isIncomplete`: approved without the required number. */
  | { readonly kind: "question"; readonly request: OwnRequest; readonly isIncomplete: boolean }
  /** `lockedUntilMs`: the user is locked. */
  | {
    readonly kind: "answered";
    readonly request: OwnRequest;
    readonly wasWrongNumber: boolean;
    readonly wasNotMe: boolean;
    readonly lockedUntilMs: number | null;
  }
  | { readonly kind: "unknown" | "signed_out" | "no_service" };

interface ApproveContext {
  readonly language: Language;
  readonly text: ApproveText;
  readonly nowMs: number;
  readonly dist: Dist;
  /** The address of this page. */
  readonly path: string;
  /** The page of the visitor: the account page, the phone page, or none. */
  readonly home: "me" | "phone" | null;
  /** The name of the phone that receives the request; `null` if it has none. */
  readonly phone: string | null;
}

const STATES = {
  approved: { title: "approve.approved", next: "approve.approved_next" },
  denied: { title: "approve.denied", next: "approve.denied_next" },
  expired: { title: "approve.expired", next: "approve.expired_next" },
  cancelled: { title: "approve.cancelled", next: "approve.cancelled_next" },
  waiting: { title: "device.question", next: "approve.number_missing" },
} as const satisfies Record<OwnRequest["state"], { title: ApproveKey; next: ApproveKey }>;

export function approvePage(view: ApproveView, context: ApproveContext): string {
  const { text, language, dist } = context;
  const styles = dist.manifest.pages.approve?.styles ?? [];
  const page = html`
    <!doctype html>
    <html lang="${language}">
      <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="referrer" content="same-origin">
    <meta name="robots" content="noindex">
    <title>${text("approve.title")} · Countersign</title>
    <link rel="icon" href="/assets/${dist.manifest.icon}" type="image/svg+xml">
    ${styles.map((name) => html`<link rel="stylesheet" href="/assets/${name}">`)}
      </head>
      <body>
        <main class="phone approve">
    <p class="wordmark">Countersign</p>
    ${bodyOf(view, context)}
    ${homeOf(context)}
        </main>
      </body>
    </html>
  `;
  return page.markup;
}

function bodyOf(view: ApproveView, context: ApproveContext): Html {
  const { text } = context;
  switch (view.kind) {
    case "question":
      return question(view, context);
    case "answered":
      return answered(view, context);
    case "signed_out":
      return html`
        <section class="card">
          <h1>${text("approve.signed_out")}</h1>
          <p>${text("approve.signed_out_next")}</p>
          <p><a class="button" href="${context.path}">${text("approve.open_again")}</a></p>
        </section>
      `;
    case "unknown":
    case "no_service":
      return html`
        <section class="card">
          <h1>${text(`approve.${view.kind}`)}</h1>
          <p>${text(`approve.${view.kind}_next`)}</p>
        </section>
      `;
  }
}

function question(
  { request, isIncomplete }: Extract<ApproveView, { kind: "question" }>,
  context: ApproveContext,
): Html {
  const { text, path } = context;
  return html`<form class="card request" method="post" action="${path}" aria-labelledby="question">
<h1 id="question">${text("device.question")}</h1>
${factsOf(request, context)}
${request.asksNumber ? numberField(text, isIncomplete) : null}
<div class="choices">
<button class="button button-primary" name="decision" value="approve">${text("device.approve")}</button>
<button class="button button-bad" name="decision" value="deny" formnovalidate>${text("common.deny")}</button>
</div>
</form>
${notMeForm(context, "approve.not_me_what")}`;
}

function factsOf(request: OwnRequest, { text, nowMs, phone }: ApproveContext): Html {
  const { terminalName, requesterName, userName, client, place, createdMs, deadlineMs } = request;
  const asked = {
    count: String(Math.max(0, Math.floor((nowMs - createdMs) / 1000))),
    time: timeOf(createdMs),
  };
  const left = { count: String(Math.max(0, Math.ceil((deadlineMs - nowMs) / 1000))) };
  return html`
    <dl class="facts">
      <dt>${text("device.application")}</dt>
      <dd>${terminalName || requesterName}</dd>
      <dt>${text("common.user")}</dt>
      <dd class="mono">${userName}</dd>
      <dt>${text("device.network")}</dt>
      <dd class="mono">${client}</dd>
      <dt>${text("device.from")}</dt>
      <dd class="mono">${place || text("device.not_known")}</dd>
      ${phone === null ? null : html`
        <dt>${text("common.phone")}</dt>
        <dd>${phone}</dd>
      `}
      <dt>${text("approve.asked")}</dt>
      <dd>${text("approve.asked_ago", asked)}</dd>
      <dt>${text("common.time_left")}</dt>
      <dd>${text("approve.left_seconds", left)}</dd>
    </dl>
  `;
}

function numberField(text: ApproveText, isIncomplete: boolean): Html {
  return html`<div class="field number-field">
<label for="number">${text("device.number")}</label>
<input id="number" name="number" class="input mono" inputmode="numeric" autocomplete="off" required
 maxlength="2" pattern="[0-9]{2}" aria-describedby="${isIncomplete ? "number-problem" : "number-hint"}"${
    isIncomplete
      ? html`
        aria-invalid="true"
      `
      : null
  }>
<span class="hint" id="number-hint">${text("approve.number_hint")}</span>
${
    isIncomplete
      ? html`<span class="problem" id="number-problem">${text("approve.number_missing")}</span>`
      : null
  }
</div>`;
}

function notMeForm({ text, path }: ApproveContext, what: ApproveKey): Html {
  return html`
    <form class="card disown" method="post" action="${path}">
      ${what === "device.denied_what" ? html`<h2>${text("device.denied_question")}</h2>` : null}
      <p id="disown-what">${text(what)}</p>
      <button class="button button-bad" name="decision" value="not_me"
        aria-describedby="disown-what">${text("common.not_me")}</button>
    </form>
  `;
}

function answered(
  { request, wasWrongNumber, wasNotMe, lockedUntilMs }: Extract<ApproveView, { kind: "answered" }>,
  context: ApproveContext,
): Html {
  const { text } = context;
  const { title, next } = STATES[request.state];
  const isDenied = request.state === "denied";
  const locked = lockedUntilMs === null
    ? null
    : html`<p>${text("approve.locked", { time: timeOf(lockedUntilMs) })}</p>`;
  return html`<section class="card">
<h1>${text(title)}</h1>
<p>${text(isDenied && wasWrongNumber ? "approve.wrong_number_next" : next)}</p>
${wasNotMe && lockedUntilMs !== null ? html`<p>${text("approve.told")}</p>` : null}
${locked}
</section>
${
    wasNotMe || lockedUntilMs !== null
      ? null
      : notMeForm(context, isDenied ? "device.denied_what" : "approve.not_me_what")
  }`;
}

function homeOf({ text, home }: ApproveContext): Html | null {
  if (home === null) return null;
  return home === "me"
    ? html`<p class="home"><a href="/me">${text("approve.my_page")}</a></p>`
    : html`<p class="home"><a href="/device/">${text("approve.my_phone")}</a></p>`;
}

/** In UTC, because the server does not know the time zone of the visitor. */
function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

/** Markup that is inserted without escaping. */
interface Html {
  readonly markup: string;
}

type Value = string | number | Html | readonly Html[] | null;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** @example html`<p>${name}</p>` */
function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let markup = parts[0] ?? "";
  values.forEach((value, at) => {
    markup += markupOf(value) + (parts[at + 1] ?? "");
  });
  return { markup };
}

function markupOf(value: Value): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? "");
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}

/**
 * The catalogues of all pages, loaded for the first page: a start does not wait for them. The type requires that each
 * language has every key of the English one.
 */
const CATALOGUES: Readonly<Record<Language, () => Promise<{ readonly default: Readonly<typeof en> }>>> = {
  en: () => import("../web/i18n/en.json", { with: { type: "json" } }),
  de: () => import("../web/i18n/de.json", { with: { type: "json" } }),
};

type ApproveKey = Extract<MessageKey, `${"approve" | "common" | "device"}.${string}`>;

/** Returns the message of a key in one language. */
type ApproveText = (key: ApproveKey, values?: MessageValues) => string;

export async function loadApproveText(language: Language): Promise<ApproveText> {
  const { default: catalogue } = await CATALOGUES[language]();
  return (key, values = {}) => formatMessage(catalogue[key], { language, values });
}
