// Targets: status of their backends, pending writes, refresh, and a preview of a mapping with a real user. The settings of a target
// are in the settings file and are not changed here.

import * as v from "valibot";
import { type Context, Hono } from "hono";
import type { BackendSettings, TargetSettings } from "../../../platform/config/config.ts";
import type { Actor, Target } from "../../../scim/ports.ts";
import type { FrontEnd, MappingRow } from "../../../scim/schema/resource.ts";
import { readPath, writePath } from "../../../scim/schema/attributes.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { type Connect, requireGateway } from "../deps.ts";
import {
  actorOf,
  callerOf,
  EMPTY,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
} from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { DetailedRefusal, Refusal, withTargetErrors } from "../errors.ts";
import type {
  BackendRow,
  MappingPreview,
  OneTarget,
  RefreshState,
  TargetList,
  TargetSample,
} from "./target_types.ts";
import { readStored } from "../users/user_writes.ts";
import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { Log } from "../../../platform/log.ts";
import type { RefreshReport } from "../../../scim/backend_port.ts";
import type { BackendHealth } from "../../../scim/backends/guarded_backend.ts";

export interface TargetRouteDeps {
  readonly connect?: Connect;
  readonly refreshes: TargetRefreshes;
  readonly store: Store;
  readonly clock: Clock;
}

const MAX_PENDING = 200;
const SAMPLE_USERS = 3;
const MAX_DETAIL_CHARACTERS = 300;
const LIST = v.object({ sync: optionalChoice(["problem"]) });
const BACKEND = v.strictObject({ backend: v.pipe(v.string(), v.maxLength(64)) });
const ROWS = v.record(
  v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
);
const PREVIEW = v.strictObject({
  user: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  rows: v.pipe(ROWS, v.check((rows) => Object.keys(rows).length <= 200)),
});

export function createTargetRoutes(deps: TargetRouteDeps) {
  const { connect, clock, refreshes } = deps;
  const view = (target: Target): OneTarget => ({
    nowMs: clock.nowMs(),
    ...targetView(requireGateway(connect), target),
    refresh: refreshes.state(target.name),
  });
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), (c) => {
      const port = requireGateway(connect);
      const all = port.targets.names.map((name) => targetSummary(port, requireTarget(connect, name)));
      const { sync } = c.req.valid("query");
      const items = sync === "" ? all : all.filter(({ backends }) => backends.some(hasSyncProblem));
      return c.json({ nowMs: clock.nowMs(), items } satisfies TargetList);
    })
    .get(
      "/:id",
      may("viewer", { countsAsUse: false }),
      (c) => c.json(view(requireTarget(connect, c.req.param("id")))),
    )
    .get("/:id/sample", may("viewer"), async (c) => {
      const target = requireTarget(connect, c.req.param("id"));
      const port = requireGateway(connect);
      const mapping = mappingOf(port, target.name);
      const { resources } = await target.directory.page("user", { page: 1, size: SAMPLE_USERS });
      const users = resources.map(({ content }) => ({
        user: content.name,
        rows: [...port.previewMapping(content, mapping)].map(([name, values]) => ({ name, values })),
      }));
      return c.json({ users } satisfies TargetSample);
    })
    .post("/:id/test", may("operator"), jsonBody(BACKEND), async (c) => {
      const target = requireTarget(connect, c.req.param("id"));
      const backend = requireBackend(target, c.req.valid("json").backend);
      await requireGateway(connect).probe(target.name, backend);
      return c.json(view(target));
    })
    .post("/:id/retry", may("user_manager"), jsonBody(BACKEND), async (c) => {
      const target = requireTarget(connect, c.req.param("id"));
      const backend = requireBackend(target, c.req.valid("json").backend);
      // Recorded first: without an audit record, nothing is retried. The outcome is another record.
      await record(deps, c, { action: "outbox.retry", target: target.name, after: backend });
      const tried = await withTargetErrors(target.retryDeadLetters({ backend }));
      await record(deps, c, { action: "outbox.retried", target: target.name, after: `${backend}: ${tried}` });
      return c.json({ ...view(target), tried });
    })
    .post("/:id/refresh", may("user_manager"), jsonBody(EMPTY), async (c) => {
      const target = requireTarget(connect, c.req.param("id"));
      if (!refreshes.state(target.name).running) {
        // The target records the end of a refresh; a failed one is recorded by createRefreshes().
        await record(deps, c, { action: "target.refresh", target: target.name });
        refreshes.begin(target, actorOf(c));
      }
      return c.json(view(target));
    })
    .post("/:id/preview", may("viewer"), jsonBody(PREVIEW), async (c) => {
      const target = requireTarget(connect, c.req.param("id"));
      const { user, rows } = c.req.valid("json");
      const { content } = await readStored(target, user);
      const port = requireGateway(connect);
      const present = mappingOf(port, target.name);
      try {
        const now = port.previewMapping(content, present);
        const then = port.previewMapping(content, { ...present, user: rows });
        return c.json({ user: content.name, rows: compared(now, then) } satisfies MappingPreview);
      } catch (fault) {
        if (!(fault instanceof RangeError)) throw fault;
        throw new DetailedRefusal("bad_value", { message: fault.message });
      }
    });
}

