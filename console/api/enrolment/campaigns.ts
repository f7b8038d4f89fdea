// The records of campaigns: the campaign with its progress, the names of its users, and the result of each user. The record of a campaign is
// in every commit of its run, so that two nodes cannot invite the same user. Also who is invited and who is not.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { EnrolmentSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { MailQueue } from "../../../platform/mail/mail.ts";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";
import type { MailLanguage } from "../../../platform/mail/mail_templates.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../deps.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { matchingUsers, type UserListFilters } from "../users/user_list.ts";
import { directoryNumbers } from "../users/user_views.ts";

/** Why a campaign does not invite a user. Each has its label in both catalogues: `enrolment.reason_<reason>`. */
const SKIP_REASONS = [
  "has_factor",
  "has_number",
  "invited_already",
  "no_address",
  "inactive",
  "unknown_user",
  "over_maximum",
  "mail_refused",
  "changed_meanwhile",
] as const;
export type SkipReason = typeof SKIP_REASONS[number];

/** Why a running campaign waits. */
const CAMPAIGN_WAITS = [
  "mail_off",
  "mail_queue_full",
  "no_phone_service",
  "too_many_invitations",
] as const;
export type CampaignWait = typeof CAMPAIGN_WAITS[number];

type CampaignState = "running" | "done" | "cancelled";

/** Where the users of a campaign came from. */
type CampaignSource =
  | { readonly kind: "users" }
  | { readonly kind: "import"; readonly file: string }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "filter"; readonly filters: UserListFilters };

export interface CampaignOptions {
  /** Users that are invited at most. */
  readonly maximum: number;
  readonly perMinute: number;
  /** Days from the invitation to the deadline; 0: no deadline. */
  readonly deadlineDays: number;
  /** Whether users without a factor are reminded on the days of the settings. */
  readonly reminders: boolean;
  /** Also invite users whose only factor is a phone number of the directory. */
  readonly includesNumbers: boolean;
  /** Also invite users who have a valid invitation. It becomes invalid. */
  readonly again: boolean;
}

type SkipCounts = Readonly<Partial<Record<SkipReason, number>>>;

/** A campaign as the API shows it. Times are milliseconds since the epoch. */
export interface CampaignView extends Omit<CampaignRecord, "target" | "address" | "next"> {
  readonly id: string;
  /** Users that were looked at. */
  readonly done: number;
  /** Invited users who have a factor now, and who got a reminder. */
  readonly enrolled: number;
  readonly reminded: number;
}

/** What a campaign would do now. */
export interface CampaignPreview {
  readonly total: number;
  readonly invited: number;
  readonly skipped: SkipCounts;
  /** The first names of each reason. */
  readonly names: Readonly<Partial<Record<SkipReason | "invited", readonly string[]>>>;
  readonly isMailConfigured: boolean;
  readonly canInvite: boolean;
  /** The address of the links, if only this host can open them; otherwise `null`. */
  readonly localUrl: string | null;
  readonly minutes: number;
}

/** The result of one user of a campaign. */
export interface CampaignResult {
  readonly name: string;
  readonly did: "invited" | "skipped";
  readonly reason: SkipReason | null;
  readonly atMs: number;
}

export interface CampaignResults {
  readonly total: number;
  readonly rows: readonly CampaignResult[];
}

export interface EnrolmentDeps {
  readonly people: People;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly http: { readonly publicUrl: string };
  readonly enrolment: EnrolmentSettings;
  /** The queue of mails with its pace, and the language of users without one. */
  readonly mail: {
    readonly queue: MailQueue;
    readonly language: () => MailLanguage;
    readonly perMinute: () => number;
  };
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "openLease"> | undefined;
}

/** The value under ["enrolment_campaign", id]. */
export interface CampaignRecord {
  readonly name: string;
  /** The directory of the users. */
  readonly target: string;
  readonly source: CampaignSource;
  /** Who started it, and from where, for the audit log. */
  readonly by: string;
  readonly address: string;
  readonly state: CampaignState;
  readonly wait: CampaignWait | null;
  readonly createdMs: number;
  readonly endedMs: number | null;
  readonly options: CampaignOptions;
  readonly total: number;
  /** The position of the next user. */
  readonly next: number;
  readonly invited: number;
  readonly skipped: SkipCounts;
}

/** A campaign with the version of its record. */
export interface StoredCampaign {
  readonly id: string;
  readonly record: CampaignRecord;
  readonly versionstamp: string | null;
}

/** Users of one campaign. */
const MAX_CAMPAIGN_USERS = 50_000;
/** Stored campaigns. A further one replaces the oldest one that ended. */
const MAX_CAMPAIGNS = 200;
/** How long a campaign and its report are stored. */
const CAMPAIGN_MS = 180 * 24 * 3600_000;
/** Deno KV limits the size of a value to 64 KiB. */
const MAX_PART_CHARACTERS = 12_000;

const CAMPAIGNS: Deno.KvKey = ["enrolment_campaign"];

