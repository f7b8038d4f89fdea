// Handles Accounting-Requests (RFC 2866): applies them to the session table and answers after the change is durable.

import type { Log } from "../../platform/log.ts";
import type { Store } from "../../platform/store.ts";
import type { DropReason } from "../protocol/drop_reasons.ts";
import type { Counters } from "../server/counters.ts";
import { writeAccountingResponse } from "../server/reply_encoder.ts";
import type { Request } from "../server/request.ts";
import { describeAttributes } from "../protocol/attributes.ts";
import { authenticatorOf } from "../protocol/packet.ts";
import { decodeAccountingRequest } from "./accounting_request.ts";
import type { SessionTable } from "./session_table.ts";

export interface AccountingHandlerDeps {
  readonly sessions: SessionTable;
  readonly store: Pick<Store, "commit">;
  readonly log: Log;
  readonly counters: Counters;
  readonly send: (request: Request, reply: Uint8Array) => void;
  /** Forgets a request that gets no answer, so that its retransmission is handled. */
  readonly release: (request: Request) => void;
}

export interface AccountingHandler {
  /** Handles a request that the gate found authentic. Returns why it is dropped, or `null`. */
  accept(request: Request): DropReason | null;
  /** Requests whose change is not durable yet. */
  readonly working: number;
}

/**
 * Requests under way, in total and of one client. They share the store's commits with logins: so few never fill a commit, and a flood of
 * accounting delays a login by one commit at most. The NAS sends a dropped request again.
 */
export const MAX_ACCOUNTING_UNDER_WAY = 256;
export const MAX_ACCOUNTING_PER_CLIENT = 64;
/** Changes in one commit: an Accounting-On may end thousands of sessions. */
const MAX_MUTATIONS = 200;

export function createAccountingHandler(deps: AccountingHandlerDeps): AccountingHandler {
  const { sessions, store, log, counters } = deps;
  const underWay = new Map<string, number>();
  let working = 0;

  const enter = (client: string, by: 1 | -1): void => {
    working += by;
    const count = (underWay.get(client) ?? 0) + by;
    if (count === 0) underWay.delete(client);
    else underWay.set(client, count);
  };

  async function record(request: Request, mutations: ReturnType<SessionTable["apply"]>): Promise<void> {
    for (let at = 0; at < mutations.length; at += MAX_MUTATIONS) {
      await store.commit({ mutations: mutations.slice(at, at + MAX_MUTATIONS) });
    }
    const reply = writeAccountingResponse(request);
    request.slot.reply = reply;
    deps.send(request, reply);
    counters.count("accounting_responses");
    if (!log.enabled("info")) return;
    log.info("Accounting-Response", {
      ...senderFields(request),
      user: request.userName,
      id: request.octets[1],
      tookMs: Math.round((performance.now() - request.startedAt) * 10) / 10,
    });
  }

  function logRequest(request: Request): void {
    if (!log.enabled("info")) return;
    const { octets } = request;
    const { shown, unknown } = describeAttributes(octets, octets.length);
    log.info("Accounting-Request", { ...senderFields(request), id: octets[1], attributes: shown });
    for (const type of unknown) log.info(`attribute ${type} is unknown, skipped`, senderFields(request));
  }

  return {
    accept(request) {
      const { client, source, receivedMs, octets } = request;
      if (
        working >= MAX_ACCOUNTING_UNDER_WAY || (underWay.get(client.name) ?? 0) >= MAX_ACCOUNTING_PER_CLIENT
      ) return "too_busy";
      counters.count("accounting_requests");
      logRequest(request);
      const report = decodeAccountingRequest(request);
      if (report === null) return "incomplete_accounting";
      const authenticator = authenticatorOf(octets).toHex();
      const evicted = sessions.evictions;
      const mutations = sessions.apply(report, { client: client.name, source, receivedMs, authenticator });
      if (sessions.evictions > evicted) counters.count("accounting_sessions_evicted");
      enter(client.name, 1);
      record(request, mutations).catch((fault: unknown) => {
        counters.drop("store_failed");
        deps.release(request);
        log.error("an Accounting-Request could not be recorded", {
          ...senderFields(request),
          fault: String(fault),
        });
      }).finally(() => enter(client.name, -1));
      return null;
    },
    get working() {
      return working;
    },
  };
}

function senderFields({ client, source }: Request): { client: string; source: string } {
  return { client: client.name, source };
}
