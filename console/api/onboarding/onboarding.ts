// The tasks that are left after the set-up: a client, a target, a first login. Computed from the current state; only skipped
// tasks are stored.

import { type Clock, type Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { unpackFinished } from "../../../radius/conversation/login_record.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { Connect } from "../clients/client_deps.ts";
import { Refusal } from "../errors.ts";

export const FIRST_STEPS = ["client", "target", "login"] as const;
export type FirstStepName = typeof FIRST_STEPS[number];

/** Where this gateway is asked for a login. */
export interface RadiusDoor {
  readonly port: number;
  /** How `deno task try` on this machine is told: `host`, or `host:port` where the port is not the usual one. */
  readonly tryAt: string;
}

/** One step, in the order in which they are done. */
export interface FirstStep {
  readonly name: FirstStepName;
  readonly state: "done" | "open" | "skipped";
  readonly radius: RadiusDoor;
  /** The newest user who can log in, to try a login with; `null` without one. */
  readonly user: string | null;
}

/** What the command that plays a login is told. */
export type LoginTrialHint = Pick<FirstStep, "radius" | "user">;

export interface FirstSteps {
  /** `null` when nothing is left. */
  read(): Promise<readonly FirstStep[] | null>;
  /** What a login is tried with, also when nothing is left; `null` where the console runs without the gateway. */
  trial(): Promise<LoginTrialHint | null>;
  /** Skips a step, or takes that back. @throws Refusal `changed_meanwhile`. */
  skip(name: FirstStepName, deed: { skipped: boolean; actor: string; source: string }): Promise<void>;
}

export interface FirstStepsDeps {
  /** Absent where the console runs without the gateway: then there is nothing to do. */
  readonly connect?: Connect;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const KEY: Deno.KvKey = ["console_first_steps"];
/** An accepted login is looked for among this many of the newest. */
const MOST_LOOKED_AT = 200;
const HISTORY = { start: ["history", ""], end: ["history", "\u{10ffff}"] };

export function createFirstSteps(deps: FirstStepsDeps): FirstSteps {
  const { connect, store } = deps;
  const isDone: Readonly<Record<FirstStepName, (port: Connect) => boolean | Promise<boolean>>> = {
    client: ({ register }) => register.list().length > 0,
    target: isTargetConnected,
    login: () => hasAcceptedLogin(store),
  };
  return {
    async read() {
      if (connect === undefined) return null;
      const skipped = skippedOf((await store.get<unknown>(KEY)).value);
      const radius = doorOf(connect.listening.radius[0] ?? "");
      const user = await newestUser(connect);
      const steps: FirstStep[] = [];
      for (const name of FIRST_STEPS) {
        const state = skipped.includes(name) ? "skipped" : await isDone[name](connect) ? "done" : "open";
        steps.push({ name, state, radius, user });
      }
      return steps.some(({ state }) => state === "open") ? steps : null;
    },
    async trial() {
      if (connect === undefined) return null;
      return { radius: doorOf(connect.listening.radius[0] ?? ""), user: await newestUser(connect) };
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

const RADIUS_PORT = 1812;
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/** @param address what a socket is bound to: `host:port`, or `[IPv6]:port`. */
export function doorOf(address: string): RadiusDoor {
  const at = address.lastIndexOf(":");
  const host = address.slice(0, Math.max(at, 0));
  const port = Number(address.slice(at + 1)) || RADIUS_PORT;
  const name = host === "" || EVERY_ADDRESS.has(host) ? "127.0.0.1" : host;
  return { port, tryAt: port === RADIUS_PORT ? name : `${name}:${port}` };
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
  for await (const { value } of store.range<unknown>(HISTORY, { reverse: true, limit: MOST_LOOKED_AT })) {
    if (unpackFinished(value)?.outcome === "accepted") return true;
  }
  return false;
}

function skippedOf(value: unknown): readonly FirstStepName[] {
  return Array.isArray(value) ? FIRST_STEPS.filter((name) => value.includes(name)) : [];
}
