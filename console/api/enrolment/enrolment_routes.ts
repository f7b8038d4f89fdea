// Enrolment over HTTP: campaigns, the report of all users with its export, and deadlines.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import { commitChanges } from "../../../platform/table.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Target } from "../../../scim/ports.ts";
import { may } from "../auth/permissions.ts";
import { targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { exportFormats, fileHeaders, streamLines } from "../file_export.ts";
import {
  type Caller,
  callerOf,
  EMPTY,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  wholeNumber,
} from "../hono_env.ts";
import { ENROLLED_FACTORS } from "../reports/enrolment.ts";
import { USER_FILTERS } from "../users/user_list.ts";
import {
  type CampaignChoice,
  type CampaignOptions,
  type CampaignPreview,
  type CampaignResult,
  candidateOf,
  chosenNames,
  readCandidate,
  type SkipReason,
  sourceOf,
  type StoredCampaign,
  whyNotInvited,
} from "./campaigns.ts";
import { ENROLMENT_ORDERS, ENROLMENT_STATUSES, type EnrolmentRow } from "./enrolment_report.ts";
import type { EnrolmentService } from "./enrolment_service.ts";

export interface EnrolmentRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly enrolment?: EnrolmentService | undefined;
}

const NAME = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const FILTERS = {
  q: v.optional(textUpTo(256), ""),
  status: optionalChoice(ENROLMENT_STATUSES),
  factor: optionalChoice([...ENROLLED_FACTORS, "none", "unused"]),
  campaign: v.optional(textUpTo(64), ""),
  group: v.optional(textUpTo(1024), ""),
  sort: v.optional(v.picklist(ENROLMENT_ORDERS), "name"),
};
const REPORT = v.object({
  ...FILTERS,
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 50 }),
});
const EXPORT = v.object({ ...FILTERS, format: v.optional(v.picklist(["csv", "json"]), "csv") });
const MAX_MS = 8.64e15;
const DEADLINE = v.strictObject({
  choice: v.union([
    v.strictObject({
      names: v.pipe(v.array(NAME), v.minLength(1), v.maxLength(10_000)),
    }),
    v.strictObject({ campaign: textUpTo(64) }),
  ]),
  deadlineMs: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_MS))),
});
/** An export waits this long for the users. */
const EXPORT_WAIT_MS = 60_000;

export function createEnrolmentRoutes({ enrolment }: EnrolmentRouteDeps) {
  const required = (): EnrolmentService => {
    if (enrolment === undefined) throw new Refusal("no_directory");
    return enrolment;
  };
  return new Hono<HttpEnv>()
    .route("/campaigns", createCampaignRoutes(required))
    .get("/options", may("viewer"), (c) => c.json(required().options()))
    .get("/report", may("viewer", { countsAsUse: false }), queryValues(REPORT), async (c) => {
      return c.json(await required().table.page(c.req.valid("query")));
    })
    .get("/report/export", may("viewer"), queryValues(EXPORT), async (c) => {
      const { format, ...query } = c.req.valid("query");
      const rows = await required().table.rows(query, EXPORT_WAIT_MS);
      if (rows === null) throw new Refusal("overloaded", { "retry-after": "10" });
      const { type, lines } = enrolmentFile(rows, format);
      return c.body(streamLines(lines), 200, fileHeaders(type, `enrolment-report.${format}`));
    })
    .post("/deadline", may("user_manager", { recentFactor: true }), jsonBody(DEADLINE), async (c) => {
      const { choice, deadlineMs } = c.req.valid("json");
      return c.json(await changeDeadlines(required(), { choice, deadlineMs, caller: callerOf(c) }));
    });
}

const COLUMNS = [
  ...["user", "display_name", "status", "factors", "invited", "reminders", "last_reminder"],
  ...["deadline", "last_used", "never_used"],
] as const;

/** The report as a file. */
function enrolmentFile(
  rows: readonly EnrolmentRow[],
  format: "csv" | "json",
): { type: string; lines: AsyncGenerator<string> } {
  const { type, head, line, tail } = exportFormats<Record<string, unknown>>(COLUMNS, {
    cellsOf: (row) => COLUMNS.map((column) => String(row[column] ?? "")),
  })[format];
  const lines = async function* (): AsyncGenerator<string> {
    yield head;
    for (const [at, row] of rows.entries()) yield line(cellsOfRow(row), at);
    yield tail(rows.length);
  };
  return { type, lines: lines() };
}

