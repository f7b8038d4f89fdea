// What the gateway knows about users and groups by their names, for the writers of the directory: such a change can give a person access.

import type { ReplyAttributeRegistry } from "../factors/reply_attribute_registry.ts";
import type { UserReplyRegistry } from "../factors/user_replies.ts";
import type { FactorMarks } from "../factors/factor_marks.ts";
import { type AnyFactorDeps, hasAnyFactor } from "../factors/own_factors.ts";
import type { PolicyRegistry } from "./policy_registry.ts";

/** All names are canonical. */
export interface NamedAccess {
  isGroupNamed(group: string): boolean;
  /** Whether a policy or a reply attribute of the settings names the user. */
  isUserNamed(user: string): boolean;
  /** The front-end attributes of users from which reply attributes come. */
  readonly replySources: readonly string[];
  /** Whether policies or reply attributes name any group. */
  namesGroups(): boolean;
  /** Whether a user with the name has a factor, or had one. @param id of the directory record; absent: there is none */
  hadFactor(user: string, id: string | undefined): boolean;
}

interface NamedAccessDeps extends AnyFactorDeps {
  readonly factorMarks: Pick<FactorMarks, "has">;
  readonly policies: { readonly registry: Pick<PolicyRegistry, "names" | "namesGroups"> };
  readonly replies: Pick<ReplyAttributeRegistry, "find" | "namesGroups">;
  readonly userReplies: Pick<UserReplyRegistry, "names">;
  readonly replySources: readonly string[];
}

export function createNamedAccess(
  { policies, replies, userReplies, replySources, factorMarks, ...factors }: NamedAccessDeps,
): NamedAccess {
  return {
    isGroupNamed: (group) => policies.registry.names("group", group) || replies.find(group).from !== null,
    isUserNamed: (user) => policies.registry.names("user", user) || userReplies.names(user),
    replySources,
    namesGroups: () => policies.registry.namesGroups || replies.namesGroups,
    hadFactor: (user, id) =>
      hasAnyFactor(factors, user) || factorMarks.has(user, id === undefined ? undefined : { id }),
  };
}
