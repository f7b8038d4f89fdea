// The signed-in administrator's own factors: authenticator app, recovery codes and passkeys.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { FactorSummary } from "../api_types.ts";
import { Refusal } from "../errors.ts";
import { callerOf, EMPTY, type HttpEnv, jsonBody, ownOrigin, textUpTo } from "../hono_env.ts";
import { createQrMatrix } from "../qr_svg.ts";
import type { AdminStore } from "./admin_store.ts";
import { type AdminFactors, type FactorEntry, type FactorRecord, hasSecondFactor } from "./factors.ts";
import { type Passkeys, REGISTRATION } from "./passkeys.ts";
import { may } from "./permissions.ts";

export interface FactorRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly admins: AdminStore;
  readonly factors: AdminFactors;
  readonly passkeys: Passkeys;
}

const MAX_PASSKEYS = 10;
const CODE = v.strictObject({ code: textUpTo(64) });
const LABEL = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64), v.regex(/^\P{C}*$/u));
const NEW_PASSKEY = v.strictObject({ label: LABEL, response: REGISTRATION });

/** Changes of an administrator's own factors need a browser and a recent factor. */
const OWN_FACTOR = may("viewer", { recentFactor: true, browserOnly: true, beforeSecondFactor: true });

export function createFactorRoutes(deps: FactorRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { browserOnly: true, beforeSecondFactor: true }), async (c) => {
      const { record } = await readOwn(deps, c);
      return c.json(factorSummary(record, await factsOf(deps, c)));
    })
    .route("/", createCodeRoutes(deps))
    .route("/passkeys", createPasskeyRoutes(deps));
}

/** Routes of the authenticator app and the recovery codes. */
function createCodeRoutes(deps: FactorRouteDeps) {
  const { factors } = deps;
  return new Hono<HttpEnv>()
    .post("/totp", OWN_FACTOR, jsonBody(EMPTY), async (c) => {
      const { id, name } = c.var.session.admin;
      const secret = await factors.beginTotp(id);
      const label = encodeURIComponent(`Countersign:${name}`);
      const uri = `otpauth://totp/${label}?secret=${secret}&issuer=Countersign`;
      return c.json({ secret, uri, qr: createQrMatrix(uri) });
    })
    .post("/totp/confirm", OWN_FACTOR, jsonBody(CODE), async (c) => {
      const { id } = c.var.session.admin;
      const { record, check } = await factors.confirmedTotp(id, c.req.valid("json").code);
      const { codes, digests } = factors.makeRecoveryCodes(id);
      const entry = { record: { ...record, recovery: digests }, check };
      return c.json({
        codes,
        factors: await change(deps, c, { ...entry, action: "administrator.totp_add" }),
      });
    })
    .delete("/totp", OWN_FACTOR, async (c) => {
      const { record, check } = await readOwn(deps, c);
      const { totp: _totp, pendingTotp: _pendingTotp, ...rest } = record;
      // A passkey also needs codes for the day on which it is lost.
      const entry = { record: rest.passkeys.length > 0 ? rest : { ...rest, recovery: [] }, check };
      return c.json(await change(deps, c, { ...entry, action: "administrator.totp_remove" }));
    })
    .post("/recovery-codes", OWN_FACTOR, jsonBody(EMPTY), async (c) => {
      const { record, check } = await readOwn(deps, c);
      if (!hasSecondFactor(record)) throw new Refusal("no_totp");
      const { codes, digests } = factors.makeRecoveryCodes(c.var.session.admin.id);
      const entry = { record: { ...record, recovery: digests }, check };
      const summary = await change(deps, c, { ...entry, action: "administrator.recovery_codes" });
      return c.json({ codes, factors: summary });
    });
}

function createPasskeyRoutes(deps: FactorRouteDeps) {
  const { admins, passkeys } = deps;
  const purposeOf = (c: Context<HttpEnv>) => `register\0${c.var.session.id}`;
  return new Hono<HttpEnv>()
    .post("/options", OWN_FACTOR, jsonBody(EMPTY), async (c) => {
      const { record } = await readOwn(deps, c);
      if (record.passkeys.length >= MAX_PASSKEYS) throw new Refusal("too_many_passkeys");
      const userName = c.var.session.admin.name;
      const wanted = { origin: ownOrigin(c), userName, purpose: purposeOf(c), known: record.passkeys };
      return c.json(await passkeys.registrationOptions(wanted));
    })
    .post("/", OWN_FACTOR, jsonBody(NEW_PASSKEY), async (c) => {
      const { id: accountId, name } = c.var.session.admin;
      const given = c.req.valid("json");
      const made = await passkeys.register({ origin: ownOrigin(c), purpose: purposeOf(c), ...given });
      const { record, check } = await readOwn(deps, c);
      if (record.passkeys.length >= MAX_PASSKEYS) throw new Refusal("too_many_passkeys");
      const summary = await change(deps, c, {
        record: { ...record, passkeys: [...record.passkeys, made.passkey] },
        check,
        checks: made.checks,
        mutations: made.mutations({ name, accountId }),
        action: "administrator.passkey_add",
        after: given.label,
      });
      return c.json(summary);
    })
    .delete("/:id", OWN_FACTOR, async (c) => {
      const { record, check } = await readOwn(deps, c);
      const removed = record.passkeys.find(({ id }) => id === c.req.param("id"));
      if (removed === undefined) throw new Refusal("not_found");
      const left = record.passkeys.filter((one) => one !== removed);
      if (left.length === 0 && !(await admins.hasPassword(c.var.session.admin.name))) {
        throw new Refusal("last_factor");
      }
      const summary = await change(deps, c, {
        record: { ...record, passkeys: left },
        check,
        mutations: [passkeys.deleteMutation(removed.id)],
        action: "administrator.passkey_remove",
        after: removed.label,
      });
      return c.json(summary);
    });
}

function readOwn({ factors }: FactorRouteDeps, c: Context<HttpEnv>): Promise<FactorEntry> {
  return factors.read(c.var.session.admin.id);
}

interface FactorChange extends FactorEntry {
  readonly action: AuditAction;
  readonly after?: string;
  readonly checks?: readonly Check[];
  readonly mutations?: readonly Mutation[];
}

/** Commits a changed record with its audit record. @throws Refusal `changed_meanwhile`. */
async function change(
  deps: FactorRouteDeps,
  c: Context<HttpEnv>,
  { record, check, checks = [], mutations = [], action, after }: FactorChange,
): Promise<FactorSummary> {
  const { store, factors } = deps;
  const { admin } = c.var.session;
  const done = await store.commit({
    checks: [check, ...checks],
    mutations: [
      factors.write(admin.id, record),
      ...mutations,
      auditEntry({ ...callerOf(c), action, object: `administrator:${admin.name}`, after }),
    ],
  });
  if (!done.ok) throw new Refusal("changed_meanwhile");
  return factorSummary(record, await factsOf(deps, c));
}

async function factsOf({ clock, admins }: FactorRouteDeps, c: Context<HttpEnv>) {
  return { nowMs: clock.nowMs(), hasPassword: await admins.hasPassword(c.var.session.admin.name) };
}

function factorSummary(
  record: FactorRecord,
  facts: Pick<FactorSummary, "nowMs" | "hasPassword">,
): FactorSummary {
  return {
    ...facts,
    totpSinceMs: record.totp?.sinceMs ?? null,
    recoveryCodesLeft: record.recovery.length,
    passkeys: record.passkeys.map(({ id, label, createdMs, usedMs }) => ({ id, label, createdMs, usedMs })),
  };
}
