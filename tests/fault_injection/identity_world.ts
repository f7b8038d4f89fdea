// The real program with a store and a real slapd behind one target, with a proxy between them that can be cut.

import { type RunningProgram, startProgram } from "../support/program.ts";
import { ldapTarget, type Slapd, startSlapd } from "../support/slapd.ts";
import { type Answer, type Caller, createCaller } from "../scim/rows/caller.ts";
import { type LdapEntry, type LdapView, viewOf } from "../scim/rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { type LdapWire, startLdapWire } from "./identity_wire.ts";

export interface IdentityWorld extends AsyncDisposable {
  readonly gateway: RunningProgram;
  readonly slapd: Slapd;
  readonly ldap: LdapView;
  readonly wire: LdapWire;
  readonly scim: Caller;
  userDn(name: string): string;
  groupDn(name: string): string;
  crash(): Promise<void>;
  dispose(): Promise<void>;
}

/**
 * Starts all three; the backend `directory` is after `local` in the list.
 *
 * @param options.timeoutMs the deadline of an operation at slapd; 30 s unless given, because a busy machine exceeds a
 * short one.
 */
export async function startIdentityWorld(
  mode: "sync" | "async",
  { timeoutMs = 30_000 } = {},
): Promise<IdentityWorld> {
  const slapd = await startSlapd();
  const wire = startLdapWire(slapd.url);
  const clear = async () => {
    await wire.close();
    await slapd.dispose();
  };
  try {
    const gateway = await startProgram({
      // Locations stay unchanged when the free port becomes the one to listen on.
      toml: `${credentialsToml(["default"])}
[http]
public_url = "http://127.0.0.1:8080"
${ldapTarget(slapd, { mode, name: "directory", url: wire.url, timeoutMs })}`,
    });
    const dispose = async () => {
      await gateway.dispose();
      await clear();
    };
    return {
      gateway,
      slapd,
      wire,
      ldap: viewOf(slapd),
      scim: createCaller(gateway, { account: WRITER, target: "default" }),
      userDn: (name) => `uid=${name},${slapd.usersDn}`,
      groupDn: (name) => `cn=${name},${slapd.groupsDn}`,
      async crash() {
        await gateway.kill9();
        await gateway.restart();
      },
      dispose,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (fault) {
    await clear();
    throw fault;
  }
}

/** A user's body with its title, which every backend stores. */
export function userBody(userName: string, title: string) {
  return { userName, title, name: { familyName: title, givenName: "G" } };
}

/** A user in both places: title in the store and in slapd; `null` if absent. */
export async function titlesOf(
  { scim, ldap, userDn }: IdentityWorld,
  name: string,
): Promise<{ store: string | null; slapd: string | null }> {
  const [{ status, json }, entry] = await Promise.all([
    scim.get(`/Users/${name}`),
    ldap.entry(userDn(name)),
  ]);
  return { store: status === 404 ? null : String(json.title), slapd: entry?.title?.[0] ?? null };
}

/** Everything that a client can read of the target. */
export interface Sight {
  readonly users: Answer["json"];
  readonly groups: Answer["json"];
  readonly found: Answer["json"];
  readonly people: Record<string, LdapEntry>;
  readonly teams: Record<string, LdapEntry>;
}

/** @param q a search besides the lists. */
export async function lookAround({ scim, ldap, slapd }: IdentityWorld, q: string): Promise<Sight> {
  return {
    users: (await scim.get("/Users")).json,
    groups: (await scim.get("/Groups")).json,
    found: (await scim.get(`/Users?q=${encodeURIComponent(q)}`)).json,
    people: await ldap.below(slapd.usersDn),
    teams: await ldap.below(slapd.groupsDn),
  };
}

/** A backend that was down is retried after up to 72 s (scim/provisioning/delivery.ts). */
const COMES_ABOUT_MS = 120_000;

/** Repeats a check until it passes. Throws the last fault after two minutes. */
export async function eventuallyPasses(what: string, check: () => Promise<void>): Promise<void> {
  let last: unknown = "no check ended";
  for (const end = performance.now() + COMES_ABOUT_MS; performance.now() < end;) {
    try {
      return await check();
    } catch (fault) {
      last = fault;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`This did not happen in time: ${what}`, { cause: last });
}
