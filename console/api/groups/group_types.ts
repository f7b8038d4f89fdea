// Types of the group and device API, shared with the pages.

import type { PairedPhoneFacts } from "../../../upstream/embedded/push/phone_pages.ts";
import type { Factor } from "../../../radius/flow/context.ts";
import type { Receipt } from "../../../scim/ports.ts";
import type { BackendState } from "../../../scim/schema/resource.ts";
import type { BackendMark, UserPage } from "../users/user_types.ts";

/** One attribute of an Access-Accept. */
export interface ReplyAttribute {
  readonly name: string;
  readonly value: string;
}

export interface UserReplyView {
  readonly replies: readonly ReplyAttribute[];
  /** `null`: none. Those of the settings are changed in the settings file. */
  readonly repliesFrom: "settings" | "console" | null;
  /** A change must include this version. */
  readonly repliesVersion: number;
}

export interface GroupRow {
  readonly name: string;
  readonly members: number;
  /** Number of reply attributes of its members; 0 outside the login target. */
  readonly replies: number;
  readonly backends: readonly BackendMark[];
}

export interface GroupPage
  extends Pick<UserPage, "target" | "targets" | "backends" | "total" | "page" | "size"> {
  readonly rows: readonly GroupRow[];
}

export interface GroupView {
  readonly target: string;
  readonly name: string;
  readonly members: number;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly version: string;
  /** The reply attributes of members, from `radius.reply.group` or the console. */
  readonly replies: readonly ReplyAttribute[];
  /** `null`: none. Those of the settings are changed in the settings file. */
  readonly repliesFrom: "settings" | "console" | null;
  /** What a member of several groups receives: `all` adds the values of this group to those of others. */
  readonly repliesGroups: "first" | "all";
  /** A change must include this version. */
  readonly repliesVersion: number;
  /** The attributes of the Access-Accept of a member who is in no other group with some. */
  readonly effective: readonly (ReplyAttribute & { readonly from: "default" | "group" })[];
  /** The policies whose conditions name the group. Absent outside the login target. */
  readonly policies?: readonly string[];
  /** Whether this target's users log in, so that replies mean something. */
  readonly logsIn: boolean;
  readonly backends: readonly {
    readonly name: string;
    readonly kind: string;
    readonly mode: string;
    /** The gateway must not write there. */
    readonly isReadOnly?: true;
    /** `null`: it does not have the group, and nothing is pending. */
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

/** The result of a change, with the result of each backend. */
export interface GroupChangeResult {
  readonly receipt: Receipt;
  /** `null` when the group is gone. */
  readonly group: GroupView | null;
}

/** One pairing in the list of all. */
export interface DeviceRow {
  readonly id: string;
  readonly kind: Factor;
  /** In the spelling of the directory. */
  readonly user: string;
  readonly createdMs: number;
  /** The name of the phone; "" without one, `null` for another kind. */
  readonly phone: string | null;
  /** Digits of a phone's passcodes, 0 for none; `null`: not a phone. */
  readonly totpLength: number | null;
  /** `null`: not a phone of the embedded service. */
  readonly device: PairedPhoneFacts | null;
  /** Masked; only numbers have one. */
  readonly number: string | null;
  /** The last accepted login with this factor; `null`: none in the stored logins. */
  readonly usedMs: number | null;
  /** Without a use: the start of the stored logins; `null`: paired later, so it was never used. */
  readonly unusedSinceMs: number | null;
}

export interface RevocationFailure {
  readonly id: string;
  /** A sentence. */
  readonly detail: string;
}

/** The result of revoking several pairings. */
export interface RevocationResult {
  readonly revoked: readonly string[];
  readonly failed: readonly RevocationFailure[];
}

export interface DevicePage {
  readonly total: number;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly DeviceRow[];
}