/** @throws Refusal `unknown_target`. */
function requireTarget(connect: Connect | undefined, name: string): Target {
  const target = requireGateway(connect).targets.get(name);
  if (target === null) throw new Refusal("unknown_target");
  return target;
}

/** @throws Refusal `unknown_backend`. */
function requireBackend(target: Target, backend: string): string {
  if (!target.backends.some(({ name }) => name === backend)) throw new Refusal("unknown_backend");
  return backend;
}

function targetView(port: Connect, target: Target): Omit<OneTarget, "nowMs" | "refresh"> {
  const settings = port.config.targets.find(({ name }) => name === target.name);
  const summary = targetSummary(port, target);
  return {
    ...summary,
    mapping: rowsOf(target.mapping.user, summary.backends),
    settings: settings === undefined ? [] : settingRows(settings),
    owed: target.pendingWrites(MAX_PENDING).map((write) => ({
      ...write,
      why: write.why?.slice(0, MAX_DETAIL_CHARACTERS) ?? null,
    })),
  };
}

function mappingOf({ config }: Connect, target: string): TargetSettings["mapping"] {
  return config.targets.find(({ name }) => name === target)?.mapping ?? { user: {}, group: {} };
}

async function record(
  deps: TargetRouteDeps,
  c: Context<HttpEnv>,
  { action, target, after }: { action: AuditAction; target: string; after?: string },
): Promise<void> {
  const audit = auditEntry({ ...callerOf(c), action, object: `target:${target}`, after });
  await deps.store.commit({ mutations: [audit] });
}

/** The status of a target and its backends. */
export function targetSummary(port: Connect, target: Target): TargetList["items"][number] {
  const owed = target.pendingWrites(MAX_PENDING);
  const backends: BackendRow[] = target.backends.map(({ name, kind, mode, isReadOnly }) => {
    const mine = owed.filter(({ backend }) => backend === name);
    const dead = mine.filter(({ nextMs }) => nextMs === null).length;
    const { lastGoodMs = null, lastFault = null, servers } = port.backendHealth(target.name, name) ?? {};
    const readOnly = readOnlyOf(port, { target: target.name, backend: name });
    const more = { ...isReadOnly === true && { isReadOnly }, ...servers !== undefined && { servers } };
    return { name, kind, mode, ...more, readOnly, owed: mine.length - dead, dead, lastGoodMs, lastFault };
  });
  return {
    name: target.name,
    logsIn: port.config.radius.directory === target.name,
    users: target.directory.count("user"),
    groups: target.directory.count("group"),
    backends,
  };
}

/** The rows of a mapping, and the read-only attributes of backends under their own names. */
function rowsOf(mapping: readonly MappingRow[], backends: readonly BackendRow[]): readonly MappingRow[] {
  const others = new Set(backends.flatMap(({ readOnly }) => readOnly));
  for (const { scim } of mapping) others.delete(scim);
  return [...mapping, ...[...others].map((scim) => ({ scim, frontEnd: scim }))];
}

/** The read-only attributes of a backend in the settings. */
function readOnlyOf({ config }: Connect, wanted: { target: string; backend: string }): readonly string[] {
  const backend = config.targets.find(({ name }) => name === wanted.target)?.backends
    .find(({ name }) => name === wanted.backend);
  if (backend === undefined || backend.kind === "store") return [];
  return (backend.readOnly ?? []).map((path) => writePath(readPath("user", path)));
}

/** The settings under their keys in the file, without secrets. */
function settingRows({ pageSize, maxDropPercent, backends, mapping }: TargetSettings): OneTarget["settings"] {
  const rows = [
    { name: "page_size", value: String(pageSize) },
    { name: "max_drop_percent", value: String(maxDropPercent) },
    ...Object.entries(mapping.user).map(([scim, frontEnd]) => ({
      name: `mapping.user.${scim}`,
      value: frontEnd,
    })),
  ];
  return [...rows, ...backends.flatMap(backendRows)];
}

function backendRows(backend: BackendSettings): OneTarget["settings"] {
  const rows: Record<string, string> = { kind: backend.kind, mode: backend.mode };
  if (backend.kind !== "store") {
    Object.assign(rows, { url: [backend.url].flat().join(", "), connections: String(backend.connections) });
    rows.timeout = `${backend.timeoutMs / 1000} s`;
    rows.access = backend.access ?? "write";
    rows.read_only = (backend.readOnly ?? []).join(", ");
  }
  if (backend.kind === "ldap") {
    const { bindDn, usersDn, groupsDn, schema } = backend;
    Object.assign(rows, { bind_dn: bindDn, users_dn: usersDn, groups_dn: groupsDn, schema });
  }
  return Object.entries(rows).filter(([, value]) => value !== "")
    .map(([name, value]) => ({ name: `${backend.name}.${name}`, value }));
}

