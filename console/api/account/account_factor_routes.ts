// One's own factors: seen, added and taken away by the same means that the console has, and recorded under one's own name.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { AddingPhone, Pairing } from "../../../radius/factors/pairing.ts";
import { addedByPhone, unconfirmedFactors } from "../../../radius/factors/unconfirmed_factors.ts";
import { maskPhoneNumber } from "../../../platform/phone_number.ts";
import { TOTP_STEP_MS } from "../../../radius/factors/totp.ts";
import type { DeviceService } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Attempts } from "../auth/sign_in_rate_limit.ts";
import { browserLabel } from "../auth/browser_label.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import type { MeDoor } from "./account_auth.ts";
import { readUserNotices, removeUserNotices } from "./user_notices.ts";
import { phoneUsers } from "./account_owner.ts";
import type { MeSession } from "./account_sessions.ts";
import type { MeFactors } from "./account_types.ts";
import type { OwnHistory } from "./account_history.ts";
import { type People, required } from "../users/user_deps.ts";
import { phoneToken } from "../devices/device_cookie.ts";
import { Refusal } from "../errors.ts";
import { TOTP_BEGUN_MS } from "../users/totp_enrolment.ts";
import { createUserFactors } from "../users/user_factors.ts";
import type { FactorDeed, FactorDeps } from "../users/factor_changes.ts";

export type MeFactorDeps = Omit<FactorDeps, "people"> & {
  readonly people?: People;
  readonly phone: DeviceService | null;
  readonly attempts: Attempts;
  readonly history: OwnHistory;
  readonly door: () => MeDoor;
};

const NOTHING = v.strictObject({});
const CODE = v.strictObject({ code: v.pipe(v.string(), v.minLength(1), v.maxLength(16)) });
const NAME = v.strictObject({ name: v.pipe(v.string(), v.minLength(1), v.maxLength(1024)) });
const PREFERENCE = v.strictObject({ factor: v.nullable(v.picklist(["device", "sms", "voice", "totp"])) });

export function createMeFactorRoutes(deps: MeFactorDeps) {
  const people = () => required(deps.people);
  const factors = () => createUserFactors({ ...deps, people: people() });
  const begunKey = ({ id }: MeSession): Deno.KvKey => ["me_totp", id];
  const adderOf = ({ person, pairingId }: MeSession): AddingPhone | undefined => {
    if (pairingId === null) return undefined;
    const phone = people().pairings.of(person.canonical).find(({ id }) => id === pairingId);
    const name = phone?.kind === "device" ? phone.name : undefined;
    return { id: pairingId, ...(name === undefined ? {} : { name }) };
  };
  const deedOf = (c: Context<HttpEnv>, { person, ...me }: MeSession): FactorDeed => ({
    user: person.userName,
    actor: `user:${person.userName}`,
    source: c.env.remoteAddress,
    browser: browserLabel(c),
    addedBy: adderOf({ person, ...me }),
  });
  /**
   * Whether the factors that the phone `removed` added still count: only if the visit showed a code of a factor that is independent of that
   * phone. The cookie and a code of the phone itself are not enough, because an attacker with the phone has both.
   *
   * @throws Refusal `me_step_up` when the visit can show such a code and has shown none yet.
   */
  const confirmsAdded = (me: MeSession, removed: string): boolean => {
    const { canonical } = me.person;
    if (addedByPhone(people(), { canonical, phone: removed }).length === 0) return false;
    const independent = independentOf(people(), canonical, removed);
    const hasCodes = independent.some(({ kind }) => kind === "device" || kind === "totp");
    if (me.via === "phone" && me.shownFactor === null && hasCodes) throw new Refusal("me_step_up");
    return independent.some(({ id }) => id === me.shownFactor);
  };
  /** The visit, if it may add a factor. @throws Refusal `me_over`, `me_step_up`. */
  const heldToAdd = async (c: Context<HttpEnv>): Promise<MeSession> => {
    const me = await deps.door().held(c);
    if (!me.mayAddFactors) throw new Refusal("me_step_up");
    return me;
  };
  /** @throws Refusal `unknown_pairing` when the factor does not wait for a confirmation. */
  const waitingId = ({ person }: MeSession, id: string): string => {
    const waits = unconfirmedFactors(people(), person.canonical).some((one) => one.id === id);
    if (!waits) throw new Refusal("unknown_pairing");
    return id;
  };
  const remove = async (c: Context<HttpEnv>, { id, kind }: { id: string; kind: Pairing["kind"] }) => {
    const me = await deps.door().held(c);
    const own = people().pairings.of(me.person.canonical);
    if (!own.some((pairing) => pairing.id === id && pairing.kind === kind)) {
      throw new Refusal("unknown_pairing");
    }
    // A thief with only the phone must not lock out its owner. With an administrator's link this is allowed: the administrator can create another.
    if (isLastFactor(people(), me, id)) throw new Refusal("last_own_factor");
    await factors().revoke(deedOf(c, me), id, { confirmsAdded: confirmsAdded(me, id) });
    return { removed: id };
  };

  return new Hono<HttpEnv>()
    .get("/factors", async (c) => c.json(await readFactors(deps, c)))
    .delete("/notices", async (c) => {
      // A person who has only the phone must not hide what they added.
      const { person } = await heldToAdd(c);
      await removeUserNotices(deps.store, person.canonical);
      return c.json({ removed: true });
    })
    .post("/unconfirmed/:id/keep", jsonBody(NOTHING), async (c) => {
      const me = await heldToAdd(c);
      await factors().confirmFactor(deedOf(c, me), waitingId(me, c.req.param("id")));
      return c.json({ confirmed: c.req.param("id") });
    })
    .delete("/unconfirmed/:id", async (c) => {
      const me = await heldToAdd(c);
      await factors().removeUnconfirmed(deedOf(c, me), waitingId(me, c.req.param("id")));
      return c.json({ removed: c.req.param("id") });
    })
    .post("/devices/invitation", jsonBody(NOTHING), async (c) => {
      const me = await heldToAdd(c);
      const { link, qr, deadlineMs } = await factors().invite(deedOf(c, me));
      return c.json({ url: link, qr, deadlineMs });
    })
    .put("/devices/:id", jsonBody(NAME), async (c) => {
      const me = await deps.door().held(c);
      const { name } = c.req.valid("json");
      await factors().rename(deedOf(c, me), { id: c.req.param("id"), name });
      return c.json({ renamed: c.req.param("id") });
    })
    .delete("/devices/:id", async (c) => c.json(await remove(c, { id: c.req.param("id"), kind: "device" })))
    .put("/preference", jsonBody(PREFERENCE), async (c) => {
      const me = await deps.door().held(c);
      const { factor } = c.req.valid("json");
      await factors().prefer(deedOf(c, me), factor);
      return c.json({ preference: factor });
    })
    .post("/totp", jsonBody(NOTHING), async (c) => {
      const me = await heldToAdd(c);
      const { id, secret, uri, qr, deadlineMs } = await factors().beginTotp(deedOf(c, me));
      const begun = { type: "set", key: begunKey(me), value: id, expireInMs: TOTP_BEGUN_MS } as const;
      await deps.store.commit({ mutations: [begun] });
      return c.json({ secret, uri, qr, deadlineMs });
    })
    .post("/totp/confirm", jsonBody(CODE), async (c) => {
      const me = await heldToAdd(c);
      const attempt = deps.attempts.take({ source: null, name: me.person.canonical });
      try {
        const id = (await deps.store.get<string>(begunKey(me))).value;
        if (id === null) throw new Refusal("no_totp_begun");
        const { code } = c.req.valid("json");
        const pairing = await factors().confirmTotp(deedOf(c, me), { id, code });
        attempt.forgive();
        return c.json({ pairingId: pairing.id });
      } catch (fault) {
        if (!(fault instanceof Refusal) || fault.code !== "wrong_totp") attempt.forgive();
        throw fault;
      }
    })
    .delete("/totp/:id", async (c) => c.json(await remove(c, { id: c.req.param("id"), kind: "totp" })))
    .post("/recovery-codes", jsonBody(NOTHING), async (c) => {
      const me = await heldToAdd(c);
      return c.json({ codes: await factors().makeRecoveryCodes(deedOf(c, me)) });
    });
}

