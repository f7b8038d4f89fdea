// Users as the console shows them, from the directory, the pairings, the limits and the gateway; and their directory numbers.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import { type Pairing, unconfirmedFactors } from "../../../radius/factors/pairing.ts";
import { isCountryAllowed, maskPhoneNumber, reducePhoneNumber } from "../../../platform/phone_number.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Content, JsonValue, Stored } from "../../../scim/schema/resource.ts";
import { NO_READ_ONLY, readOnlyNames } from "../../../scim/schema/merge.ts";
import type { PhonePages } from "../../../upstream/embedded/push/phone_pages.ts";
import type {
  CallerVerification,
  SecondFactorAdmin,
} from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../deps.ts";
import { tokenView } from "../tokens/token_list.ts";
import { bypassLimits } from "../help_desk/help_desk_types.ts";
import type {
  BackendView,
  DirectoryNumberView,
  LockView,
  PairingView,
  UserLoginView,
  UserRow,
  UserView,
} from "./user_types.ts";

interface ViewDeps {
  readonly people: People;
  readonly watch: GatewayMonitor;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly phonePages?: (() => PhonePages | null) | undefined;
}

/** Conversations that are read for those of one user, and the maximum that is shown. */
const MAX_SCANNED = 20_000;
const MAX_SHOWN = 20;

/** One user as a row of the list. */
export function userRow(people: People, target: Target, stored: Stored): Omit<UserRow, "lastSignInMs"> {
  const { content, groups, backends } = stored;
  const canonical = canonicalName(content.name);
  const logsIn = target.name === people.loginTarget();
  const pairings = logsIn ? people.pairings.of(canonical) : [];
  const kinds = new Set(pairings.map(({ kind }) => kind));
  if (logsIn && people.hardwareTokens.of(canonical).length > 0) kinds.add("totp");
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

/** One user. For a name outside the directory, only the data of the gateway. */
export async function userView(deps: ViewDeps, target: Target, name: string): Promise<UserView> {
  return storedView(deps, { target, name, ...await readStoredUser(target, name) });
}

/** The status of a user in each backend. */
export async function userBackends(target: Target, name: string): Promise<BackendView[]> {
  return backendViews(target, await readStoredUser(target, name));
}

/** A user of the directory, and the different copies in backends. */
interface StoredUser {
  readonly stored: Stored | null;
  readonly held: ReadonlyMap<string, Content>;
  readonly renamedTo: string | null;
}

async function readStoredUser(target: Target, name: string): Promise<StoredUser> {
  const stored = await target.directory.read("user", canonicalName(name));
  if (stored === null) return { stored, held: new Map(), renamedTo: await laterName(target, name) };
  return { stored, held: await target.heldElsewhere("user", name), renamedTo: null };
}

async function laterName({ directory }: Target, name: string): Promise<string | null> {
  const later = await directory.renamedTo("user", canonicalName(name));
  return later === null ? null : (await directory.read("user", later))?.content.name ?? null;
}

function backendViews(
  { backends }: Target,
  { stored, held }: Pick<StoredUser, "stored" | "held">,
): BackendView[] {
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
  { target, name, stored, held, renamedTo }: StoredUser & { target: Target; name: string },
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
      managedBy: stored.managedBy ?? null,
    },
    renamedTo,
    readOnly: readOnlyNames(target.readOnly ?? NO_READ_ONLY),
    backends: backendViews(target, { stored, held }),
    login: target.name === deps.people.loginTarget()
      ? loginView(deps, { name: shown, content: stored?.content ?? null })
      : null,
  };
}

