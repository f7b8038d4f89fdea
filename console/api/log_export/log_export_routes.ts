// Routes of the log export: destinations with their state, a test record, pause and removal.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { HOUR_MS } from "../../../platform/durations.ts";
import { defaultsOf, OBJECT_NAME } from "../../../platform/fields.ts";
import { DESTINATION_CHECKS } from "../../../platform/log_export/destination.ts";
import {
  DESTINATION_DEFAULTS,
  DESTINATION_FIELDS,
  DESTINATION_KINDS,
  type DestinationSettings,
  NEW_DESTINATION_FIELDS,
} from "../../../platform/log_export/destination_choices.ts";
import type { LogExport } from "../../../platform/log_export/log_export.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { noSecretsOf } from "../../../platform/sealed_rows.ts";
import { isPermitted, may } from "../auth/permissions.ts";
import { Refusal, requireChanged } from "../errors.ts";
import { fieldEntries, type FieldRules, usableFields } from "../field_bodies.ts";
import { type Caller, callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";
import type {
  ChangedDestination,
  DestinationList,
  DestinationRow,
  DestinationTested,
  OneDestination,
} from "./log_export_types.ts";

export interface LogExportRouteDeps {
  readonly clock: Clock;
  /** Absent where the console runs without a gateway. */
  readonly logExport?: LogExport | undefined;
}

const { kind: NEW_KIND, ...CHANGES } = fieldEntries(DESTINATION_FIELDS);
const NEW_DESTINATION = v.strictObject({
  name: v.pipe(v.string(), v.regex(OBJECT_NAME)),
  kind: v.nonOptional(NEW_KIND),
  ...CHANGES,
  ...fieldEntries(NEW_DESTINATION_FIELDS),
});
const VERSION = v.pipe(v.number(), v.integer());
const CHANGED_DESTINATION = v.strictObject({ version: VERSION, change: v.strictObject(CHANGES) });
const PAUSE = v.strictObject({ paused: v.boolean() });
const ONLY_VERSION = v.strictObject({ version: VERSION });
const OWNER = may("owner", { recentFactor: true });
/** The page polls these routes. */
const polled = () => may("viewer", { countsAsUse: false });

export function createLogExportRoutes(deps: LogExportRouteDeps) {
  const requests = new DestinationRequests(deps);
  const { clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", polled(), async (c) => {
      const items = (await requests.logExport.list()).map((item) => shownTo(c, item));
      return c.json({ nowMs: clock.nowMs(), items } satisfies DestinationList);
    })
    .post(
      "/",
      OWNER,
      jsonBody(NEW_DESTINATION),
      async (c) => c.json(await requests.create(c.req.valid("json"), callerOf(c))),
    )
    .get("/:name", polled(), async (c) => {
      const item = shownTo(c, await requests.find(c.req.param("name")));
      return c.json({ nowMs: clock.nowMs(), item } satisfies OneDestination);
    })
    .patch(
      "/:name",
      OWNER,
      jsonBody(CHANGED_DESTINATION),
      async (c) => c.json(await requests.change(c.req.param("name"), c.req.valid("json"), callerOf(c))),
    )
    .post(
      "/:name/pause",
      OWNER,
      jsonBody(PAUSE),
      async (c) => c.json(await requests.setPaused(c.req.param("name"), c.req.valid("json"), callerOf(c))),
    )
    .post(
      "/:name/secret",
      OWNER,
      jsonBody(ONLY_VERSION),
      async (c) => c.json(await requests.renewSecret(c.req.param("name"), c.req.valid("json"), callerOf(c))),
    )
    .post(
      "/:name/test",
      may("operator", { recentFactor: true, sendsTest: true }),
      jsonBody(EMPTY),
      async (c) => {
        const result = await requests.logExport.test(c.req.param("name"), callerOf(c));
        if (result === null) throw new Refusal("unknown_destination");
        return c.json({ nowMs: clock.nowMs(), result } satisfies DestinationTested);
      },
    )
    .delete("/:name", OWNER, async (c) => {
      await requests.remove(c.req.param("name"), callerOf(c));
      return c.json({ done: true });
    });
}

/** Only owners see the query of a URL, because it may contain a token of the receiver. */
function shownTo(c: Context<HttpEnv>, item: DestinationRow): DestinationRow {
  const { settings, address } = item;
  const isOwner = isPermitted(c.var.session.admin.role, { needs: "owner", helpDesk: false });
  const seesAll = isOwner || !DESTINATION_KINDS[settings.kind].hasUrl;
  return seesAll ? item : { ...item, settings: { ...settings, url: address } };
}

/** Changes of destinations, with the refusals of the API. */
class DestinationRequests {
  readonly #deps: LogExportRouteDeps;

  constructor(deps: LogExportRouteDeps) {
    this.#deps = deps;
  }

