// Passwords of users in an LDAP directory: set by the gateway, or changed by the user in a login (RFC 3062, [MS-ADTS] §3.1.1.3.1.5).

import { isAccountRefusal } from "../../../platform/account_refusals.ts";
import type { PasswordChange, PasswordChangeRequest } from "../../backend_port.ts";
import { unsupportedError } from "../backend_error.ts";
import type { LdapEntry } from "./ldap_client.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import type { LdapPool } from "./ldap_pool.ts";
import { isRefusal, LdapRefusal } from "./ldap_result_codes.ts";
import type { LdapLayout } from "./ldap_schemas.ts";

/** RFC 3062 §2. */
const PASSWORD_MODIFY_OID = "1.3.6.1.4.1.4203.1.11.1";
const UNICODE_PASSWORD = "unicodePwd";

/** Replaces a password without its old one. */
export async function setPassword(
  connection: LdapConnection,
  { dn, password, layout }: { dn: string; password: string; layout: LdapLayout },
): Promise<void> {
  if (layout.schema.password === "password_modify") {
    return await connection.extended(PASSWORD_MODIFY_OID, encodePasswordModify(dn, { next: password }));
  }
  await connection.modify(dn, [
    { operation: "replace", attribute: UNICODE_PASSWORD, values: [encodeUnicodePassword(password)] },
  ]);
}

interface ChangeDeps {
  /** Connections that are bound as the gateway's account. */
  readonly bound: LdapPool;
  /** Connections without a bind. */
  readonly unbound: LdapPool;
  readonly layout: LdapLayout;
  readonly find: (connection: LdapConnection) => Promise<LdapEntry | null>;
}

/** Changes a password by its old one, so that the directory's policy for users applies. Throws if the directory does not answer. */
export async function changePassword(
  { bound, unbound, layout, find }: ChangeDeps,
  { old, next }: PasswordChangeRequest,
  deadlineMs: number,
): Promise<PasswordChange> {
  if (old === "" || next === "") throw unsupportedError("a password change needs both passwords");
  const entry = await bound.use(find, deadlineMs);
  if (entry === null || entry.dn === "") return "wrong";
  const { dn } = entry;
  if (layout.schema.password === "unicode_pwd") {
    // A user whose password is over cannot bind. Everyone may change a password by its old one, so the gateway's account does.
    const changes = [
      { operation: "delete", attribute: UNICODE_PASSWORD, values: [encodeUnicodePassword(old)] },
      { operation: "add", attribute: UNICODE_PASSWORD, values: [encodeUnicodePassword(next)] },
    ] as const;
    return await bound.use((connection) => resultOf(connection.modify(dn, changes)), deadlineMs);
  }
  const request = encodePasswordModify(dn, { old, next });
  const modify = (connection: LdapConnection) => resultOf(connection.extended(PASSWORD_MODIFY_OID, request));
  const asUser = await unbound.use(async (connection) => {
    const refusal = await connection.bindUser(dn, old);
    if (refusal !== null && !isAccountRefusal(refusal)) return refusal;
    return connection.isBound() ? await modify(connection) : null;
  }, deadlineMs);
  return asUser ?? await bound.use(modify, deadlineMs);
}

/** Windows: "0000052D: SvcErr: …" is the policy, and "00000056: AtrErr: …" is a wrong old password (Microsoft, "System Error Codes"). */
const WRONG_OLD_PASSWORD = /\b0*56:/;
const POLICY = /\b0*52d:/i;

async function resultOf(change: Promise<void>): Promise<PasswordChange> {
  try {
    await change;
    return "changed";
  } catch (thrown) {
    if (!(thrown instanceof LdapRefusal)) throw thrown;
    const { serverText } = thrown;
    if (WRONG_OLD_PASSWORD.test(serverText) || isRefusal(thrown, "invalidCredentials")) return "wrong";
    if (POLICY.test(serverText) || isRefusal(thrown, "constraintViolation")) return "refused";
    throw thrown;
  }
}

const SEQUENCE = 0x30;
const USER_IDENTITY = 0x80;
const OLD_PASSWORD = 0x81;
const NEW_PASSWORD = 0x82;

/** PasswdModifyRequestValue of RFC 3062 §2. The server hashes the new password. */
export function encodePasswordModify(
  dn: string,
  { old, next }: { readonly old?: string; readonly next: string },
): Uint8Array {
  const text = new TextEncoder();
  return tagged(SEQUENCE, [
    ...tagged(USER_IDENTITY, text.encode(dn)),
    ...(old === undefined ? [] : tagged(OLD_PASSWORD, text.encode(old))),
    ...tagged(NEW_PASSWORD, text.encode(next)),
  ]);
}

/** X.690 §8.1.3, definite lengths. */
function tagged(tag: number, content: Uint8Array | readonly number[]): Uint8Array {
  const { length } = content;
  const head = length < 0x80
    ? [tag, length]
    : length < 0x1_0000
    ? [tag, 0x82, length >> 8, length & 0xff]
    : [tag, 0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Uint8Array.from([...head, ...content]);
}

/** `unicodePwd` of [MS-ADTS] §3.1.1.3.1.5: in quotes, UTF-16, low octet first. */
export function encodeUnicodePassword(password: string): Uint8Array {
  const quoted = `"${password}"`;
  const octets = new Uint8Array(quoted.length * 2);
  const view = new DataView(octets.buffer);
  for (let at = 0; at < quoted.length; at++) view.setUint16(at * 2, quoted.charCodeAt(at), true);
  return octets;
}
