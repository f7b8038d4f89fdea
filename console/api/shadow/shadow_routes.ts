// The report of shadow mode over HTTP: the clients, the users, and the names that can be invited.

import { Hono } from "hono";
import * as v from "valibot";
import { DAY_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { may } from "../auth/permissions.ts";
import { type People, requireUsers } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { type HttpEnv, optionalChoice, queryValues, textUpTo, wholeNumber } from "../hono_env.ts";
import {
  readShadowReport,
  SHADOW_OBSTACLES,
  type ShadowReport,
  type ShadowSource,
  type ShadowUserRow,
} from "./shadow_report.ts";

export interface ShadowRouteDeps {
  /** Absent where the console runs without a gateway. */
  readonly shadow?: ShadowSource;
  readonly people?: People;
  readonly clock: Clock;
}

export interface ShadowUserPage {
  readonly nowMs: number;
  readonly total: number;
  readonly users: readonly ShadowUserRow[];
}

const DAYS = ["1", "7", "30", "90"] as const;
const RANGE = { days: v.optional(v.picklist(DAYS), "30"), client: v.optional(textUpTo(64), "") };
const USERS = {
  ...RANGE,
  obstacle: optionalChoice([...SHADOW_OBSTACLES, "none"]),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 50 }),
};
/** A campaign has at most so many names. */
const MAX_INVITED = 10_000;
/** A report counts all users, which takes 6 s for 20,000. Requests that come soon after each other share it, unless a client changed. */
const MAX_AGE_MS = 10_000;

interface SharedReport {
  readonly atMs: number;
  /** The clients with the settings that the report depends on most. */
  readonly basis: string;
  readonly report: Promise<ShadowReport>;
}

function basisOf({ clients }: ShadowSource): string {
  return clients().map(({ name, settings: { mode, device, holdMs } }) =>
    `${name} ${mode} ${device} ${holdMs}`
  )
    .join("\n");
}

export function createShadowRoutes(deps: ShadowRouteDeps) {
  const reports = new Map<string, SharedReport>();
  const read = (days: typeof DAYS[number]): Promise<ShadowReport> => {
    const people = requireUsers(deps.people);
    const { shadow, clock } = deps;
    if (shadow === undefined) throw new Refusal("no_directory");
    const nowMs = clock.nowMs();
    const known = reports.get(days);
    const basis = basisOf(shadow);
    const isRecent = known !== undefined && nowMs - known.atMs < MAX_AGE_MS;
    if (isRecent && known.basis === basis) return known.report;
    const report = readShadowReport({ shadow, people, clock }, nowMs - Number(days) * DAY_MS);
    const shared = { atMs: nowMs, basis, report };
    reports.set(days, shared);
    report.catch(() => reports.get(days) === shared && reports.delete(days));
    return report;
  };
  const readUsers = async ({ days, client }: { days: typeof DAYS[number]; client: string }) => {
    const { nowMs, users } = await read(days);
    return { nowMs, users: users.filter((row) => client === "" || row.client === client) };
  };
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), queryValues(v.object(RANGE)), async (c) => {
      const { days, client } = c.req.valid("query");
      const { nowMs, clients } = await read(days);
      return c.json({ nowMs, clients: clients.filter((one) => client === "" || one.client === client) });
    })
    .get("/users", may("viewer", { countsAsUse: false }), queryValues(v.object(USERS)), async (c) => {
      const { obstacle, page, size, ...range } = c.req.valid("query");
      const { nowMs, users } = await readUsers(range);
      const found = users.filter((row) => obstacle === "" || (row.obstacle ?? "none") === obstacle);
      const shown = found.slice((page - 1) * size, page * size);
      return c.json({ nowMs, total: found.length, users: shown } satisfies ShadowUserPage);
    })
    .get("/invitable", may("user_manager"), queryValues(v.object(RANGE)), async (c) => {
      const { users } = await readUsers(c.req.valid("query"));
      const names = new Set(users.filter(({ canInvite }) => canInvite).map(({ user }) => user));
      return c.json({ names: [...names].slice(0, MAX_INVITED) });
    });
}
