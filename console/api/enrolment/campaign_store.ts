// The records of campaigns: the campaign with its progress, the names of its users, and the result of each user. The record of a campaign is
// in every commit of its run, so that two nodes cannot invite the same user.

import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type {
  CampaignOptions,
  CampaignResult,
  CampaignResults,
  CampaignSource,
  CampaignState,
  CampaignWait,
  SkipCounts,
  SkipReason,
} from "./campaigns.ts";

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
export const MAX_CAMPAIGN_USERS = 50_000;
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
