// The users to whom an import assigns tokens. They are checked again in the commit that assigns them: after the dry run a user may have left, or
// may have got other tokens. The token is then imported without a user.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation } from "../../../platform/store.ts";
import { userNotice, type UserRecord } from "../../../platform/user_record.ts";
import { MAX_TOKENS_PER_USER, type NewToken } from "../../../radius/tokens/token.ts";
import { type People, targetOf } from "../deps.ts";
import { type TokenCaller, tokenRecord } from "./token_commands.ts";

/** A token to import, and the user that the file names. */
export interface ImportedToken {
  readonly token: NewToken;
  readonly owner: string | null;
}

/** The active users among the owners, by canonical name. */
export type ImportedOwners = ReadonlyMap<string, { readonly name: string; readonly record: UserRecord }>;

/** Tokens with the users that they are assigned to, and what their commit needs for it. */
export interface AssignedTokens {
  readonly tokens: readonly ImportedToken[];
  readonly checks: readonly Check[];
  /** A record and a notice for each user. */
  readonly mutations: readonly Mutation[];
}

/** Tokens of one commit with owners. Each can need two checks: a KV Connect server accepts nine, and a file a hundred. */
export const maxAssigned = ({ isShared }: { readonly isShared: boolean }): number => isShared ? 4 : 50;

/** Reads the owners of tokens as they are now. */
export async function readOwners(
  people: People,
  tokens: readonly ImportedToken[],
): Promise<ImportedOwners> {
  const owners = new Map<string, { name: string; record: UserRecord }>();
  const { directory } = targetOf(people, undefined);
  for (const given of new Set(tokens.flatMap(({ owner }) => owner === null ? [] : [canonicalName(owner)]))) {
    const record = await people.findUserRecord(given);
    const stored = await directory.read("user", given);
    if (record.status === "active" && stored !== null) {
      owners.set(given, { name: stored.content.name, record });
    }
  }
  return owners;
}

/** Assigns tokens to owners that are active and have room. */
export function assignTokens(
  { people, clock, random }: { people: People; clock: Clock; random: Random },
  { tokens, owners, caller }: {
    tokens: readonly ImportedToken[];
    owners: ImportedOwners;
    caller: TokenCaller;
  },
): AssignedTokens {
  const checks = new Map<string, Check>();
  const counts = new Map<string, number>();
  const mutations: Mutation[] = [];
  const atMs = clock.nowMs();
  const assigned = tokens.map(({ token, owner }): ImportedToken => {
    const canonical = owner === null ? "" : canonicalName(owner);
    const found = owners.get(canonical);
    if (found === undefined) return { token, owner: null };
    const count = (counts.get(canonical) ?? people.hardwareTokens.of(canonical).length) + 1;
    if (count > MAX_TOKENS_PER_USER) return { token, owner: null };
    counts.set(canonical, count);
    const { name, record: { id: recordId, check } } = found;
    checks.set(canonical, check);
    const what = { serial: token.serial, shownUser: name };
    mutations.push(
      tokenRecord(caller, "hardware_token.assign", { record: what }),
      userNotice(name, { atMs, what: "token", by: "administrator", recordId }, random.bytes(4).toHex()),
    );
    return { token, owner: name };
  });
  return { tokens: assigned, checks: [...checks.values()], mutations };
}