export class CampaignStore {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** All campaigns, newest first. */
  async all(): Promise<StoredCampaign[]> {
    const found: StoredCampaign[] = [];
    for await (
      const { key, value, versionstamp } of this.#store.list<CampaignRecord>(CAMPAIGNS, {
        limit: MAX_CAMPAIGNS,
        reverse: true,
      })
    ) if (value !== null) found.push({ id: String(key[1]), record: value, versionstamp });
    return found;
  }

  async read(id: string): Promise<StoredCampaign | null> {
    const { value, versionstamp } = await this.#store.get<CampaignRecord>(keyOf(id));
    return value === null ? null : { id, record: value, versionstamp };
  }

  /** Stores a campaign with its names. The campaign itself is written last, so that a crash before leaves nothing that runs. */
  async create(
    record: CampaignRecord,
    { names, random, also }: { names: readonly string[]; random: Random; also: readonly Mutation[] },
  ): Promise<StoredCampaign> {
    const id = record.createdMs.toString(36).padStart(9, "0") + random.bytes(4).toHex();
    for (const [at, part] of partsOf(names).entries()) {
      const value: NamePart = { from: part.from, names: part.names };
      await this.#store.commit({
        mutations: [{ type: "set", key: partKey(id, at), value, expireInMs: CAMPAIGN_MS }],
      });
    }
    const done = await this.#store.commit({
      checks: [{ key: keyOf(id), versionstamp: null }],
      mutations: [this.setting(id, record), ...also],
    });
    if (!done.ok) throw new Error("Cannot store a campaign: its id exists");
    return { id, record, versionstamp: done.versionstamp };
  }

  /** The removal of the oldest campaign that ended, if there are too many; `null` if all of them run. */
  async makeRoom(): Promise<readonly Mutation[] | null> {
    const all = await this.all();
    if (all.length < MAX_CAMPAIGNS) return [];
    const oldest = all.findLast(({ record }) => record.state !== "running");
    return oldest === undefined ? null : [{ type: "delete", key: keyOf(oldest.id) }];
  }

  /** The mutation that replaces the record of a campaign. */
  setting(id: string, value: CampaignRecord): Mutation {
    const expireInMs = Math.max(1, value.createdMs + CAMPAIGN_MS - this.#clock.nowMs());
    return { type: "set", key: keyOf(id), value, expireInMs };
  }

  /** The check that the record is unchanged. */
  check({ id, versionstamp }: StoredCampaign) {
    return { key: keyOf(id), versionstamp };
  }

  /** The names of a campaign from a position on, with their positions. */
  async *names(id: string, from: number): AsyncGenerator<readonly [at: number, name: string]> {
    for await (const { value } of this.#store.list<NamePart>(["enrolment_users", id])) {
      if (value === null || value.from + value.names.length <= from) continue;
      for (const [at, name] of value.names.entries()) {
        if (value.from + at >= from) yield [value.from + at, name];
      }
    }
  }

  /**
   * The mutation that stores the result of a user. Results have consecutive positions, so that a page is read alone.
   *
   * @param campaign before the result is counted
   */
  result(
    { id, record }: Pick<StoredCampaign, "id" | "record">,
    { name, reason }: { name: string; reason: SkipReason | null },
  ): Mutation {
    const value: ResultRecord = { name, reason, atMs: this.#clock.nowMs() };
    const expireInMs = Math.max(1, record.createdMs + CAMPAIGN_MS - this.#clock.nowMs());
    const did = reason === null ? "invited" : "skipped";
    const key = [...resultPrefix(id, did), countOf(record, did)];
    return { type: "set", key, value, expireInMs };
  }

  async results(
    id: string,
    { did, page, size }: { did: CampaignResult["did"]; page: number; size: number },
  ): Promise<CampaignResults> {
    const rows: CampaignResult[] = [];
    const prefix = resultPrefix(id, did);
    const start = (page - 1) * size;
    const selector = { start: [...prefix, start], end: [...prefix, start + size] };
    for await (const { value } of this.#store.range<ResultRecord>(selector, { limit: size })) {
      if (value !== null) rows.push({ ...value, did });
    }
    const campaign = await this.read(id);
    return { total: campaign === null ? 0 : countOf(campaign.record, did), rows };
  }

  /** All results, for the report. */
  async *allResults(id: string): AsyncGenerator<CampaignResult> {
    for (const did of ["invited", "skipped"] as const) {
      for await (const { value } of this.#store.list<ResultRecord>(resultPrefix(id, did))) {
        if (value !== null) yield { ...value, did };
      }
    }
  }
}

/** The value under ["enrolment_users", campaign, part]. */
interface NamePart {
  /** The position of the first name. */
  readonly from: number;
  readonly names: readonly string[];
}

/** The value under ["enrolment_result", campaign, did, position]. */
interface ResultRecord {
  readonly name: string;
  readonly reason: SkipReason | null;
  readonly atMs: number;
}

function partsOf(names: readonly string[]): NamePart[] {
  const parts: { from: number; names: string[] }[] = [];
  let left = 0;
  for (const [at, name] of names.entries()) {
    if (left < name.length) {
      parts.push({ from: at, names: [] });
      left = MAX_PART_CHARACTERS;
    }
    parts.at(-1)?.names.push(name);
    left -= name.length + 4;
  }
  return parts;
}

function keyOf(id: string): Deno.KvKey {
  return [...CAMPAIGNS, id];
}

function partKey(id: string, at: number): Deno.KvKey {
  return ["enrolment_users", id, at];
}

/** How many users of a campaign have a result. */
function countOf({ invited, skipped }: CampaignRecord, did: CampaignResult["did"]): number {
  return did === "invited" ? invited : Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

function resultPrefix(id: string, did: CampaignResult["did"]): Deno.KvKey {
  return ["enrolment_result", id, did === "invited" ? "mailed" : did];
}

/** What the decision about a user depends on. */
interface Candidate {
  /** `null`: the directory has no such user. */
  readonly user:
    | { readonly isActive: boolean; readonly hasAddress: boolean; readonly hasNumber: boolean }
    | null;
  readonly hasFactor: boolean;
  /** Whether the link of the last invitation still works. */
  readonly hasOpenLink: boolean;
}

/** Why a user is not invited, or `null`. */
export function whyNotInvited(
  { user, hasFactor, hasOpenLink }: Candidate,
  options: Pick<CampaignOptions, "again" | "includesNumbers">,
): SkipReason | null {
  if (user === null) return "unknown_user";
  if (!user.isActive) return "inactive";
  if (hasFactor) return "has_factor";
  if (user.hasNumber && !options.includesNumbers) return "has_number";
  if (hasOpenLink && !options.again) return "invited_already";
  return user.hasAddress ? null : "no_address";
}

/** Whether the user has a factor besides recovery codes: a pairing or a hardware token. */
export function hasEnrolled(
  { pairings, hardwareTokens }: Pick<People, "pairings" | "hardwareTokens">,
  canonical: string,
): boolean {
  return pairings.of(canonical).length > 0 || hardwareTokens.of(canonical).length > 0;
}

/** @param canonical the name of the user in the directory */
export function candidateOf(
  { people, secondFactorAdmin }: Pick<EnrolmentDeps, "people" | "secondFactorAdmin">,
  stored: Stored | null,
  canonical: string,
): Candidate {
  const pairings = people.pairings.of(canonical);
  const content = stored?.content;
  const mark = people.enrolment.of(canonical);
  return {
    user: content?.kind !== "user" ? null : {
      isActive: content.active,
      hasAddress: userMailAddress(content) !== null,
      hasNumber: directoryNumbers(people, { content, pairings }).length > 0,
    },
    hasFactor: hasEnrolled(people, canonical),
    hasOpenLink: mark !== null && secondFactorAdmin()?.isInvitationOpen(mark.invitation) === true,
  };
}

/** A user of the directory, also if the user was renamed since the campaign began. */
export async function readCandidate(
  { directory }: Target,
  name: string,
): Promise<{ stored: Stored | null; canonical: string }> {
  const canonical = canonicalName(name);
  const stored = await directory.read("user", canonical);
  if (stored !== null) return { stored, canonical };
  const later = await directory.renamedTo("user", canonical);
  if (later === null) return { stored: null, canonical };
  return { stored: await directory.read("user", later), canonical: later };
}

/** The users of a request. `names`: selected users, or those of an import. */
export type CampaignChoice =
  | { readonly names: readonly string[]; readonly file?: string | undefined }
  | { readonly group: string }
  | { readonly filters: UserListFilters };

/** Users that one selection by filters reads. */
const MAX_SCANNED = 200_000;

/** The names of a choice, each once. @throws Refusal `unknown_object`, `campaign_too_large`, `bad_filter`. */
export async function chosenNames(people: People, target: Target, choice: CampaignChoice): Promise<string[]> {
  const names = new Map<string, string>();
  const add = (name: string): void => {
    names.set(canonicalName(name), name);
    if (names.size > MAX_CAMPAIGN_USERS) throw new Refusal("campaign_too_large");
  };
  if ("names" in choice) choice.names.forEach(add);
  else if ("group" in choice) {
    const stored = await target.directory.read("group", canonicalName(choice.group));
    if (stored?.content.kind !== "group") throw new Refusal("unknown_object");
    stored.content.members.forEach(add);
  } else {
    const { filters } = choice;
    for await (const { content } of matchingUsers(people, target, { filters, most: MAX_SCANNED })) {
      add(content.name);
    }
  }
  if (names.size === 0) throw new DetailedRefusal("bad_value", { message: "No user is selected." });
  return [...names.values()];
}

export function sourceOf(choice: CampaignChoice): CampaignSource {
  if ("names" in choice) {
    return choice.file === undefined ? { kind: "users" } : { kind: "import", file: choice.file };
  }
  return "group" in choice
    ? { kind: "group", group: choice.group }
    : { kind: "filter", filters: choice.filters };
}
