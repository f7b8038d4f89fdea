// Parts of the Health page about protection: clients whose passwords are not checked, and administrators without a second factor or a second key.

import type { AdminRow } from "../api_types.ts";
import { effectiveRules } from "../clients/client_routes.ts";
import type { Connect } from "../deps.ts";
import type { HealthPart } from "../targets/target_types.ts";

const PLAIN = { figure: null, lastGoodMs: null, detail: "", testable: false } as const;
/** Names in one row. */
const MAX_NAMES = 5;

/** A warning while the global setting leaves passwords unchecked; a client that says so itself was set on purpose. */
export function passwordPart(port: Pick<Connect, "config" | "register">): HealthPart {
  const all = port.register.list();
  const clients = all.filter(({ disabled }) => !disabled);
  const unchecked = clients.filter((client) => effectiveRules(port, client).firstFactor === "none");
  const isGlobal = unchecked.some(({ firstFactor }) => firstFactor === "settings");
  const part = { ...PLAIN, id: "passwords", kind: "passwords", name: namesOf(unchecked) } as const;
  // Without clients, every address is served.
  if (all.length === 0 && port.config.radius.anyClient.firstFactor === "none") {
    return { ...part, state: "warning", note: "any_unchecked" };
  }
  if (unchecked.length === 0) return { ...part, state: "ok", note: "passwords_checked" };
  return { ...part, state: isGlobal ? "warning" : "off", note: "passwords_unchecked" };
}

/** Accounts of the sign-in provider have the factors of the provider. */
export function administratorParts(
  rows: readonly AdminRow[],
  { isSecondFactorRequired }: { isSecondFactorRequired: boolean },
): HealthPart[] {
  const own = rows.filter(({ disabled, origin }) => !disabled && origin !== "provider");
  const unprotected = own.filter(({ has }) => !has.totp && has.passkeys === 0);
  const lastKey = own.filter(({ role, has }) => role === "owner" && isLastKey(has));
  const part = (note: NonNullable<HealthPart["note"]>, found: readonly AdminRow[]): HealthPart[] =>
    found.length === 0
      ? []
      : [{ ...PLAIN, id: note, kind: "administrators", name: namesOf(found), state: "warning", note }];
  return [
    ...part(isSecondFactorRequired ? "admins_set_up" : "admins_no_factor", unprotected),
    ...part("owners_one_key", lastKey),
  ];
}

/** Whether one passkey is the only way to sign in. */
export function isLastKey({ password, totp, passkeys }: AdminRow["has"]): boolean {
  return passkeys === 1 && !password && !totp;
}

function namesOf(found: readonly { readonly name: string }[]): string {
  const names = found.slice(0, MAX_NAMES).map(({ name }) => name).join(", ");
  return found.length > MAX_NAMES ? `${names}, …` : names;
}
