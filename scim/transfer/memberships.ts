// Memberships that rows of users ask for, gathered by group until there are many: a group is then written once, not once a row.

import { canonicalName } from "../../platform/canonical_name.ts";

export interface GatheredGroup {
  readonly group: string;
  readonly members: readonly string[];
  /** The first row that named the group. */
  readonly line: number;
}

export interface Memberships {
  add(membership: { readonly group: string; readonly member: string; readonly line: number }): void;
  isFull(): boolean;
  /** What was gathered, in order of first naming; it begins anew. */
  take(): GatheredGroup[];
}

const MOST = 20_000;

export function createMemberships(): Memberships {
  let groups = new Map<string, { group: string; members: string[]; line: number }>();
  let size = 0;
  return {
    add({ group, member, line }) {
      const canonical = canonicalName(group);
      const found = groups.get(canonical);
      if (found === undefined) groups.set(canonical, { group, members: [member], line });
      else found.members.push(member);
      size++;
    },
    isFull: () => size >= MOST,
    take() {
      const taken = [...groups.values()];
      groups = new Map();
      size = 0;
      return taken;
    },
  };
}
