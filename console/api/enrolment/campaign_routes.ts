// Campaigns over HTTP: preview, start, progress, results, export and cancel.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import type { Target } from "../../../scim/ports.ts";
import { may } from "../auth/permissions.ts";
import { targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { exportFormats, fileHeaders, streamLines } from "../file_export.ts";
import { callerOf, EMPTY, type HttpEnv, jsonBody, queryValues, textUpTo, wholeNumber } from "../hono_env.ts";
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
import type { EnrolmentService } from "./enrolment_service.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const CHOICE = v.union([
  v.strictObject({
    names: v.pipe(v.array(name), v.minLength(1), v.maxLength(10_000)),
    file: v.optional(textUpTo(200)),
  }),
  v.strictObject({ group: name }),
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
const CAMPAIGN = v.strictObject({ name: v.pipe(name, v.maxLength(100)), ...PREVIEW.entries });
const RESULTS = v.object({
  did: v.optional(v.picklist(["invited", "skipped"]), "skipped"),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 100 }),
});
const EXPORT = v.object({ format: v.optional(v.picklist(["csv", "json"]), "csv") });
const MAX_NAMED = 20;
const COLUMNS = ["user", "result", "reason", "time"] as const;
/** Inviting gives people a way to sign in. */
const INVITE = may("user_manager", { recentFactor: true });

export function createCampaignRoutes(required: () => EnrolmentService) {
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
    .get("/:id/export", may("viewer"), queryValues(EXPORT), async (c) => {
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

const ATTEMPTS = 20;

/** Users who were not invited yet are not invited, and no user of the campaign is reminded. */
async function cancelCampaign(
  service: EnrolmentService,
  id: string,
  { actor, source }: { actor: string; source: string },
): Promise<StoredCampaign> {
  const { campaigns, store, clock } = service;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
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
  const { head, line, tail } = exportFormats<CampaignResult>(COLUMNS, { cellsOf })[format];
  let count = 0;
  yield head;
  for await (const row of campaigns.allResults(id)) yield line(row, count++);
  yield tail(count);
}