/** The factors that count for a login without the factor `removed` and without the factors that it added. */
function independentOf({ pairings }: People, canonical: string, removed: string): Pairing[] {
  return pairings.usable(canonical)
    .filter(({ id }) => id !== removed && !pairings.wasAddedBy(canonical, { id, by: removed }));
}

/** Whether a visit that a phone alone opened may not remove this factor: no other one would count for a login. */
function isLastFactor(people: People, { via, person: { canonical } }: MeSession, id: string): boolean {
  return via === "phone" && independentOf(people, canonical, id).length === 0;
}

async function readFactors(deps: MeFactorDeps, c: Context<HttpEnv>): Promise<MeFactors> {
  const people = required(deps.people);
  const me = await deps.door().held(c);
  const { canonical, recordId } = me.person;
  const own = people.pairings.of(canonical);
  const here = new Set(
    (await phoneUsers({ people, phone: deps.phone }, phoneToken(c))).map((one) => one.pairingId),
  );
  const devices = own.filter((pairing) => pairing.kind === "device");
  const lastPushMs = devices.length === 0 ? null : await lastDeviceUse(deps, canonical);
  const { lockedUntilMs, hardLocked } = people.limits.failures(canonical);
  return {
    nowMs: deps.clock.nowMs(),
    devices: devices.map((pairing, at) => ({
      pairingId: pairing.id,
      ...(pairing.name === undefined ? {} : { name: pairing.name }),
      createdMs: pairing.createdMs,
      // A login asks the phone that was paired first.
      lastUsedMs: at === 0 ? lastPushMs : null,
      isThisPhone: here.has(pairing.id),
      isLast: isLastFactor(people, me, pairing.id),
    })),
    totp: own.flatMap((pairing) =>
      pairing.kind !== "totp" ? [] : [{
        pairingId: pairing.id,
        createdMs: pairing.createdMs,
        lastUsedMs: pairing.lastStep < 0 ? null : pairing.lastStep * TOTP_STEP_MS,
        isLast: isLastFactor(people, me, pairing.id),
      }]
    ),
    numbers: own.flatMap((pairing) =>
      pairing.kind !== "sms" && pairing.kind !== "voice" ? [] : [{
        pairingId: pairing.id,
        kind: pairing.kind,
        number: maskPhoneNumber(pairing.number),
        createdMs: pairing.createdMs,
      }]
    ),
    notices: await readUserNotices(deps.store, { userName: canonical, recordId }),
    recovery: people.recoveryCodes.standing(canonical),
    unconfirmed: unconfirmedFactors(people, canonical),
    preference: people.pairings.preferred(canonical),
    enabled: people.factors.enabled,
    canInvite: deps.desk !== null,
    locked: people.limits.isLocked(canonical) ? { untilMs: hardLocked ? null : lockedUntilMs } : null,
  };
}

async function lastDeviceUse(deps: MeFactorDeps, canonical: string): Promise<number | null> {
  const logins = await deps.history.of(canonical);
  return logins.find(({ outcome, factor }) => outcome === "accepted" && factor === "device")?.endedMs ?? null;
}
