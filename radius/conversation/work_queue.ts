// Packets in progress, by conversation, with the requests that wait for their answer. An unanswered login is also found by its tuple, so that
// a re-issued one can join it.

import { TextTable } from "../../platform/text_table.ts";
import { AUTHENTICATOR_AT, sixteenOctetText } from "../protocol/packet.ts";
import type { Step } from "../protocol/steps.ts";
import type { Conversation } from "./conversation.ts";
import type { Request } from "../server/request.ts";

/** A packet in progress. */
export interface PacketWork {
  readonly conversation: Conversation;
  /** The requests that wait for the answer: the first one, and those that joined. */
  readonly requests: Request[];
  /** The step in the packet's State; `null`: a login. */
  readonly state: Step | null;
  /** The keyed digest of the User-Password, with the key of this process. */
  readonly digest: string;
  readonly hasPassword: boolean;
  /** When the conversation began. */
  readonly startedMs: number;
  /** Where the {@link WorkQueue} has it. */
  readonly places: WorkPlaces;
  /** Other answers to the same challenge that wait for this one. */
  readonly waiting: number;
  /** Lets another answer wait: `resume` is called when this packet is no longer in progress. */
  wait(resume: () => void): void;
}

/** The rows of a packet in the tables of the queue, from {@link WorkQueue.add} on. */
interface WorkPlaces {
  work: number;
  login: number;
}

/** The values that a re-issued login must share with the unanswered one. */
interface ReissuedLogin {
  readonly request: Request;
  readonly tuple: string;
  readonly digest: string;
  /** Whether the tuple distinguishes logins. Otherwise only a copy of the packet joins, which can come by another socket (RFC 5080 §2.2.2). */
  readonly isDistinct: boolean;
}

/** The maximum number of requests that wait for one answer. */
const MAX_REQUESTS = 8;

export class WorkQueue {
  readonly #joinWindowMs: () => number;
  readonly #works: TextTable<PacketWork>;
  /** The newest unanswered login of each tuple. */
  readonly #logins: TextTable<PacketWork>;

  /** @param deps.hashSeed random, so that clients cannot predict the hashes of tuples */
  constructor({ joinWindowMs, hashSeed }: { joinWindowMs: () => number; hashSeed: number }) {
    this.#joinWindowMs = joinWindowMs;
    this.#works = new TextTable(hashSeed);
    this.#logins = new TextTable(hashSeed);
  }

  get size(): number {
    return this.#works.size;
  }

  add(work: PacketWork): void {
    const { places, conversation: { orderedId, tuple } } = work;
    places.work = this.#works.set(orderedId, work);
    if (work.state === null) places.login = this.#logins.set(tuple, work);
  }

  remove(work: PacketWork): void {
    this.#works.remove(work.places.work, work);
    if (work.state === null) this.#logins.remove(work.places.login, work);
  }

  has(orderedId: string): boolean {
    return this.#works.get(orderedId) !== undefined;
  }

  find({ orderedId }: Conversation): PacketWork | undefined {
    return this.#works.get(orderedId);
  }

  /** The login that a re-issued one joins, or `null`. */
  joinable({ request, tuple, digest, isDistinct }: ReissuedLogin): PacketWork | null {
    const work = this.#logins.get(tuple);
    if (work === undefined || !work.hasPassword || work.digest !== digest) return null;
    if (!isDistinct && !work.requests.some((one) => isCopy(one, request))) return null;
    const { outcome, signed } = work.conversation;
    if (outcome !== null || (signed && !request.signed)) return null;
    return request.receivedMs - work.startedMs <= this.#joinWindowMs() ? work : null;
  }

  /** Adds a request that waits for the same answer. Returns the request that it displaces, if there were too many. */
  join({ requests }: PacketWork, request: Request): Request | null {
    requests.push(request);
    // The first request stays, because the audit names it.
    return requests.length > MAX_REQUESTS ? requests.splice(1, 1)[0] ?? null : null;
  }
}

function isCopy({ octets: one }: Request, { octets: other }: Request): boolean {
  return one[1] === other[1] &&
    sixteenOctetText(one, AUTHENTICATOR_AT) === sixteenOctetText(other, AUTHENTICATOR_AT);
}
