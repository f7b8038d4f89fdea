// Routes of the alerts: the list of alerts, and their receivers.

import { Hono } from "hono";
import * as v from "valibot";
import { RECEIVER_DEFAULTS, RECEIVER_FIELDS } from "../../../platform/alerts/alert_kinds.ts";
import type { AlertService } from "../../../platform/alerts/alerts.ts";
import { RECEIVER_CHECKS } from "../../../platform/alerts/receiver.ts";
import { OBJECT_NAME } from "../../../platform/fields.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { noSecretsOf } from "../../../platform/sealed_rows.ts";
import { may } from "../auth/permissions.ts";
import { Refusal, requireChanged } from "../errors.ts";
import { fieldEntries, type FieldRules, usableFields } from "../field_bodies.ts";
import { type Caller, callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";
import type { AlertList, ChangedReceiver, ReceiverList, ReceiverRow, ReceiverTested } from "./alert_types.ts";

export interface AlertRouteDeps {
  readonly clock: Clock;
  /** Absent where the console runs without a gateway. */
  readonly alerts?: AlertService | undefined;
}

const { kind: NEW_KIND, ...CHANGES } = fieldEntries(RECEIVER_FIELDS);
const NEW_RECEIVER = v.strictObject({
  name: v.pipe(v.string(), v.regex(OBJECT_NAME)),
  kind: v.nonOptional(NEW_KIND),
  ...CHANGES,
});
const VERSION = v.pipe(v.number(), v.integer());
const CHANGED_RECEIVER = v.strictObject({ version: VERSION, change: v.strictObject(CHANGES) });
/** The count of the alert on the page: an event since then is not acknowledged. */
const SEEN = v.strictObject({ count: v.pipe(v.number(), v.integer(), v.minValue(1)) });
const PAUSE = v.strictObject({ paused: v.boolean() });
const ONLY_VERSION = v.strictObject({ version: VERSION });
const OWNER = may("owner", { recentFactor: true });
/** The page polls these routes. */
const polled = () => may("viewer", { countsAsUse: false });

export function createAlertRoutes(deps: AlertRouteDeps) {
  const requests = new ReceiverRequests(deps);
  const { clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", polled(), async (c) => {
      const after = c.req.query("after") ?? "";
      if (after.length > MAX_ID_CHARACTERS) throw new Refusal("bad_query");
      return c.json({ nowMs: clock.nowMs(), ...await requests.alerts.list(after) } satisfies AlertList);
    })
    .get("/receivers", polled(), async (c) => {
      const { alerts } = requests;
      const { isMailConfigured } = alerts;
      const items = await alerts.listReceivers();
      return c.json({ nowMs: clock.nowMs(), isMailConfigured, items } satisfies ReceiverList);
    })
    .post("/:id/acknowledge", may("operator"), jsonBody(SEEN), async (c) => {
      const by = { ...callerOf(c), name: c.var.session.admin.name };
      const outcome = await requests.alerts.acknowledge(c.req.param("id"), c.req.valid("json").count, by);
      if (outcome !== "done") {
        throw new Refusal(outcome === "unknown" ? "unknown_alert" : "changed_meanwhile");
      }
      return c.json({ done: true });
    })
    .post(
      "/receivers",
      OWNER,
      jsonBody(NEW_RECEIVER),
      async (c) => c.json(await requests.create(c.req.valid("json"), callerOf(c))),
    )
    .patch(
      "/receivers/:name",
      OWNER,
      jsonBody(CHANGED_RECEIVER),
      async (c) => c.json(await requests.change(c.req.param("name"), c.req.valid("json"), callerOf(c))),
    )
    .post(
      "/receivers/:name/secret",
      OWNER,
      jsonBody(ONLY_VERSION),
      async (c) => c.json(await requests.renewSecret(c.req.param("name"), c.req.valid("json"), callerOf(c))),
    )
    .post(
      "/receivers/:name/pause",
      OWNER,
      jsonBody(PAUSE),
      async (c) => c.json(await requests.setPaused(c.req.param("name"), c.req.valid("json"), callerOf(c))),
    )
    .post(
      "/receivers/:name/test",
      may("operator", { recentFactor: true, sendsTest: true }),
      jsonBody(EMPTY),
      async (c) => {
        const result = await requests.alerts.test(c.req.param("name"), callerOf(c));
        if (result === null) throw new Refusal("unknown_receiver");
        return c.json({ nowMs: clock.nowMs(), result } satisfies ReceiverTested);
      },
    )
    .delete("/receivers/:name", OWNER, async (c) => {
      await requests.remove(c.req.param("name"), callerOf(c));
      return c.json({ done: true });
    });
}