function cellsOfRow(row: EnrolmentRow): Record<string, unknown> {
  return {
    user: row.name,
    display_name: row.displayName,
    status: row.status,
    factors: row.factors.join(" "),
    invited: isoTime(row.invitedMs),
    reminders: row.reminders,
    last_reminder: isoTime(row.remindedMs),
    deadline: isoTime(row.deadlineMs),
    last_used: isoTime(row.usedMs),
    never_used: row.neverUsed,
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

const CHOICE = v.union([
  v.strictObject({
    names: v.pipe(v.array(NAME), v.minLength(1), v.maxLength(10_000)),
    file: v.optional(textUpTo(200)),
  }),
  v.strictObject({ group: NAME }),
  v.strictObject({ filters: v.strictObject(USER_FILTERS) }),
]);
const whole = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
const OPTIONS = v.strictObject({
  maximum: v.optional(whole(1, 1_000_000), 1_000_000),
  perMinute: v.optional(whole(1, 60_000)),
  deadlineDays: v.optional(whole(0, 365)),
  reminders: v.optional(v.boolean(), true),
  includesNumbers: v.optional(v.boolean(), true),
  again: v.optional(v.boolean(), false),
});
const PREVIEW = v.strictObject({ choice: CHOICE, options: v.optional(OPTIONS, {}) });
const CAMPAIGN = v.strictObject({ name: v.pipe(NAME, v.maxLength(100)), ...PREVIEW.entries });
const RESULTS = v.object({
  did: v.optional(v.picklist(["invited", "skipped"]), "skipped"),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 100 }),
});
const RESULT_EXPORT = v.object({ format: v.optional(v.picklist(["csv", "json"]), "csv") });
const MAX_NAMED = 20;
const RESULT_COLUMNS = ["user", "result", "reason", "time"] as const;
/** Inviting gives people a way to sign in. */
const INVITE = may("user_manager", { recentFactor: true });

function createCampaignRoutes(required: () => EnrolmentService) {
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("viewer", { countsAsUse: false }),
      async (c) => c.json({ campaigns: await required().views() }),
    )
    .post("/preview", may("user_manager"), jsonBody(PREVIEW), async (c) => {
      const service = required();
      const { choice, options } = c.req.valid("json");
      const target = targetOf(service.people, undefined);
      const names = await chosenNames(service.people, target, choice);
      return c.json(await previewCampaign(service, { target, names, options: optionsOf(service, options) }));
    })
    .post("/", INVITE, jsonBody(CAMPAIGN), async (c) => {
      const service = required();
      const { name, choice, options } = c.req.valid("json");
      const stored = await startCampaign(service, c, { name, choice, options: optionsOf(service, options) });
      return c.json({ campaign: service.view(stored) });
    })
    .get("/:id", may("viewer", { countsAsUse: false }), async (c) => {
      const service = required();
      return c.json({ campaign: service.view(await findCampaign(service, c.req.param("id"))) });
    })
    .get("/:id/results", may("viewer"), queryValues(RESULTS), async (c) => {
      const service = required();
      const { id } = await findCampaign(service, c.req.param("id"));
      return c.json(await service.campaigns.results(id, c.req.valid("query")));
    })
    .get("/:id/export", may("viewer"), queryValues(RESULT_EXPORT), async (c) => {
      const service = required();
      const { id } = await findCampaign(service, c.req.param("id"));
      const { format } = c.req.valid("query");
      const type = format === "csv" ? "text/csv; charset=utf-8" : "application/json";
      return c.body(
        streamLines(resultLines(service, id, format)),
        200,
        fileHeaders(type, `campaign.${format}`),
      );
    })
    .post("/:id/cancel", may("user_manager"), jsonBody(EMPTY), async (c) => {
      const service = required();
      const cancelled = await cancelCampaign(service, c.req.param("id"), callerOf(c));
      return c.json({ campaign: service.view(cancelled) });
    });
}

type GivenOptions = v.InferOutput<typeof OPTIONS>;

function optionsOf({ enrolment }: EnrolmentService, given: GivenOptions): CampaignOptions {
  const { perMinute = enrolment.perMinute, deadlineDays = enrolment.deadlineDays } = given;
  return { ...given, perMinute, deadlineDays };
}

/** What a campaign would do now. */
async function previewCampaign(
  service: EnrolmentService,
  { target, names, options }: { target: Target; names: readonly string[]; options: CampaignOptions },
): Promise<CampaignPreview> {
  const skipped: Partial<Record<SkipReason, number>> = {};
  const shown: Partial<Record<SkipReason | "invited", string[]>> = {};
  let invited = 0;
  for (const name of names) {
    const { stored, canonical } = await readCandidate(target, name);
    const reason = whyNotInvited(candidateOf(service, stored, canonical), options) ??
      (invited >= options.maximum ? "over_maximum" : null);
    if (reason === null) invited += 1;
    else skipped[reason] = (skipped[reason] ?? 0) + 1;
    const listed = shown[reason ?? "invited"] ??= [];
    if (listed.length < MAX_NAMED) listed.push(stored?.content.name ?? name);
  }
  return {
    ...{ total: names.length, invited, skipped, names: shown },
    isMailConfigured: service.isMailConfigured,
    canInvite: service.canInvite,
    localUrl: service.localUrl,
    // The queue of mails has a pace of its own.
    minutes: Math.ceil(invited / Math.min(options.perMinute, service.mailsPerMinute)),
  };
}

