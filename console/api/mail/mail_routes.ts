// Routes of the mail queue: its state, waiting and failed mails, the test message, and the templates.

import { Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import { MailRefusal } from "../../../platform/mail/mail.ts";
import type { MailName } from "../../../platform/mail/mail_records.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import {
  MAIL_LANGUAGES,
  MAIL_TEMPLATES,
  type MailLanguage,
  type MailTemplateName,
  mailTemplateRow,
  mailTime,
  placeholdersOf,
  templateProblems,
} from "../../../platform/mail/mail_templates.ts";
import type { SmtpOutcome } from "../../../platform/mail/smtp_transport.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { commitChanges } from "../../../platform/table.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody, queryValues, textUpTo, wholeNumber } from "../hono_env.ts";
import type { MailAnswer, MailList, MailTest, TemplatePreview, TemplateView } from "./mail_types.ts";

export interface MailRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Absent: the console runs without the gateway. */
  readonly mail?: MailService;
}

/** The mails of one request. */
const MAX_NAMES = 100;
const NAME = v.strictObject({
  about: v.pipe(v.string(), v.minLength(1), v.maxLength(300)),
  id: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
});
const NAMES = v.pipe(v.array(NAME), v.minLength(1), v.maxLength(MAX_NAMES));
const STATE = v.picklist(["waiting", "failed"]);
const LIST = v.object({
  state: STATE,
  after: v.optional(textUpTo(500), ""),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
});
const SEND_AGAIN = v.strictObject({ mails: NAMES });
const REMOVE = v.strictObject({ state: STATE, mails: NAMES });
const TEST = v.strictObject({ to: textUpTo(254), language: v.optional(v.picklist(MAIL_LANGUAGES)) });

export function createMailRoutes(deps: MailRouteDeps) {
  const { clock, store } = deps;
  const mail = () => requireMail(deps.mail);
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), (c) => c.json(mailAnswer(mail(), clock.nowMs())))
    .get("/list", may("viewer", { countsAsUse: false }), queryValues(LIST), async (c) => {
      const { state, after, size } = c.req.valid("query");
      const rows = await mail().admin.list(state, { after: parseAfter(after), limit: size });
      const last = rows.length < size ? undefined : rows.at(-1);
      const next = last === undefined ? null : `${last.id}${last.about}`;
      return c.json({ nowMs: clock.nowMs(), rows, next } satisfies MailList);
    })
    .post("/send-again", may("operator"), jsonBody(SEND_AGAIN), async (c) => {
      return c.json({ sent: await mail().admin.sendAgain(c.req.valid("json").mails, callerOf(c)) });
    })
    .post("/remove", may("operator"), jsonBody(REMOVE), async (c) => {
      const { state, mails } = c.req.valid("json");
      return c.json({ removed: await mail().admin.remove(state, mails, callerOf(c)) });
    })
    .post("/test", may("owner", { recentFactor: true, sendsTest: true }), jsonBody(TEST), async (c) => {
      const { to, language = mail().config.mail.language } = c.req.valid("json");
      const startedMs = clock.nowMs();
      const { actor, source } = callerOf(c);
      const outcome = await withMailErrors(() =>
        mail().try(mail().config, { to, administrator: actor, language })
      );
      const problem = outcome.ok ? null : outcome.code;
      await store.commit({
        mutations: [
          auditEntry({ action: "mail.test", actor, source, object: "mail:test", after: to, problem }),
        ],
      });
      const { ok, detail } = outcome;
      return c.json({ ok, problem, detail, tookMs: clock.nowMs() - startedMs } satisfies MailTest);
    })
    .route("/templates", createTemplateRoutes(deps, mail));
}

/** @throws Refusal `no_directory` if the console runs without the gateway. */
function requireMail(mail: MailService | undefined): MailService {
  if (mail === undefined) throw new Refusal("no_directory");
  return mail;
}

/** @throws Refusal with the reason of a {@link MailRefusal} */
export async function withMailErrors(work: () => Promise<SmtpOutcome>): Promise<SmtpOutcome> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof MailRefusal) throw new Refusal(fault.reason);
    throw fault;
  }
}

function mailAnswer(service: MailService, nowMs: number): MailAnswer {
  const { host, port, security, from, perMinute, language } = service.config.mail;
  const status = service.status();
  return {
    nowMs,
    status,
    server: from === null || host === "" ? null : { host, port, security, from: from.address, perMinute },
    language,
  };
}

