// Users of the directory whose names differ from an unknown User-Name only by a domain, a realm, blanks or other forms of the same letters.

import { decodeText } from "../../../radius/protocol/utf8.ts";
import { type SimilarName, similarNames, stripUserName } from "../../../radius/protocol/user_name.ts";
import type { StrayPacket } from "../../../radius/ports.ts";
import type { Connect } from "../clients/client_deps.ts";
import type { People } from "../users/user_deps.ts";

/** The user, and how the unknown name differs from the user's name. */
export type SimilarUser = SimilarName;

export interface SimilarUserDeps {
  /** Absent where the console runs without a directory. */
  readonly people?: Pick<People, "findUserRecord">;
  /** Absent where the console runs without the gateway. */
  readonly connect?: { readonly register: Pick<Connect["register"], "find"> };
}

/** Finds the user; `null` if the directory has or had the name itself, or has no similar one. */
export type FindSimilarUser = (userName: string, client: string | null) => Promise<SimilarUser | null>;

export function createSimilarUsers({ people, connect }: SimilarUserDeps): FindSimilarUser {
  return async (userName, client) => {
    if (people === undefined) return null;
    const similar = similarNames(userName);
    if (similar.length === 0 || (await people.findUserRecord(userName)).status !== "unknown") return null;
    const policy = (client === null ? null : connect?.register.find(client)) ?? NO_STRIPPING;
    for (const one of similar) {
      // A blank after a listed realm keeps the gateway from removing that realm.
      const name = stripUserName(one.name, policy);
      const { status } = await people.findUserRecord(name);
      if (status === "active" || status === "inactive") return { ...one, name };
    }
    return null;
  };
}

const NO_STRIPPING = { stripDomains: [], stripRealms: [] };
const USER_NAME = 1;

/** User-Name of a packet that was refused outside any login; `null` without one. */
export function userNameOf({ hex, rows }: Pick<StrayPacket, "hex" | "rows">): string | null {
  const row = rows.find(({ type }) => type === USER_NAME);
  if (row === undefined) return null;
  // The value of the row is text for people: a byte order mark is not part of it.
  return decodeText(Uint8Array.fromHex(hex.slice(2 * (row.at + 2), 2 * (row.at + row.lengthOctets))));
}
