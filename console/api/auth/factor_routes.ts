// The own factors of the signed-in administrator: authenticator app, recovery codes and passkeys.

import { Hono } from "hono";
import * as v from "valibot";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { Admins } from "./admin_store.ts";
import type { FactorRecord, Factors } from "./factors.ts";
import { type HttpEnv, jsonBody, ownOrigin } from "../hono_env.ts";
import { may } from "./permissions.ts";
import type { Passkeys } from "./passkeys.ts";
import { qrPicture } from "../qr_svg.ts";
import { Refusal } from "../errors.ts";
import type { Session } from "./sessions.ts";
import type { FactorSummary } from "../api_types.ts";
import { REGISTRATION } from "./webauthn_schema.ts";

export interface FactorRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: Admins;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
}

const MAX_PASSKEYS = 10;
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const NOTHING = v.strictObject({});
const CODE = v.strictObject({ code: text(64) });
const LABEL = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64), v.regex(/^\P{C}*$/u));
const PASSKEY_MADE = v.strictObject({ label: LABEL, response: REGISTRATION });

/** Changes of an administrator's own factors need a browser and a fresh factor. */
const OWN_FACTOR = may("viewer", { stepUp: true, browserOnly: true });

export function createFactorRoutes(deps: FactorRouteDeps) {
  const { store, factors, passkeys, clock } = deps;

  /** Commits a changed record with what else changes and its audit record. */
  const change = async (
    session: Session,
    wanted: {
      record: FactorRecord;
      check: Check;
      action: AuditAction;
      source: string;
      after?: string;
      checks?: readonly Check[];
      mutations?: readonly Mutation[];
    },
  ): Promise<FactorSummary> => {
    const { admin } = session;
    const done = await store.commit({
      checks: [wanted.check, ...(wanted.checks ?? [])],
      mutations: [
        factors.write(admin.id, wanted.record),
        ...(wanted.mutations ?? []),
        auditEntry({
          actor: admin.name,
          source: wanted.source,
          action: wanted.action,
          object: `administrator:${admin.name}`,
          after: wanted.after,
        }),
      ],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    return factorSummary(wanted.record);
  };
  const purpose = (session: Session) => `register\0${session.id}`;

  return new Hono<HttpEnv>()
    .get(
      "/",
      may("viewer", { browserOnly: true }),
      async (c) => c.json(factorSummary((await factors.read(c.var.session.admin.id)).record)),
    )
    .post("/totp", OWN_FACTOR, jsonBody(NOTHING), async (c) => {
      const { id, name } = c.var.session.admin;
      const secret = await factors.beginTotp(id);
      const label = encodeURIComponent(`Countersign:${name}`);
      const uri = `otpauth://totp/${label}?secret=${secret}&issuer=Countersign`;
      return c.json({ secret, uri, qr: qrPicture(uri) });
    })
    .post("/totp/confirm", OWN_FACTOR, jsonBody(CODE), async (c) => {
      const { session } = c.var;
      const { record, check } = await factors.confirmedTotp(session.admin.id, c.req.valid("json").code);
      const { codes, digests } = factors.makeRecoveryCodes(session.admin.id);
      const summary = await change(session, {
        record: { ...record, recovery: digests },
        check,
        action: "administrator.totp_add",
        source: c.env.remoteAddress,
      });
      return c.json({ codes, factors: summary });
    })
    .delete("/totp", OWN_FACTOR, async (c) => {
      const { session } = c.var;
      const { record, check } = await factors.read(session.admin.id);
      const { totp: _gone, pendingTotp: _alsoGone, ...rest } = record;
      const summary = await change(session, {
        record: { ...rest, recovery: [] },
        check,
        action: "administrator.totp_remove",
        source: c.env.remoteAddress,
      });
      return c.json(summary);
    })
    .post("/recovery-codes", OWN_FACTOR, jsonBody(NOTHING), async (c) => {
      const { session } = c.var;
      const { record, check } = await factors.read(session.admin.id);
      if (record.totp === undefined) throw new Refusal("no_totp");
      const { codes, digests } = factors.makeRecoveryCodes(session.admin.id);
      const summary = await change(session, {
        record: { ...record, recovery: digests },
        check,
        action: "administrator.recovery_codes",
        source: c.env.remoteAddress,
      });
      return c.json({ codes, factors: summary });
    })
    .post("/passkeys/options", OWN_FACTOR, jsonBody(NOTHING), async (c) => {
      const { session } = c.var;
      const { record } = await factors.read(session.admin.id);
      if (record.passkeys.length >= MAX_PASSKEYS) throw new Refusal("too_many_passkeys");
      return c.json(
        await passkeys.registrationOptions({
          origin: ownOrigin(c),
          userName: session.admin.name,
          purpose: purpose(session),
          known: record.passkeys,
        }),
      );
    })
    .post("/passkeys", OWN_FACTOR, jsonBody(PASSKEY_MADE), async (c) => {
      const { session } = c.var;
      const { label, response } = c.req.valid("json");
      const made = await passkeys.register({
        origin: ownOrigin(c),
        purpose: purpose(session),
        label,
        response,
      });
      const { record, check } = await factors.read(session.admin.id);
      if (record.passkeys.length >= MAX_PASSKEYS) throw new Refusal("too_many_passkeys");
      const { id: accountId, name } = session.admin;
      const summary = await change(session, {
        record: { ...record, passkeys: [...record.passkeys, made.passkey] },
        check,
        checks: made.checks,
        mutations: made.mutations({ name, accountId }),
        action: "administrator.passkey_add",
        after: label,
        source: c.env.remoteAddress,
      });
      return c.json(summary);
    })
    .delete("/passkeys/:id", OWN_FACTOR, async (c) => {
      const { session } = c.var;
      const { record, check } = await factors.read(session.admin.id);
      const gone = record.passkeys.find(({ id }) => id === c.req.param("id"));
      if (gone === undefined) throw new Refusal("not_found");
      const left = record.passkeys.filter((one) => one !== gone);
      if (left.length === 0 && !(await deps.admins.hasPassword(session.admin.name))) {
        throw new Refusal("last_factor");
      }
      const summary = await change(session, {
        record: { ...record, passkeys: left },
        check,
        mutations: [passkeys.forget(gone.id)],
        action: "administrator.passkey_remove",
        after: gone.label,
        source: c.env.remoteAddress,
      });
      return c.json(summary);
    });

  function factorSummary(record: FactorRecord): FactorSummary {
    return {
      nowMs: clock.nowMs(),
      totpSinceMs: record.totp?.sinceMs ?? null,
      recoveryCodesLeft: record.recovery.length,
      passkeys: record.passkeys.map(({ id, label, createdMs, usedMs }) => ({ id, label, createdMs, usedMs })),
    };
  }
}