/** The mail that a page follows: its id, then what it is about. */
function parseAfter(text: string): MailName | null {
  const [, id, about] = /^([0-9a-f]{32})(.{1,300})$/s.exec(text) ?? [];
  return id === undefined || about === undefined ? null : { id, about };
}

const TEMPLATES = Object.keys(MAIL_TEMPLATES) as MailTemplateName[];
const TEMPLATE_TEXT = { subject: textUpTo(1000), body: textUpTo(20_000) };
const CHANGE = v.strictObject(TEMPLATE_TEXT);
const PREVIEW = v.strictObject({
  name: v.picklist(TEMPLATES),
  language: v.picklist(MAIL_LANGUAGES),
  ...TEMPLATE_TEXT,
});

/** @param service throws a Refusal if the console runs without the gateway. */
function createTemplateRoutes({ store, clock }: MailRouteDeps, service: () => MailService) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), (c) => c.json({ templates: templateViews(service()) }))
    .post("/preview", may("owner", { countsAsUse: false }), jsonBody(PREVIEW), (c) => {
      const { name, language, subject, body } = c.req.valid("json");
      const values = sampleValues(language, clock.nowMs());
      const filled = service().preview({ subject, body }, values);
      return c.json(
        {
          problems: templateProblems(name, { subject, body }),
          subject: filled.subject,
          text: filled.text,
        } satisfies TemplatePreview,
      );
    })
    .put(
      "/:name/:language",
      // A text leads users to an address, and mails contain links to sign-in methods.
      may("owner", { recentFactor: true }),
      jsonBody(CHANGE),
      async (c) => {
        const { name, language } = templateOf(c.req.param("name"), c.req.param("language"));
        const { subject, body } = c.req.valid("json");
        const [problem] = templateProblems(name, { subject, body });
        if (problem !== undefined) throw new Refusal("bad_mail_template");
        const { actor, source } = callerOf(c);
        const { templates } = service();
        const before = templates.textOf(name, language).subject;
        const change = templates.change(name, language, {
          subject,
          body,
          atMs: clock.nowMs(),
          by: actor,
        });
        const object = `mail:${name}.${language}`;
        const audit = auditEntry({
          action: "mail.template_change",
          actor,
          source,
          object,
          before,
          after: subject,
        });
        await commitChanges(store, [change], { also: [audit] });
        return c.json({ templates: templateViews(service()) });
      },
    )
    .delete("/:name/:language", may("owner", { recentFactor: true }), async (c) => {
      const { name, language } = templateOf(c.req.param("name"), c.req.param("language"));
      const { actor, source } = callerOf(c);
      const change = service().templates.change(name, language, null);
      const object = `mail:${name}.${language}`;
      const audit = auditEntry({ action: "mail.template_reset", actor, source, object });
      await commitChanges(store, [change], { also: [audit] });
      return c.json({ templates: templateViews(service()) });
    });
}

function templateOf(name: string, language: string): { name: MailTemplateName; language: MailLanguage } {
  const found = TEMPLATES.find((one) => one === name);
  const spoken = MAIL_LANGUAGES.find((one) => one === language);
  if (found === undefined || spoken === undefined) throw new Refusal("not_found");
  return { name: found, language: spoken };
}

function templateViews({ templates }: MailService): TemplateView[] {
  return TEMPLATES.flatMap((name) =>
    MAIL_LANGUAGES.map((language): TemplateView => {
      const changed = templates.changed(name, language);
      const { subject, body } = templates.textOf(name, language);
      return {
        ...{ name, language, subject, body },
        changed: changed === null ? null : { atMs: changed.atMs, by: changed.by },
        placeholders: placeholdersOf(name),
        required: mailTemplateRow(name).required,
      };
    })
  );
}

/** The values of a preview. */
function sampleValues(language: MailLanguage, nowMs: number): Record<string, string> {
  const isGerman = language === "de";
  return {
    userName: "ada",
    displayName: "Ada Lovelace",
    link: "https://login.example.com/device/#invitation=…",
    until: mailTime(nowMs + 72 * HOUR_MS, language),
    deadline: mailTime(nowMs + 14 * 24 * HOUR_MS, language),
    time: mailTime(nowMs, language),
    helpText: isGerman ? "Helpdesk: +49 30 1234567" : "Help desk: +44 20 7946 0000",
    administrator: "grace",
    uses: "1",
    title: isGerman ? "Ein Konto wurde gesperrt: ada" : "An account was locked: ada",
    details: isGerman ? "10 Fehlversuche in 15 Minuten." : "10 failed attempts in 15 minutes.",
    node: "gateway-1",
  };
}
