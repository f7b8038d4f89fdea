// The tasks that are left after the set-up: a client, a target, a first login. Computed from the current state; only skipped
// tasks are stored.

import { COMMAND } from "../../../platform/command_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { Connect } from "../deps.ts";
import { effectiveRules } from "../clients/client_routes.ts";
import { Refusal } from "../errors.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";

const FIRST_STEPS = ["client", "target", "password", "login"] as const;
type FirstStepName = typeof FIRST_STEPS[number];

/** The RADIUS address of the gateway. */
interface RadiusAddress {
  readonly port: number;
  /** The command for a test login on this machine, without its options. */
  readonly tryCommand: string;
}

/** One task. */
export interface FirstStep {
  readonly name: FirstStepName;
  readonly state: "done" | "open" | "skipped";
  readonly radius: RadiusAddress;
  /** The newest user who can log in, for a test login; `null` without one. */
  readonly user: string | null;
  /** The NAS-Identifier without which a request of this machine matches no client; "" if it needs none. */
  readonly nasIdentifier: string;
  /** Whether a client accepts logins without a check of the password. */
  readonly isPasswordUnchecked: boolean;
}

/** The arguments for a test login. */
export type LoginTrialHint = Omit<FirstStep, "name" | "state">;

export interface Onboarding {
  /** `null` if no task is left. */
  read(): Promise<readonly FirstStep[] | null>;
  /** The arguments for a test login; `null` if the console runs without the gateway. */
  trial(): Promise<LoginTrialHint | null>;
  /** Skips a step, or takes that back. @throws Refusal `changed_meanwhile`. */
  skip(name: FirstStepName, caller: { skipped: boolean; actor: string; source: string }): Promise<void>;
}