  get logExport(): LogExport {
    if (this.#deps.logExport === undefined) throw new Refusal("no_directory");
    return this.#deps.logExport;
  }

  async find(name: string): Promise<DestinationRow> {
    const item = await this.logExport.find(name);
    if (item === null) throw new Refusal("unknown_destination");
    return item;
  }

  async create(
    { name, pastHours, ...given }: v.InferOutput<typeof NEW_DESTINATION>,
    by: Caller,
  ): Promise<ChangedDestination> {
    const { destinations } = this.logExport;
    const settingsOf = { ...DESTINATION_DEFAULTS, ...defaultsOf(DESTINATION_FIELDS, given) };
    const none = { settings: settingsOf, secrets: noSecretsOf(DESTINATION_FIELDS) };
    const { settings, secrets } = usableFields(DESTINATIONS, none, given);
    const past = usableFields({ fields: NEW_DESTINATION_FIELDS }, NEW, { pastHours });
    const fromMs = this.#deps.clock.nowMs() - past.settings.pastHours * HOUR_MS;
    const also = [destinations.firstPosition(name, fromMs)];
    const made = await destinations.create(name, { settings, secrets, also }, by);
    if (!made.ok) throw new Refusal(made.reason === "taken" ? "destination_taken" : "too_many_destinations");
    return await this.#answer(name, made.webhookSecret);
  }

  async change(
    name: string,
    { version, change }: v.InferOutput<typeof CHANGED_DESTINATION>,
    by: Caller,
  ): Promise<ChangedDestination> {
    return await this.#change(name, {
      version,
      action: "log_export.change",
      merge(stored) {
        const next = usableFields(DESTINATIONS, stored, change);
        // A stored header is for the server for which it was entered. Another one must not receive it.
        const isMoved = originOf(next.settings) !== originOf(stored.settings);
        if (isMoved && stored.secrets.authorization !== "" && change.authorization === undefined) {
          throw new Refusal("destination_authorization_again");
        }
        return next;
      },
    }, by);
  }

  async setPaused(name: string, { paused: isPaused }: v.InferOutput<typeof PAUSE>, by: Caller) {
    return await this.#change(name, {
      action: isPaused ? "log_export.pause" : "log_export.resume",
      merge: ({ settings }) =>
        settings.isPaused === isPaused ? null : { settings: { ...settings, isPaused } },
    }, by);
  }

  async renewSecret(name: string, { version }: v.InferOutput<typeof ONLY_VERSION>, by: Caller) {
    if (!DESTINATION_KINDS[(await this.find(name)).settings.kind].isSigned) throw new Refusal("malformed");
    const { outcome, webhookSecret } = await this.logExport.destinations.renewSecret(name, version, by);
    requireChanged(outcome);
    return await this.#answer(name, webhookSecret);
  }

  async remove(name: string, by: Caller): Promise<void> {
    await this.find(name);
    const record = this.logExport.destinations.all.get(name);
    if (!await this.logExport.destinations.remove(name, by)) throw new Refusal("changed_meanwhile");
    if (record !== undefined) this.logExport.announce(name, { record, action: "log_export.remove", by });
  }

  async #change(
    name: string,
    change: Parameters<LogExport["destinations"]["change"]>[1],
    by: Caller,
  ): Promise<ChangedDestination> {
    const { version } = await this.find(name);
    const record = this.logExport.destinations.all.get(name);
    requireChanged(await this.logExport.destinations.change(name, change, by));
    const { action } = change;
    const isChanged = this.logExport.destinations.all.get(name)?.version !== version;
    if (
      record !== undefined && isChanged && (action === "log_export.change" || action === "log_export.pause")
    ) {
      this.logExport.announce(name, { record, action, by });
    }
    return await this.#answer(name);
  }

  async #answer(name: string, webhookSecret = ""): Promise<ChangedDestination> {
    return { nowMs: this.#deps.clock.nowMs(), item: await this.find(name), webhookSecret };
  }
}

const originOf = ({ url }: DestinationSettings): string => URL.parse(url)?.origin ?? "";

const PEM = "Not a certificate in PEM format.";
const DESTINATIONS: FieldRules<typeof DESTINATION_FIELDS> = {
  fields: DESTINATION_FIELDS,
  checks: DESTINATION_CHECKS,
  messages: {
    url: "Not an https: address. User name and password belong in the Authorization header.",
    allowsHttp:
      "The address begins with http:, so records would travel unencrypted. Allow it explicitly, or use https:.",
    host: "Not a host name or an IP address.",
    authorization: "The Authorization header has only printable ASCII characters.",
    ca: PEM,
    certificate: PEM,
    privateKey: "A client certificate needs its unencrypted private key in PEM format.",
  },
};
const NEW = { settings: defaultsOf(NEW_DESTINATION_FIELDS), secrets: {} };
