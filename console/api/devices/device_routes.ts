// Routes of all pairings of all users: a searchable list, and revoking one or several.

import { Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import { HISTORY_RETENTION_MS } from "../../../radius/conversation/login_record.ts";
import { maskPhoneNumber } from "../../../platform/phone_number.ts";
import { HttpError } from "../../../platform/http_error.ts";
import type { DevicePage, DeviceRow, RevocationFailure, RevocationResult } from "../groups/group_types.ts";
import { createHistoryReader } from "../history/history.ts";
import {
  browserLabel,
  callerOf,
  EMPTY,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  wholeNumber,
} from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { type People, requireUsers } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { testResult } from "./push_api.ts";
import { createUserFactorCommands } from "../users/user_factors.ts";
import type { FactorDeps } from "../users/factor_changes.ts";

export type DeviceRouteDeps = Omit<FactorDeps, "people"> & { readonly people?: People };

/** Finished logins that are read for the last use of factors. */
const MAX_LOGINS_SCANNED = 2000;

const LIST = v.object({
  q: v.optional(v.pipe(v.string(), v.maxLength(200)), ""),
  kind: v.optional(v.picklist(["", "device", "sms", "voice", "totp"]), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
  sort: optionalChoice(["user", "-user", "kind", "-kind", "name", "-name", "added", "-added"]),
});

/** As many as two pages of the list. Each is a write, and the caller waits for all of them. */
const MAX_REVOKED = 100;
const id = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const REVOCATION = v.strictObject({ ids: v.pipe(v.array(id), v.minLength(1), v.maxLength(MAX_REVOKED)) });

export function createDeviceRoutes(deps: DeviceRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const { pairings } = requireUsers(deps.people);
      const { q, kind, page, size, sort } = c.req.valid("query");
      const from = (page - 1) * size;
      const isPlain = q === "" && kind === "" && (sort === "" || sort === "user");
      const { total, shown } = isPlain
        ? pageByUser(pairings, { from, size })
        : pageOf(pairings, { q, kind, sort, from, size });
      const { used, sinceMs } = await lastUses(deps, shown);
      const rows = shown.map((pairing): DeviceRow => ({
        id: pairing.id,
        kind: pairing.kind,
        user: pairing.shownUser,
        createdMs: pairing.createdMs,
        phone: pairing.kind === "device" ? pairing.name ?? "" : null,
        totpLength: pairing.kind === "device" ? pairing.totpLength : null,
        device: deps.phonePages?.()?.facts(pairing.id) ?? null,
        number: "number" in pairing ? maskPhoneNumber(pairing.number) : null,
        usedMs: usedOf(pairing, used),
        unusedSinceMs: pairing.createdMs >= sinceMs ? null : sinceMs,
      }));
      return c.json({ total, page, size, rows } satisfies DevicePage);
    })
    .get("/:id", may("viewer"), (c) => {
      const { shownUser } = pairingById(requireUsers(deps.people), c.req.param("id"));
      return c.json({ user: shownUser });
    })
    .post("/:id/test-push", may("operator"), jsonBody(EMPTY), async (c) => {
      const result = await deps.phonePages?.()?.test(c.req.param("id"), callerOf(c).actor);
      return c.json(testResult(result ?? { ok: false, fault: "push_off" }));
    })
    .post("/revoke", may("user_manager", { recentFactor: true }), jsonBody(REVOCATION), async (c) => {
      const people = requireUsers(deps.people);
      const commands = createUserFactorCommands({ ...deps, people });
      const caller = { ...callerOf(c), browser: browserLabel(c) };
      const revoked: string[] = [];
      const failed: RevocationFailure[] = [];
      for (const id of new Set(c.req.valid("json").ids)) {
        try {
          await commands.revoke({ user: pairingById(people, id).shownUser, ...caller }, id);
          revoked.push(id);
        } catch (fault) {
          // One that is gone or cannot be written does not keep the others.
          if (!(fault instanceof HttpError)) throw fault;
          failed.push({ id, detail: fault.message });
        }
      }
      return c.json({ revoked, failed } satisfies RevocationResult);
    })
    .delete("/:id", may("user_manager", { recentFactor: true }), jsonBody(EMPTY), async (c) => {
      const people = requireUsers(deps.people);
      const id = c.req.param("id");
      const pairing = pairingById(people, id);
      const request = {
        user: pairing.shownUser,
        ...callerOf(c),
        browser: browserLabel(c),
      };
      await createUserFactorCommands({ ...deps, people }).revoke(request, id);
      return c.json({ revoked: id });
    });
}