interface OnboardingDeps {
  /** Absent if the console runs without the gateway: then there are no tasks. */
  readonly connect?: Connect;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const KEY: Deno.KvKey = ["console_first_steps"];
/** An accepted login is looked for among this many of the newest. */
const MAX_SCANNED = 200;
const HISTORY = { start: ["history", ""], end: ["history", "\u{10ffff}"] };

export function createOnboarding(deps: OnboardingDeps): Onboarding {
  const { connect, store } = deps;
  const isDone: Readonly<Record<FirstStepName, (port: Connect) => boolean | Promise<boolean>>> = {
    client: ({ register }) => register.list().length > 0,
    target: isTargetConnected,
    password: isPasswordDecided,
    login: () => hasAcceptedLogin(store),
  };
  return {
    async read() {
      if (connect === undefined) return null;
      const skipped = skippedOf((await store.get<unknown>(KEY)).value);
      const hint = await trialHint(connect);
      const steps: FirstStep[] = [];
      for (const name of FIRST_STEPS) {
        const state = skipped.includes(name) ? "skipped" : await isDone[name](connect) ? "done" : "open";
        steps.push({ name, state, ...hint });
      }
      return steps.some(({ state }) => state === "open") ? steps : null;
    },
    async trial() {
      if (connect === undefined) return null;
      return await trialHint(connect);
    },
    async skip(name, { skipped, actor, source }) {
      const { value, versionstamp } = await store.get<unknown>(KEY);
      const before = skippedOf(value);
      const after = FIRST_STEPS.filter((one) => one === name ? skipped : before.includes(one));
      const { ok } = await store.commit({
        checks: [{ key: KEY, versionstamp }],
        mutations: [
          { type: "set", key: KEY, value: after },
          auditEntry({
            actor,
            source,
            action: skipped ? "first_step.skip" : "first_step.take_up",
            object: `first_step:${name}`,
          }),
        ],
      });
      if (!ok) throw new Refusal("changed_meanwhile");
    },
  };
}

async function trialHint(connect: Connect): Promise<LoginTrialHint> {
  const local = connect.register.list().filter(({ address }) => address.some((one) => LOCAL.has(one)));
  const needsNas = local.length > 0 && local.every(({ nasIdentifier }) => nasIdentifier !== "");
  return {
    radius: radiusAddress(connect.listening.radius[0] ?? ""),
    user: await newestUser(connect),
    nasIdentifier: needsNas ? local[0]?.nasIdentifier ?? "" : "",
    isPasswordUnchecked: isUnchecked(connect),
  };
}

const LOCAL: ReadonlySet<string> = new Set(["127.0.0.1", "127.0.0.1/32", "127.0.0.0/8", "::1", "::1/128"]);

/** Without clients, the global setting applies to every address. */
function isUnchecked(connect: Connect): boolean {
  const clients = connect.register.list().filter(({ disabled }) => !disabled);
  if (clients.length === 0) return connect.config.radius.anyClient.firstFactor === "none";
  return clients.some((client) => effectiveRules(connect, client).firstFactor === "none");
}

/** A check is the global setting, or each client has one or says that it needs none. */
function isPasswordDecided(connect: Connect): boolean {
  if (connect.config.radius.anyClient.firstFactor !== "none") return true;
  const clients = connect.register.list().filter(({ disabled }) => !disabled);
  return clients.length > 0 && clients.every(({ firstFactor }) => firstFactor !== "settings");
}

const RADIUS_PORT = 1812;
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/** @param address what a socket is bound to: `host:port`, or `[IPv6]:port`. */
export function radiusAddress(address: string): RadiusAddress {
  const at = address.lastIndexOf(":");
  const host = address.slice(0, Math.max(at, 0));
  const port = Number(address.slice(at + 1)) || RADIUS_PORT;
  const name = host === "" || EVERY_ADDRESS.has(host) ? "127.0.0.1" : host;
  return { port, tryCommand: `${COMMAND} try ${port === RADIUS_PORT ? name : `${name}:${port}`}` };
}

/** An external backend is connected, or the directory has a user who can log in. */
function isTargetConnected({ targets }: Connect): boolean {
  return targets.names.some((name) => {
    const target = targets.get(name);
    return target !== null &&
      (target.backends.some(({ kind }) => kind !== "store") || target.directory.count("user") > 0);
  });
}

/** Users that are looked at for the newest. */
const MAX_USERS_READ = 100;

async function newestUser({ targets, config }: Connect): Promise<string | null> {
  const target = targets.get(config.radius.directory);
  if (target === null) return null;
  const { resources } = await target.directory.page("user", { page: 1, size: MAX_USERS_READ });
  const active = resources.filter(({ content }) => content.kind === "user" && content.active);
  return active.toSorted((a, b) => b.createdMs - a.createdMs)[0]?.content.name ?? null;
}

async function hasAcceptedLogin(store: Store): Promise<boolean> {
  for await (const { value } of store.range<unknown>(HISTORY, { reverse: true, limit: MAX_SCANNED })) {
    if (decodeLoginRecord(value)?.outcome === "accepted") return true;
  }
  return false;
}

function skippedOf(value: unknown): readonly FirstStepName[] {
  return Array.isArray(value) ? FIRST_STEPS.filter((name) => value.includes(name)) : [];
}

export interface FirstStepRouteDeps {
  readonly firstSteps: Onboarding;
}

const SKIP = v.strictObject({ skipped: v.boolean() });

export function createFirstStepRoutes({ firstSteps: steps }: FirstStepRouteDeps) {
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("viewer", { countsAsUse: false }),
      async (c) => c.json({ steps: await steps.read(), trial: await steps.trial() }),
    )
    .put("/:name", may("owner"), jsonBody(SKIP), async (c) => {
      const name = FIRST_STEPS.find((one) => one === c.req.param("name"));
      if (name === undefined) throw new Refusal("not_found");
      const { skipped } = c.req.valid("json");
      await steps.skip(name, {
        skipped,
        ...callerOf(c),
      });
      return c.json({ steps: await steps.read() });
    });
}
