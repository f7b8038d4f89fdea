// Packets that are being worked on, by conversation, and the requests that wait for their answer. A login that is not answered yet is also found
// by its tuple, so that a re-issued one can join it.

import type { Step } from "../protocol/steps.ts";
import type { Conversation } from "./conversation.ts";
import type { Finished } from "./state_machine.ts";
import type { Request } from "../server/request.ts";

/** A packet that is being worked on for a conversation. */
export interface Work {
  readonly conversation: Conversation;
  /** The requests that wait for the answer: the first one, and those that joined. */
  readonly requests: Request[];
  /** The step in the packet's State; `null`: a login. */
  readonly state: Step | null;
  /** The User-Password under the key of this process. */
  readonly digest: string;
  readonly hasPassword: boolean;
  /** When the first packet of the login came. */
  readonly startedMs: number;
  readonly playing: Promise<Finished | null>;
  /** Other answers to the same challenge that wait for this one. */
  waiting: number;
}

/** What a re-issued login must have in common with the one that is not answered yet. */
export interface ReissuedLogin {
  readonly request: Request;
  readonly tuple: string;
  readonly digest: string;
}

export interface Works {
  add(work: Work): void;
  remove(work: Work): void;
  of(conversation: Conversation): Work | undefined;
  /** The login that a re-issued one joins, or `null`. */
  joinable(login: ReissuedLogin): Work | null;
  /** Adds a request that waits for the same answer; returns the one that gave up its place, if there were too many. */
  join(work: Work, request: Request): Request | null;
  readonly size: number;
}

/** Requests that wait for one answer. */
const MAX_REQUESTS = 8;

export function createWorks({ joinWindowMs }: { joinWindowMs: number }): Works {
  const works = new Map<string, Work>();
  /** Logins that are not answered yet, by tuple; the newest of each. */
  const logins = new Map<string, Work>();

  return {
    add(work) {
      const { orderedId, tuple } = work.conversation;
      works.set(orderedId, work);
      if (work.state === null) logins.set(tuple, work);
    },
    remove(work) {
      const { orderedId, tuple } = work.conversation;
      if (works.get(orderedId) === work) works.delete(orderedId);
      if (work.state === null && logins.get(tuple) === work) logins.delete(tuple);
    },
    of: ({ orderedId }) => works.get(orderedId),
    joinable({ request, tuple, digest }) {
      const work = logins.get(tuple);
      if (work === undefined || !work.hasPassword || work.digest !== digest) return null;
      const { outcome, signed } = work.conversation;
      if (outcome !== null || (signed && !request.signed)) return null;
      return request.receivedMs - work.startedMs <= joinWindowMs ? work : null;
    },
    join({ requests }, request) {
      requests.push(request);
      // The first request stays: it is the one that the audit names.
      return requests.length > MAX_REQUESTS ? requests.splice(1, 1)[0] ?? null : null;
    },
    get size() {
      return works.size;
    },
  };
}