const MAX_ID_CHARACTERS = 64;

/** Changes of receivers, with the refusals of the API. */
class ReceiverRequests {
  readonly #deps: AlertRouteDeps;

  constructor(deps: AlertRouteDeps) {
    this.#deps = deps;
  }

  get alerts(): AlertService {
    if (this.#deps.alerts === undefined) throw new Refusal("no_directory");
    return this.#deps.alerts;
  }

  async create(
    { name, ...given }: v.InferOutput<typeof NEW_RECEIVER>,
    by: Caller,
  ): Promise<ChangedReceiver> {
    const none = { settings: RECEIVER_DEFAULTS, secrets: noSecretsOf(RECEIVER_FIELDS) };
    const made = await this.alerts.receivers.create(name, usableFields(RECEIVERS, none, given), by);
    if (!made.ok) throw new Refusal(made.reason === "taken" ? "receiver_taken" : "too_many_receivers");
    return await this.#answer(name, made.webhookSecret);
  }

  async change(
    name: string,
    { version, change }: v.InferOutput<typeof CHANGED_RECEIVER>,
    by: Caller,
  ): Promise<ChangedReceiver> {
    return await this.#change(name, {
      version,
      action: "alert.receiver_change",
      merge: (stored) => usableFields(RECEIVERS, stored, change),
    }, by);
  }

  async setPaused(name: string, { paused: isPaused }: v.InferOutput<typeof PAUSE>, by: Caller) {
    return await this.#change(name, {
      action: isPaused ? "alert.receiver_pause" : "alert.receiver_resume",
      merge: ({ settings }) =>
        settings.isPaused === isPaused ? null : { settings: { ...settings, isPaused } },
    }, by);
  }

  async renewSecret(name: string, { version }: v.InferOutput<typeof ONLY_VERSION>, by: Caller) {
    if ((await this.#find(name)).settings.kind !== "webhook") throw new Refusal("malformed");
    const { outcome, webhookSecret } = await this.alerts.receivers.renewSecret(name, version, by);
    requireChanged(outcome);
    return await this.#answer(name, webhookSecret);
  }

  async remove(name: string, by: Caller): Promise<void> {
    await this.#find(name);
    if (!await this.alerts.receivers.remove(name, by)) throw new Refusal("changed_meanwhile");
  }

  async #find(name: string): Promise<ReceiverRow> {
    const row = await this.alerts.findReceiver(name);
    if (row === null) throw new Refusal("unknown_receiver");
    return row;
  }

  async #change(
    name: string,
    change: Parameters<AlertService["receivers"]["change"]>[1],
    by: Caller,
  ): Promise<ChangedReceiver> {
    await this.#find(name);
    requireChanged(await this.alerts.receivers.change(name, change, by));
    return await this.#answer(name);
  }

  async #answer(name: string, webhookSecret = ""): Promise<ChangedReceiver> {
    return { nowMs: this.#deps.clock.nowMs(), item: await this.#find(name), webhookSecret };
  }
}

const RECEIVERS: FieldRules<typeof RECEIVER_FIELDS> = {
  fields: RECEIVER_FIELDS,
  checks: RECEIVER_CHECKS,
  messages: {
    addresses: "Enter 1 to 20 valid mail addresses.",
    url: "Not an https: address, or it contains a user name or a password.",
    allowsHttp:
      "The address begins with http:, so alerts would travel unencrypted. Allow it explicitly, or use https:.",
  },
};