interface NewCampaign {
  readonly name: string;
  readonly choice: CampaignChoice;
  readonly options: CampaignOptions;
}

/** @throws Refusal `mail_off`, `no_invitations`, `too_many_campaigns`. */
async function startCampaign(
  service: EnrolmentService,
  c: Context<HttpEnv>,
  { name, choice, options }: NewCampaign,
): Promise<StoredCampaign> {
  const { people, campaigns, clock, random } = service;
  if (!service.canInvite) throw new Refusal("no_invitations");
  if (!service.isMailConfigured) throw new Refusal("mail_off");
  const target = targetOf(people, undefined);
  const names = await chosenNames(people, target, choice);
  const room = await campaigns.makeRoom();
  if (room === null) throw new Refusal("too_many_campaigns");
  const { actor, source: address } = callerOf(c);
  const stored = await campaigns.create({
    ...{ name, target: target.name, source: sourceOf(choice), by: actor, address, options },
    ...{ state: "running", wait: null, createdMs: clock.nowMs(), endedMs: null },
    ...{ total: names.length, next: 0, invited: 0, skipped: {} },
  }, {
    names,
    random,
    also: [
      ...room,
      auditEntry({
        ...{
          action: "enrolment.start",
          actor,
          source: address,
          object: `campaign:${name}`,
          count: names.length,
        },
      }),
    ],
  });
  service.runner.wake();
  return stored;
}

async function findCampaign({ campaigns }: EnrolmentService, id: string): Promise<StoredCampaign> {
  const found = await campaigns.read(id);
  if (found === null) throw new Refusal("unknown_campaign");
  return found;
}

const MAX_CANCEL_ATTEMPTS = 20;

/** Users who were not invited yet are not invited, and no user of the campaign is reminded. */
async function cancelCampaign(
  service: EnrolmentService,
  id: string,
  { actor, source }: { actor: string; source: string },
): Promise<StoredCampaign> {
  const { campaigns, store, clock } = service;
  for (let attempt = 0; attempt < MAX_CANCEL_ATTEMPTS; attempt++) {
    const found = await findCampaign(service, id);
    const { record } = found;
    if (record.state === "cancelled") return found;
    const next = { ...record, state: "cancelled", wait: null, endedMs: clock.nowMs() } as const;
    const done = await store.commit({
      checks: [campaigns.check(found)],
      mutations: [
        campaigns.setting(id, next),
        auditEntry({ action: "enrolment.cancel", actor, source, object: `campaign:${record.name}` }),
      ],
    });
    if (done.ok) return { ...found, record: next, versionstamp: done.versionstamp };
  }
  throw new Refusal("changed_meanwhile");
}

async function* resultLines(
  { campaigns }: EnrolmentService,
  id: string,
  format: "csv" | "json",
): AsyncGenerator<string> {
  const cellsOf = (
    row: CampaignResult,
  ) => [row.name, row.did, row.reason ?? "", new Date(row.atMs).toISOString()];
  const { head, line, tail } = exportFormats<CampaignResult>(RESULT_COLUMNS, { cellsOf })[format];
  let count = 0;
  yield head;
  for await (const row of campaigns.allResults(id)) yield line(row, count++);
  yield tail(count);
}

/** Each user is a check. A KV Connect server accepts nine in one commit. */
const USERS_PER_COMMIT = 9;
const ATTEMPTS = 5;

interface DeadlineChange {
  readonly choice: { readonly names: readonly string[] } | { readonly campaign: string };
  /** `null`: no deadline. */
  readonly deadlineMs: number | null;
  readonly caller: Caller;
}

/** Returns how many users have the new deadline. Users without an invitation have none. */
async function changeDeadlines(
  { people: { enrolment }, store }: EnrolmentService,
  { choice, deadlineMs, caller }: DeadlineChange,
): Promise<{ changed: number }> {
  const users = "names" in choice
    ? [...new Set(choice.names.map(canonicalName))].filter((user) => enrolment.of(user) !== null)
    : [...enrolment.all()].flatMap(([user, { campaign }]) => campaign === choice.campaign ? [user] : []);
  let changed = 0;
  for (let at = 0; at < users.length; at += USERS_PER_COMMIT) {
    const some = users.slice(at, at + USERS_PER_COMMIT);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const changes = some.flatMap((user) => {
        const read = enrolment.read(user);
        return read === undefined
          ? []
          : [enrolment.prepare(user, { read, mark: { ...read.value, deadlineMs } })];
      });
      const record = auditEntry({
        ...{ action: "enrolment.change_deadline", objects: some.map((user) => `user:${user}`) },
        ...{ actor: caller.actor, source: caller.source },
        ...(deadlineMs === null ? {} : { deadlineMs }),
      });
      if (!await commitChanges(store, changes, { also: [record] })) continue;
      changed += changes.length;
      break;
    }
  }
  return { changed };
}