/** Part of a list. */
interface Part {
  readonly from: number;
  readonly size: number;
}

interface PairingPage {
  readonly total: number;
  readonly shown: readonly Pairing[];
}

/** A page of all pairings in order of user. Decodes the names of all users, and the pairings of those on the page. */
function pageByUser(pairings: People["pairings"], { from, size }: Part): PairingPage {
  const users = Array.from(pairings.names(), ({ user }) => user).sort();
  const onPage = users.slice(from, from + size);
  // The first user can have pairings on the page before.
  const before = from - users.indexOf(onPage[0] ?? "");
  const theirs = [...new Set(onPage)].flatMap((user) => pairings.of(user));
  return { total: users.length, shown: theirs.slice(before, before + size) };
}

function pageOf(
  pairings: People["pairings"],
  { q, kind, sort, from, size }: Part & { readonly q: string; readonly kind: string; readonly sort: string },
): PairingPage {
  const wanted = canonicalName(q.trim());
  const fitting = [...pairings.all()]
    .filter((pairing) => (kind === "" || pairing.kind === kind) && fits(pairing, wanted))
    .sort(comparator(sort));
  return { total: fitting.length, shown: fitting.slice(from, from + size) };
}

/** @throws Refusal `unknown_pairing`. */
function pairingById({ pairings }: People, id: string): Pairing {
  const owner = pairings.ownerOf(id);
  const pairing = owner === null ? undefined : pairings.of(owner).find((one) => one.id === id);
  if (pairing === undefined) throw new Refusal("unknown_pairing");
  return pairing;
}

/** Whether the name of the user or of the phone matches. */
function fits(pairing: Pairing, wanted: string): boolean {
  const phone = pairing.kind === "device" ? canonicalName(pairing.name ?? "") : "";
  return pairing.user.includes(wanted) || phone.includes(wanted);
}

function byUser(a: Pairing, b: Pairing): number {
  return a.user < b.user ? -1 : a.user > b.user ? 1 : a.createdMs - b.createdMs;
}

/** Values to sort by. Equal values are in order of user. */
const SORT_VALUES: Readonly<Record<string, (pairing: Pairing) => string | number>> = {
  user: ({ user }) => user,
  kind: ({ kind }) => kind,
  name: (pairing) => canonicalName("number" in pairing ? pairing.number : shownName(pairing)),
  added: ({ createdMs }) => createdMs,
};

/** @param sort the name of a value; `-` before it means descending. "" sorts by user. */
function comparator(sort: string): (a: Pairing, b: Pairing) => number {
  const valueOf = SORT_VALUES[sort.replace(/^-/, "")];
  if (valueOf === undefined) return byUser;
  const direction = sort.startsWith("-") ? -1 : 1;
  return (a, b) => {
    const [first, second] = [valueOf(a), valueOf(b)];
    return first < second ? -direction : first > second ? direction : byUser(a, b);
  };
}

function shownName(pairing: Pairing): string {
  return pairing.kind === "device" ? pairing.name ?? pairing.id : "";
}

function useKey(user: string, kind: string): string {
  return `${kind} ${user}`;
}

/** The last login by this factor; one before it was paired was by another factor of the same kind. */
function usedOf(pairing: Pairing, used: ReadonlyMap<string, number>): number | null {
  const usedMs = used.get(useKey(pairing.user, pairing.kind)) ?? null;
  return usedMs !== null && usedMs >= pairing.createdMs ? usedMs : null;
}

/** The last accepted login of each user and factor, and the start of the searched time. */
async function lastUses(
  { store, clock }: Pick<DeviceRouteDeps, "store" | "clock">,
  shown: readonly Pairing[],
): Promise<{ used: Map<string, number>; sinceMs: number }> {
  const used = new Map<string, number>();
  const keptFromMs = clock.nowMs() - HISTORY_RETENTION_MS;
  if (shown.length === 0) return { used, sinceMs: keptFromMs };
  const filter = { outcome: "accepted", user: "", client: "", fromMs: null, toMs: null };
  const { items, next, searchedToMs } = await createHistoryReader({ store }).page(filter, {
    before: null,
    limit: MAX_LOGINS_SCANNED,
  });
  for (const { user, factor, endedMs } of items) {
    const key = useKey(canonicalName(user), factor ?? "");
    if (factor !== null && !used.has(key)) used.set(key, endedMs);
  }
  const oldestMs = searchedToMs ?? (next === null ? null : items.at(-1)?.startedMs ?? null);
  return { used, sinceMs: oldestMs ?? keptFromMs };
}
