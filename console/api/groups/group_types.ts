// What the console's API says of groups and devices: types alone, shared with the pages.

import type { Factor } from "../../../radius/flow/factors.ts";
import type { Receipt } from "../../../scim/ports.ts";
import type { BackendState } from "../../../scim/schema/resource.ts";
import type { BackendMark } from "../users/user_types.ts";

/** One attribute of an Access-Accept. */
export interface ReplyAttribute {
  readonly name: string;
  readonly value: string;
}

export interface GroupRow {
  readonly name: string;
  readonly members: number;
  /** Attributes of an Access-Accept that its members get; 0 if users of this target do not log in. */
  readonly replies: number;
  readonly backends: readonly BackendMark[];
}

export interface GroupPage {
  readonly target: string;
  readonly targets: readonly string[];
  readonly backends: readonly { readonly name: string; readonly kind: string; readonly mode: string }[];
  readonly total: number;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly GroupRow[];
}

export interface GroupView {
  readonly target: string;
  readonly name: string;
  readonly members: number;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly version: string;
  /** What members get of their own, by `radius.reply.group` or by the console. */
  readonly replies: readonly ReplyAttribute[];
  /** `null`: nothing of their own. What the settings give is changed there. */
  readonly repliesFrom: "settings" | "console" | null;
  /** Who changes them says which ones they saw. */
  readonly repliesVersion: number;
  /** The attributes of the Access-Accept of a member who is in no other group with some. */
  readonly effective: readonly (ReplyAttribute & { readonly from: "default" | "group" })[];
  /** Whether this target's users log in, so that replies mean something. */
  readonly logsIn: boolean;
  readonly backends: readonly {
    readonly name: string;
    readonly kind: string;
    readonly mode: string;
    /** `null`: it does not have the group and owes nothing. */
    readonly state: BackendState | null;
  }[];
}

export interface MemberRow {
  readonly name: string;
  readonly displayName: string;
  /** Whether a user of that name is in the directory. */
  readonly known: boolean;
  readonly active: boolean;
}

export interface MemberPage {
  readonly total: number;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly MemberRow[];
}

/** What a change made, and what each backend said. */
export interface GroupChange {
  readonly receipt: Receipt;
  /** `null` when the group is gone. */
  readonly group: GroupView | null;
}

/** One pairing in the list of all. */
export interface DeviceRow {
  readonly id: string;
  readonly kind: Factor;
  /** As the directory spells it. */
  readonly user: string;
  readonly createdMs: number;
  /** The name of a phone, or its id if it has no name. `null`: not a phone. */
  readonly phone: string | null;
  /** Digits of a phone's passcodes, 0 for none; `null`: not a phone. */
  readonly totpLength: number | null;
  /** Masked; only numbers have one. */
  readonly number: string | null;
  /** The last login of the user that this kind of factor let in; `null`: none in what is kept of logins. */
  readonly usedMs: number | null;
  /** Without a use: since when there was none, as far as logins are stored; `null`: it was paired later, so it was never used. */
  readonly unusedSinceMs: number | null;
}

export interface DevicePage {
  readonly total: number;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly DeviceRow[];
}