function compared(now: FrontEnd, then: FrontEnd): MappingPreview["rows"] {
  return [...new Set([...now.keys(), ...then.keys()])].sort()
    .map((name) => ({ name, now: now.get(name) ?? [], then: then.get(name) ?? [] }));
}

interface TargetRefreshDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "list"> | undefined;
}

interface TargetRefreshes {
  /** Does nothing while a refresh of the target runs on any node. */
  begin(target: Target, actor: Actor): void;
  state(target: string): RefreshState;
}

/** The value under ["console_refresh", target], if several nodes share the store. */
interface SharedRefresh {
  readonly node: string;
  readonly state: RefreshState;
}

const IDLE: RefreshState = { running: false, startedMs: null, read: [], report: null, problem: null };
const RETENTION_MS = 24 * 3600_000;
/** Other nodes see the progress of a refresh this often. */
const PROGRESS_MS = 1000;

/** One refresh a target at a time. The last report stays until the next refresh. */
export function createTargetRefreshes(deps: TargetRefreshDeps): TargetRefreshes {
  const { clock, log } = deps;
  const states = new RefreshStates(deps);
  return {
    state: (name) => states.get(name),
    begin(target, actor) {
      const { name } = target;
      if (states.get(name).running) return;
      const read = new Map<string, { backend: string; kind: string; read: number }>();
      const startedMs = clock.nowMs();
      const running: RefreshState = { ...IDLE, running: true, startedMs };
      const ended = (end: { report?: RefreshReport; problem?: string }): void => {
        states.set(name, { ...running, read: [...read.values()], ...end, running: false });
      };
      states.set(name, running);
      target.refreshAll(actor, {
        onProgress(progress) {
          read.set(`${progress.backend} ${progress.kind}`, { ...progress });
          states.set(name, { ...running, read: [...read.values()] });
        },
      }).then(
        (report) => ended({ report }),
        (fault: unknown) => {
          log.error("a refresh failed", { target: name, fault: String(fault) });
          ended({ problem: "The refresh failed. See the server log for details." });
          void recordFailure(deps, { target: name, actor });
        },
      );
    },
  };
}

async function recordFailure(
  { store, log }: TargetRefreshDeps,
  { target, actor: { name: asked, source } }: { target: string; actor: Actor },
): Promise<void> {
  const told = { actor: asked, source, action: "target.refresh_failed" as const, object: `target:${target}` };
  await store.commit({ mutations: [auditEntry(told)] }).catch((fault: unknown) =>
    log.error("the end of a refresh could not be recorded", { target, fault: String(fault) })
  );
}

/** The states of this node, and those that other nodes stored. */
class RefreshStates {
  readonly #deps: TargetRefreshDeps;
  readonly #states = new Map<string, SharedRefresh>();
  readonly #storedMs = new Map<string, number>();

  constructor(deps: TargetRefreshDeps) {
    this.#deps = deps;
    deps.store.follow(["console_refresh"], ({ key, value }) => {
      const name = String(key[1]);
      if (value === null) this.#states.delete(name);
      else if ((value as SharedRefresh).node !== deps.store.node) {
        this.#states.set(name, value as SharedRefresh);
      }
    });
  }

  get(name: string): RefreshState {
    const { store, cluster } = this.#deps;
    const found = this.#states.get(name);
    if (found === undefined) return IDLE;
    const { node, state } = found;
    const isAlive = node === store.node ||
      cluster?.list().some((one) => one.node === node && one.isAlive) === true;
    if (!state.running || isAlive) return state;
    return { ...state, running: false, problem: "The node that ran the refresh stopped. Start it again." };
  }

  set(name: string, state: RefreshState): void {
    const { store, clock, log } = this.#deps;
    const value: SharedRefresh = { node: store.node, state };
    this.#states.set(name, value);
    const isProgress = state.running && state.read.length > 0;
    const nowMs = clock.nowMs();
    if (!store.isShared || (isProgress && nowMs - (this.#storedMs.get(name) ?? 0) < PROGRESS_MS)) return;
    this.#storedMs.set(name, nowMs);
    const mutation = {
      type: "set",
      key: ["console_refresh", name],
      value,
      expireInMs: RETENTION_MS,
    } as const;
    store.commit({ mutations: [mutation] }).catch((fault: unknown) =>
      log.warn("other nodes do not see the state of a refresh", { target: name, fault: String(fault) })
    );
  }
}

/** Whether the latest call failed. A refusal of one resource is not a failure of the connector. */
export function isBackendFailing({ lastGoodMs, lastFault }: BackendHealth): boolean {
  return lastFault !== null && lastFault.kind !== "refused" && lastFault.atMs >= (lastGoodMs ?? 0);
}

/** Pending writes are no problem: an asynchronous connector usually has some. */
export function hasSyncProblem(row: Pick<BackendRow, "dead" | "lastGoodMs" | "lastFault">): boolean {
  return row.dead > 0 || isBackendFailing(row);
}
