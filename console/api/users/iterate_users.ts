// The users that a list's filters match, one after the other: what a deed on all of them, or an export, goes through.

import type { Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { People } from "./user_deps.ts";
import { candidates, testsOf, type UserQuery } from "./user_list.ts";

export type UserFilters = Omit<UserQuery, "page" | "size">;

/**
 * In order of name; at most about `most` users are looked at.
 *
 * @throws Refusal `bad_filter`.
 */
export async function* matchingUsers(
  people: People,
  target: Target,
  { filters, most }: { filters: UserFilters; most: number },
): AsyncGenerator<Stored> {
  const query = { ...filters, page: 1, size: 1 };
  const tests = testsOf(people, query);
  let looked = 0;
  for await (const step of candidates(people, target, query)) {
    for (const stored of step) if (tests.every((test) => test(stored))) yield stored;
    looked += step.length;
    if (looked >= most) return;
  }
}
