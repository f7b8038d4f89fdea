// Checks a user's password: finds the entry as the gateway, then binds as that entry over a connection of its own (RFC 4513 §5.1.3).

import type { Clock } from "../../../platform/runtime.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import type { LdapEntry } from "./ldap_records.ts";
import { LdapPool } from "./ldap_pool.ts";

/** A directory takes longer for a longer password; no user types one of this length. */
const MAX_PASSWORD_OCTETS = 1024;

export interface LdapVerifier {
  /** Throws when the directory gives no answer. @param check.find the entry of the one who logs in. */
  verify(
    check: { password: Uint8Array; deadlineMs: number; find: () => Promise<LdapEntry | null> },
  ): Promise<"right" | "wrong">;
  close(): Promise<void>;
}

/** @param deps.connect gives connections that are not bound. */
export function createLdapVerifier(
  { clock, size, connect }: {
    clock: Clock;
    size: number;
    connect: (deadlineMs: number) => Promise<LdapConnection>;
  },
): LdapVerifier {
  const pool = new LdapPool({ open: connect, clock, size });
  return {
    async verify({ password, deadlineMs, find }) {
      const text = readPassword(password);
      // Without a password a bind succeeds for everybody: RFC 4513 §5.1.2.
      if (text === null || text === "") return "wrong";
      const entry = await find();
      if (entry === null || entry.dn === "") return "wrong";
      return await pool.use((connection) => bindAs(connection, { dn: entry.dn, password: text }), deadlineMs);
    },
    close: () => pool.close(),
  };
}

async function bindAs(
  connection: LdapConnection,
  { dn, password }: { dn: string; password: string },
): Promise<"right" | "wrong"> {
  try {
    await connection.bind(dn, password);
    return "right";
  } catch (thrown) {
    // An entry without a password is refused by some servers as inappropriateAuthentication.
    if (isRefusal(thrown, "invalidCredentials") || isRefusal(thrown, "inappropriateAuthentication")) {
      return "wrong";
    }
    throw thrown;
  }
}

function readPassword(octets: Uint8Array): string | null {
  if (octets.length > MAX_PASSWORD_OCTETS) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
  } catch (fault) {
    if (fault instanceof TypeError) return null;
    throw fault;
  }
}
