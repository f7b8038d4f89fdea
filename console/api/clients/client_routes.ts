// RADIUS clients: listed with how they do, made (also out of a first packet that was heard), changed, given another secret, removed.

import { type Context, Hono } from "hono";
import type { RegisterOutcome } from "../../../radius/server/client_registry.ts";
import type { ShownClient } from "../../../radius/server/client_view.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { ChartStore } from "../charts/chart_store.ts";
import {
  type BlastRadius,
  CANDIDATE,
  CHANGED_CLIENT,
  type ClientList,
  type ClientRow,
  FIRST_FACTOR_TEST,
  type FirstFactorAnswer,
  type HeardList,
  NEW_CLIENT,
  type OneClient,
  ROTATION,
} from "./client_types.ts";
import {
  CHANGED,
  clientAuditValues,
  ldapBackends,
  testFirstFactor,
  toClientContent,
} from "./validate_client.ts";
import { type Connect, connected } from "./client_deps.ts";
import { createHistoryReader, type HistoryReader } from "../history/history.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { withLastChange } from "../audit/last_change.ts";
import { Refusal, type RefusalCode } from "../errors.ts";

export interface ClientRouteDeps {
  readonly connect?: Connect;
  readonly charts: Pick<ChartStore, "read">;
  readonly watch: Pick<GatewayWatch, "conversations">;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const DAY_MS = 24 * 3_600_000;
const SECRET_OCTETS = 24;
const MOST_LOGINS = 1000;
const MOST_NAMES = 50;
const MOST_OPEN = 5000;
const PROBLEMS = {
  taken: "client_taken",
  unknown: "unknown_client",
  in_settings: "settings_client",
  changed: "changed_meanwhile",
  full: "too_many_clients",
  no_server_secret: "no_server_secret",
} as const satisfies Record<string, RefusalCode>;

export function createClientRoutes(deps: ClientRouteDeps) {
  const { connect, clock, random, charts, watch } = deps;
  const history = createHistoryReader(deps);

  const rows = async (clients: readonly ShownClient[]): Promise<ClientRow[]> => {
    const nowMs = clock.nowMs();
    const { clients: figures } = await charts.read({ fromMs: nowMs - DAY_MS, toMs: nowMs, client: "" });
    return clients.map((client) => {
      const { accepted = 0, rejected = 0 } = figures.find((one) => one.client === client.name) ?? {};
      return { ...client, accepted, rejected };
    });
  };
  const one = async (name: string): Promise<OneClient> => {
    const client = connected(connect).register.find(name);
    if (client === null) throw new Refusal("unknown_client");
    const [row] = await rows([client]);
    if (row === undefined) throw new Refusal("unknown_client");
    const nowMs = clock.nowMs();
    const ldap = ldapBackends(connected(connect));
    return { nowMs, ldap, client: row, blast: await blastOf(name, { watch, history, nowMs }) };
  };
  const secretOf = (given: string | undefined): { secret: string; made: string | null } => {
    if (given !== undefined) return { secret: given, made: null };
    const made = toBase64Url(random.bytes(SECRET_OCTETS));
    return { secret: made, made };
  };
  const audit = (c: Context<HttpEnv>, name: string, told: Told): Mutation => {
    const actor = c.var.session.admin.name;
    return auditEntry({ actor, source: c.env.remoteAddress, object: `client:${name}`, ...told });
  };

  return new Hono<HttpEnv>()
    .get("/", may("viewer"), async (c) => {
      const items = await rows(connected(connect).register.list());
      const ldap = ldapBackends(connected(connect));
      return c.json({ nowMs: clock.nowMs(), ldap, items } satisfies ClientList);
    })
    .post("/heard", may("owner", { countsAsUse: false }), jsonBody(CANDIDATE), (c) => {
      const items = connected(connect).ear.heard(c.req.valid("json").secret);
      return c.json({ nowMs: clock.nowMs(), items } satisfies HeardList);
    })
    .post("/", may("owner", { stepUp: true }), jsonBody(NEW_CLIENT), async (c) => {
      const { secret: given, ...rest } = c.req.valid("json");
      const { register, ear } = connected(connect);
      const { content, serverSecret } = toClientContent(connected(connect), rest);
      const { secret, made } = secretOf(given);
      const told = {
        action: "client.create" as const,
        after: {
          ...clientAuditValues(content, { hasNewServerSecret: serverSecret !== undefined }),
          secret: CHANGED,
        },
      };
      const audited = audit(c, content.name, told);
      const client = settled(await register.add(content, { secret, serverSecret, audit: audited }));
      for (const address of content.address) ear.forget(address);
      return c.json({ client, secret: made });
    })
    .post("/first-factor", may("owner"), jsonBody(FIRST_FACTOR_TEST), async (c) => {
      const answer = await testFirstFactor(connected(connect), c.req.valid("json"));
      return c.json(answer satisfies FirstFactorAnswer);
    })
    .get("/:id", may("viewer"), async (c) => c.json(await one(c.req.param("id"))))
    .put("/:id", may("owner", { stepUp: true }), jsonBody(CHANGED_CLIENT), async (c) => {
      const { version, ...rest } = c.req.valid("json");
      const { register } = connected(connect);
      const name = c.req.param("id");
      const { content, serverSecret } = toClientContent(connected(connect), { ...rest, name });
      const before = register.find(content.name);
      if (before === null) throw new Refusal("unknown_client");
      const told = {
        action: "client.change" as const,
        before: clientAuditValues(before),
        after: clientAuditValues(content, { hasNewServerSecret: serverSecret !== undefined }),
      };
      const options = { version, serverSecret, audit: audit(c, name, told) };
      const admin = c.var.session.admin.name;
      await withLastChange(
        deps.store,
        { object: `client:${name}`, changes: "client", admin },
        async () => settled(await register.change(content, options)),
      );
      return c.json(await one(name));
    })
    .post("/:id/secret", may("owner", { stepUp: true }), jsonBody(ROTATION), async (c) => {
      const { secret: given, overlapMs } = c.req.valid("json");
      const name = c.req.param("id");
      const { secret, made } = secretOf(given);
      const told = {
        action: "client.rotate" as const,
        after: { secret: CHANGED, overlap: `${overlapMs / 3_600_000} h` },
      };
      const { register } = connected(connect);
      const client = settled(await register.rotate(name, { secret, overlapMs, audit: audit(c, name, told) }));
      return c.json({ client, secret: made });
    })
    .delete("/:id/overlap", may("owner"), async (c) => {
      const name = c.req.param("id");
      const told = { action: "client.end_overlap" as const };
      settled(await connected(connect).register.endOverlap(name, { audit: audit(c, name, told) }));
      return c.json(await one(name));
    })
    .delete("/:id/signing", may("owner", { stepUp: true }), async (c) => {
      const name = c.req.param("id");
      const { learnt, register } = connected(connect);
      const isKnown = register.find(name) !== null;
      const hasSigned = learnt.names.has(name);
      // The record of a removed client can be deleted as well.
      if (!isKnown && !hasSigned) throw new Refusal("unknown_client");
      if (hasSigned) {
        const record = audit(c, name, { action: "client.forget" });
        await deps.store.commit({ mutations: [...learnt.forgetting(name), record] });
        await learnt.forget(name);
      }
      return c.json({ hasSigned, isKnown });
    })
    .delete("/:id", may("owner", { stepUp: true }), async (c) => {
      const name = c.req.param("id");
      const { register } = connected(connect);
      const before = register.find(name);
      if (before === null) throw new Refusal("unknown_client");
      const told = { action: "client.remove" as const, before: clientAuditValues(before) };
      const outcome = await register.remove(name, { audit: audit(c, name, told) });
      if (!outcome.ok) throw new Refusal(PROBLEMS[outcome.reason]);
      return c.json({ done: true });
    });
}

interface Told {
  readonly action: AuditAction;
  readonly before?: AuditValues;
  readonly after?: AuditValues;
}

function settled(outcome: RegisterOutcome): ShownClient {
  if (!outcome.ok) throw new Refusal(PROBLEMS[outcome.reason]);
  if (outcome.client === null) throw new Refusal("unknown_client");
  return outcome.client;
}

async function blastOf(
  client: string,
  { watch, history, nowMs }: {
    watch: ClientRouteDeps["watch"];
    history: HistoryReader;
    nowMs: number;
  },
): Promise<BlastRadius> {
  const open = watch.conversations(MOST_OPEN).filter((one) => one.client === client && one.outcome === null);
  const filter = { outcome: "", user: "", client, fromMs: nowMs - DAY_MS, toMs: null };
  const { items } = await history.page(filter, { before: null, limit: MOST_LOGINS });
  const names = (all: readonly { readonly user: string }[]) =>
    [...new Set(all.map(({ user }) => user))].slice(0, MOST_NAMES);
  return { open: open.length, openUsers: names(open), logins: items.length, users: names(items) };
}
