// Users as the console shows them, put together from the directory, the pairings, the limits and the gateway.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import { unconfirmedFactors } from "../../../radius/factors/unconfirmed_factors.ts";
import { maskPhoneNumber } from "../../../platform/phone_number.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Content, JsonValue, Stored } from "../../../scim/schema/resource.ts";
import { keptNames, NOTHING_KEPT } from "../../../scim/schema/read_only_attributes.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { directoryNumbers, ownNumbers } from "./directory_numbers.ts";
import type { People } from "./user_deps.ts";
import type { BackendView, LockView, LoginView, PairingView, UserRow, UserView } from "./user_types.ts";

export interface ViewDeps {
  readonly people: People;
  readonly watch: GatewayWatch;
  readonly desk: SecondFactorAdmin | null;
}

/** Conversations that are looked through for those of one user, and most that are shown. */
const LOOKED_THROUGH = 20_000;
const MOST_SHOWN = 20;

/** One user as a row of the list. */
export function userRow(people: People, target: Target, stored: Stored): UserRow {
  const { content, groups, backends } = stored;
  const canonical = canonicalName(content.name);
  const logsIn = target.name === people.loginTarget;
  const pairings = logsIn ? people.pairings.of(canonical) : [];
  const kinds = new Set(pairings.map(({ kind }) => kind));
  const unverified = logsIn
    ? directoryNumbers(people, { content, pairings }).flatMap((one) => one.kinds)
    : [];
  return {
    name: content.name,
    displayName: displayNameOf(content),
    mail: mailOf(content),
    active: content.kind === "user" && content.active,
    groups: groups.length,
    factors: [...kinds],
    unverified: [...new Set(unverified)].filter((kind) => !kinds.has(kind)),
    locked: logsIn && people.limits.isLocked(canonical),
    backends: Object.entries(backends).map(([name, { state, differs }]) => ({
      name,
      state,
      differs: differs === true,
    })),
  };
}

/** Everything for one person. A name that the directory does not have gives what the gateway knows of it. */
export async function userView(deps: ViewDeps, target: Target, name: string): Promise<UserView> {
  return storedView(deps, { target, name, ...await standingOf(target, name) });
}

/** What each backend has of one person, or is owed. */
export async function userBackends(target: Target, name: string): Promise<BackendView[]> {
  return backendViews(target, await standingOf(target, name));
}

/** A user of the directory, and what backends hold otherwise. */
interface StoredUser {
  readonly stored: Stored | null;
  readonly held: ReadonlyMap<string, Content>;
}

async function standingOf(target: Target, name: string): Promise<StoredUser> {
  const stored = await target.directory.read("user", canonicalName(name));
  return { stored, held: stored === null ? new Map() : await target.heldElsewhere("user", name) };
}

function backendViews({ backends }: Target, { stored, held }: StoredUser): BackendView[] {
  return backends.map((backend) => {
    const copy = held.get(backend.name);
    return {
      ...backend,
      state: stored?.backends[backend.name] ?? null,
      holds: copy?.kind === "user" ? { active: copy.active, attributes: copy.attributes } : null,
    };
  });
}

function storedView(
  deps: ViewDeps,
  { target, name, stored, held }: StoredUser & { target: Target; name: string },
): UserView {
  const shown = stored?.content.name ?? name.normalize("NFC");
  return {
    target: target.name,
    name: shown,
    record: stored === null || stored.content.kind !== "user" ? null : {
      active: stored.content.active,
      attributes: stored.content.attributes,
      groups: stored.groups,
      createdMs: stored.createdMs,
      modifiedMs: stored.modifiedMs,
      version: stored.version,
    },
    readOnly: keptNames(target.readOnly ?? NOTHING_KEPT),
    backends: backendViews(target, { stored, held }),
    login: target.name === deps.people.loginTarget
      ? loginView(deps, { name: shown, content: stored?.content ?? null })
      : null,
  };
}

function loginView(
  { people, watch, desk }: ViewDeps,
  { name, content }: { name: string; content: Content | null },
): LoginView {
  const canonical = canonicalName(name);
  const { pairings, factors } = people;
  const own = pairings.of(canonical);
  return {
    pairings: own.map(pairingView),
    unconfirmed: unconfirmedFactors(people, canonical),
    directoryNumbers: content === null ? [] : directoryNumbers(people, { content, pairings: own }),
    preferred: pairings.preferred(canonical),
    enabled: factors.enabled,
    canInvite: desk !== null,
    lock: lockView(people, { canonical, numbers: ownNumbers({ content, pairings: own }) }),
    conversations: watch.conversations(LOOKED_THROUGH)
      .filter(({ user, outcome }) => outcome === null && canonicalName(user) === canonical)
      .slice(0, MOST_SHOWN),
    clients: people.trials.clients(),
  };
}

/** A pairing as it may be seen. */
export function pairingView(pairing: Pairing): PairingView {
  const { id, kind, createdMs } = pairing;
  if (pairing.kind === "device") {
    const { totpLength, name } = pairing;
    return { id, kind, createdMs, totpLength, ...(name === undefined ? {} : { name }) };
  }
  return pairing.kind === "totp"
    ? { id, kind, createdMs }
    : { id, kind, createdMs, number: maskPhoneNumber(pairing.number) };
}

function lockView(
  { limits }: People,
  { canonical, numbers }: { canonical: string; numbers: readonly string[] },
): LockView {
  const { total, inRow, locks, lockedUntilMs, hardLocked } = limits.failures(canonical);
  return {
    locked: limits.isLocked(canonical),
    hardLocked,
    failures: total,
    inRow,
    locks,
    lockedUntilMs,
    pushesBlockedUntilMs: limits.pushesBlockedUntilMs(canonical),
    sendsBlockedUntilMs: limits.sendsBlockedUntilMs(canonical, numbers),
  };
}

/** What a person is called; "" when the directory does not say. */
export function displayNameOf({ attributes }: Content): string {
  const { displayName, name } = attributes;
  if (typeof displayName === "string" && displayName !== "") return displayName;
  if (!isObject(name)) return "";
  const formatted = textOf(name.formatted);
  return formatted !== "" ? formatted : `${textOf(name.givenName)} ${textOf(name.familyName)}`.trim();
}

/** The primary address, else the first. */
function mailOf({ attributes: { emails } }: Content): string {
  if (!Array.isArray(emails)) return "";
  const entries = emails.filter(isObject);
  const chosen = entries.find(({ primary }) => primary === true) ?? entries[0];
  return chosen === undefined ? "" : textOf(chosen.value);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function isObject(value: JsonValue | undefined): value is Readonly<Record<string, JsonValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
