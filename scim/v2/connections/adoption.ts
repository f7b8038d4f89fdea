// Adoption: a connection wants to write a resource that it did not create. The proposal waits for an administrator, in
// ["scim_adoption", connection, kind, id of the resource].

import { DAY_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Mutation, Store, StoreEntry } from "../../../platform/store.ts";
import type { ResourceKind } from "../../schema/resource.ts";
import type { AdoptionState } from "./connection_settings.ts";

/** The resource of a proposal. */
export interface AdoptedResource {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly name: string;
  /** What the identity provider calls it. */
  readonly externalId: string | null;
}

export interface AdoptionProposal extends AdoptedResource {
  readonly state: AdoptionState;
  /** The first and the latest request. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
}

export interface AdoptionPage {
  readonly proposals: readonly AdoptionProposal[];
  readonly cursor: string | null;
}

/** A decision, and its audit entries. */
interface AdoptionDecision {
  readonly state: Exclude<AdoptionState, "waiting">;
  readonly by: string;
  readonly audit: (proposal: AdoptionProposal) => Mutation;
}

/** Counted from the latest request. */
const LIFETIME_MS = 90 * DAY_MS;
/** The time of a waiting proposal is stored at most this often. */
const MIN_UPDATE_INTERVAL_MS = 3_600_000;
const MAX_CHARACTERS = 256;
/** Records that one page reads. */
const MAX_READ = 2000;
/** Records that one commit removes. */
const MAX_FORGOTTEN = 500;
/** Decisions of one commit. */
const BATCH = 50;
const KIND_IDS = /^(user|group):([\x21-\x7e]{1,128})$/;

export class Adoptions {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor({ store, clock }: { store: Store; clock: Pick<Clock, "nowMs"> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Records a proposal, or the time of its latest request. */
  async propose(connection: string, { kind, id, name, externalId }: AdoptedResource): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const { key, value, versionstamp } = await this.#read(connection, kind, id);
    const isFresh = value !== null && value.name === name && nowMs - value.lastMs < MIN_UPDATE_INTERVAL_MS;
    if (isFresh) return;
    const proposal: AdoptionProposal = {
      ...{ state: "waiting", firstMs: nowMs, decidedBy: null, decidedMs: null },
      ...value,
      ...{ kind, id, name: name.slice(0, MAX_CHARACTERS), lastMs: nowMs },
      externalId: externalId?.slice(0, MAX_CHARACTERS).toWellFormed() ?? null,
    };
    // After a lost race, the record has the same proposal or a decision.
    await this.#store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: proposal, expireInMs: LIFETIME_MS }],
    });
  }

  /** `null`: there is no proposal. */
  async stateOf(
    connection: string,
    { kind, id }: Pick<AdoptedResource, "kind" | "id">,
  ): Promise<AdoptionState | null> {
    return (await this.#read(connection, kind, id)).value?.state ?? null;
  }

  /** Forgets all proposals and decisions, so that a new connection does not inherit those of an earlier one with its name. */
  async forget(connection: string): Promise<void> {
    for (let isMore = true; isMore;) {
      const mutations: Mutation[] = [];
      for await (const { key } of this.#store.list(prefixOf(connection), { limit: MAX_FORGOTTEN })) {
        mutations.push({ type: "delete", key });
      }
      isMore = mutations.length > 0;
      if (isMore) await this.#store.commit({ mutations });
    }
  }

  /** In order of kind and id. A page can be empty although there are more. */
  async page(
    connection: string,
    { state, cursor, size }: { state: AdoptionState | null; cursor: string | null; size: number },
  ): Promise<AdoptionPage> {
    const after = readProposalId(cursor ?? "");
    const start = after === null ? prefixOf(connection) : [...keyOf(connection, after.kind, after.id), ""];
    const proposals: AdoptionProposal[] = [];
    let read = 0;
    let last: string | null = null;
    const entries = this.#store.range<AdoptionProposal>(
      { start, end: [...prefixOf(connection), true] },
      { limit: MAX_READ },
    );
    for await (const { key, value } of entries) {
      read++;
      last = `${String(key[2])}:${String(key[3])}`;
      if (value === null || (state !== null && value.state !== state)) continue;
      proposals.push(value);
      if (proposals.length === size) return { proposals, cursor: last };
    }
    return { proposals, cursor: read < MAX_READ ? null : last };
  }

  /** @param max counts at most so many. */
  async countWaiting(connection: string, max: number): Promise<number> {
    const { proposals } = await this.page(connection, { state: "waiting", cursor: null, size: max });
    return proposals.length;
  }

  /** Decides proposals by their ids (`user:<id>`). Returns how many it changed. */
  async decide(connection: string, ids: readonly string[], decision: AdoptionDecision): Promise<number> {
    let changed = 0;
    const known = ids.flatMap((id) => readProposalId(id) ?? []);
    for (let at = 0; at < known.length; at += BATCH) {
      const some = known.slice(at, at + BATCH);
      const done = await Promise.all(
        some.map(({ kind, id }) => this.#decide(connection, kind, id, decision)),
      );
      changed += done.filter(Boolean).length;
    }
    return changed;
  }

  /** Decides all waiting proposals. Returns how many it changed. */
  async decideAll(connection: string, decision: AdoptionDecision): Promise<number> {
    let changed = 0;
    for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
      const page: AdoptionPage = await this.page(connection, { state: "waiting", cursor, size: BATCH });
      changed += await this.decide(connection, page.proposals.map(proposalId), decision);
      cursor = page.cursor;
    }
    return changed;
  }

  /** A decision can be changed later. */
  async #decide(
    connection: string,
    kind: ResourceKind,
    id: string,
    { state, by, audit }: AdoptionDecision,
  ): Promise<boolean> {
    const { key, value, versionstamp } = await this.#read(connection, kind, id);
    if (value === null || value.state === state) return false;
    const decided: AdoptionProposal = { ...value, state, decidedBy: by, decidedMs: this.#clock.nowMs() };
    const { ok } = await this.#store.commit({
      checks: [{ key, versionstamp }],
      mutations: [decisionMutation(key, decided), audit(decided)],
    });
    return ok;
  }

  #read(connection: string, kind: ResourceKind, id: string): Promise<StoreEntry<AdoptionProposal>> {
    return this.#store.get<AdoptionProposal>(keyOf(connection, kind, id));
  }
}

/** An accepted match stays: a group whose members change has no other record of it. */
function decisionMutation(key: Deno.KvKey, value: AdoptionProposal): Mutation {
  return { type: "set", key, value, ...value.state === "accepted" ? {} : { expireInMs: LIFETIME_MS } };
}

/** `user:<id>`, for callers outside. */
export function proposalId({ kind, id }: Pick<AdoptedResource, "kind" | "id">): string {
  return `${kind}:${id}`;
}

function readProposalId(text: string): { kind: ResourceKind; id: string } | null {
  const [, kind, id] = KIND_IDS.exec(text) ?? [];
  return id !== undefined && (kind === "user" || kind === "group") ? { kind, id } : null;
}

const prefixOf = (connection: string): Deno.KvKey => ["scim_adoption", connection];
const keyOf = (connection: string, kind: ResourceKind, id: string): Deno.KvKey => [
  ...prefixOf(connection),
  kind,
  id,
];
