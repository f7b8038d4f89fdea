// The mail queue: its state, waiting and failed mails, the test message, and the templates.

import { Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import { MailRefusal } from "../../../platform/mail/mail.ts";
import type { MailName } from "../../../platform/mail/mail_records.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import { MAIL_LANGUAGES } from "../../../platform/mail/mail_templates.ts";
import type { SmtpOutcome } from "../../../platform/mail/smtp_transport.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody, queryValues, textUpTo, wholeNumber } from "../hono_env.ts";
import { createTemplateRoutes, type TemplateRouteDeps } from "./template_routes.ts";
import type { MailAnswer, MailList, MailTest } from "./mail_types.ts";

export interface MailRouteDeps extends TemplateRouteDeps {
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
