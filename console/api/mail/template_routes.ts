// The templates of mails: read, preview, change, and reset.

import { Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import {
  MAIL_LANGUAGES,
  MAIL_TEMPLATES,
  type MailLanguage,
  type MailTemplateName,
  mailTemplateRow,
} from "../../../platform/mail/mail_templates.ts";
import { mailTime } from "../../../platform/mail/mail_time.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { placeholdersOf, templateProblems } from "../../../platform/mail/mail_text.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import type { TemplatePreview, TemplateView } from "./mail_types.ts";

const NAMES = Object.keys(MAIL_TEMPLATES) as MailTemplateName[];
const TEXT = { subject: textUpTo(1000), body: textUpTo(20_000) };
const CHANGE = v.strictObject(TEXT);
const PREVIEW = v.strictObject({
  name: v.picklist(NAMES),
  language: v.picklist(MAIL_LANGUAGES),
  ...TEXT,
});

export interface TemplateRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** @param service throws a Refusal if the console runs without the gateway. */
export function createTemplateRoutes({ store, clock }: TemplateRouteDeps, service: () => MailService) {
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
        const change = templates.prepareChange(name, language, {
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
        await store.commit({ mutations: [change.mutation, audit] });
        change.done();
        return c.json({ templates: templateViews(service()) });
      },
    )
    .delete("/:name/:language", may("owner", { recentFactor: true }), async (c) => {
      const { name, language } = templateOf(c.req.param("name"), c.req.param("language"));
      const { actor, source } = callerOf(c);
      const change = service().templates.prepareChange(name, language, null);
      const object = `mail:${name}.${language}`;
      await store.commit({
        mutations: [change.mutation, auditEntry({ action: "mail.template_reset", actor, source, object })],
      });
      change.done();
      return c.json({ templates: templateViews(service()) });
    });
}

function templateOf(name: string, language: string): { name: MailTemplateName; language: MailLanguage } {
  const found = NAMES.find((one) => one === name);
  const spoken = MAIL_LANGUAGES.find((one) => one === language);
  if (found === undefined || spoken === undefined) throw new Refusal("not_found");
  return { name: found, language: spoken };
}

function templateViews({ templates }: MailService): TemplateView[] {
  return NAMES.flatMap((name) =>
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