function loginView(
  { people, watch, secondFactorAdmin, phonePages }: ViewDeps,
  { name, content }: { name: string; content: Content | null },
): UserLoginView {
  const canonical = canonicalName(name);
  const { pairings, factors } = people;
  const own = pairings.of(canonical);
  return {
    pairings: own.map((pairing) => pairingView(pairing, phonePages?.() ?? null)),
    tokens: people.hardwareTokens.of(canonical).map((token) => tokenView(people.hardwareTokens, token)),
    unconfirmed: unconfirmedFactors(people, canonical),
    directoryNumbers: content === null ? [] : directoryNumbers(people, { content, pairings: own }),
    preferred: pairings.preferred(canonical),
    enabled: factors.enabled,
    canInvite: secondFactorAdmin() !== null,
    verified: verifiedCaller(secondFactorAdmin()?.verifications.verifiedOf(canonical) ?? null),
    lock: lockView(people, { canonical, numbers: ownNumbers({ content, pairings: own }) }),
    conversations: watch.conversations(MAX_SCANNED)
      .filter(({ user, outcome }) => outcome === null && canonicalName(user) === canonical)
      .slice(0, MAX_SHOWN),
    clients: people.trials.clients(),
    bypass: people.bypassCodes.status(canonical),
    bypassLimits: bypassLimits(people.helpDesk),
    rememberedDevices: people.policies.remembered.count(canonical),
  };
}

function verifiedCaller(found: CallerVerification | null): UserLoginView["verified"] {
  if (found === null) return null;
  const { askedBy: by, endedMs, createdMs, shownUntilMs } = found;
  return { by, atMs: endedMs ?? createdMs, untilMs: shownUntilMs };
}

/** A pairing without secrets. */
export function pairingView(pairing: Pairing, pages: Pick<PhonePages, "facts"> | null): PairingView {
  const { id, kind, createdMs } = pairing;
  if (pairing.kind === "device") {
    const { totpLength, name } = pairing;
    const phone = pages?.facts(id) ?? null;
    return {
      ...{ id, kind, createdMs, totpLength },
      ...(name === undefined ? {} : { name }),
      ...(phone === null ? {} : { phone }),
    };
  }
  return pairing.kind === "totp"
    ? { id, kind, createdMs }
    : { id, kind, createdMs, number: maskPhoneNumber(pairing.number) };
}

function lockView(
  { limits }: People,
  { canonical, numbers }: { canonical: string; numbers: readonly string[] },
): LockView {
  const { total, inRow, locks, lockedUntilMs, hardLocked, reportedUntilMs } = limits.failures(canonical);
  return {
    // A later lock after failures ends later.
    isReported: reportedUntilMs === lockedUntilMs,
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

/** The display name; "" without one. */
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

/** The gateway offers this many numbers of a kind, verified ones first. */
const MAX_OFFERED = 9;
const KINDS = ["sms", "voice"] as const;

/** The numbers of a user that the login menu offers and that are not verified, each with its kinds. */
export function directoryNumbers(
  { factors }: Pick<People, "factors">,
  { content, pairings }: { content: Content; pairings: readonly Pairing[] },
): DirectoryNumberView[] {
  const kinds = KINDS.filter((kind) => factors.enabled.includes(kind));
  if (kinds.length === 0) return [];
  const numbers = numbersOf(content).filter((number) => isCountryAllowed(number, factors.countryCodes));
  const offered = new Map<string, ("sms" | "voice")[]>();
  for (const kind of kinds) {
    const verified = pairings.flatMap((pairing) => pairing.kind === kind ? [pairing.number] : []);
    const free = Math.max(0, MAX_OFFERED - verified.length);
    for (const number of numbers.filter((one) => !verified.includes(one)).slice(0, free)) {
      offered.set(number, [...offered.get(number) ?? [], kind]);
    }
  }
  return [...offered].map(([number, kinds]) => ({ number: maskPhoneNumber(number), kinds }));
}

/** All numbers of a user: those of the pairings, and those of the directory. */
export function ownNumbers(
  { content, pairings }: { content: Content | null; pairings: readonly Pairing[] },
): readonly string[] {
  const paired = pairings.flatMap((pairing) => "number" in pairing ? [pairing.number] : []);
  return [...new Set([...paired, ...(content === null ? [] : numbersOf(content))])];
}

/** `phoneNumbers[].value` that can be dialled, each once. */
function numbersOf({ attributes: { phoneNumbers } }: Content): string[] {
  const values = Array.isArray(phoneNumbers) ? phoneNumbers.map(valueOf) : [];
  return [...new Set(values.flatMap((value) => reducePhoneNumber(value) ?? []))];
}

function valueOf(entry: JsonValue): string {
  if (typeof entry === "string") return entry;
  const value = typeof entry === "object" && entry !== null && "value" in entry ? entry.value : null;
  return typeof value === "string" ? value : "";
}
