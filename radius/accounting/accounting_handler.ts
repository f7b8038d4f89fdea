// Decodes and handles Accounting-Requests (RFC 2866): applies them to the session table and answers after the change is durable.

import type { Log } from "../../platform/log.ts";
import type { Store } from "../../platform/store.ts";
import type { DropReason } from "../protocol/drop_reasons.ts";
import type { Counters } from "../server/gateway_monitor.ts";
import { writeAccountingResponse } from "../server/reply_encoder.ts";
import type { Request } from "../server/request.ts";
import { decodeText, describeAttributes, readInteger } from "../protocol/attributes.ts";
import { authenticatorOf, forEachAttribute } from "../protocol/packet.ts";
import type { SessionTable } from "./session_table.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { type SessionChange, sessionChange } from "../protocol/accounting.ts";
import { type AccountingReport, readIdentification } from "./session.ts";
import { type AttributeName, RADIUS_ATTRIBUTES } from "../protocol/dictionary.ts";

interface AccountingHandlerDeps {
  readonly sessions: SessionTable;
  readonly store: Pick<Store, "commit">;
  readonly log: Log;
  readonly counters: Counters;
  /** Called when a report about a user (canonical name) is durable. */
  readonly reported: (user: string) => void;
}

export interface AccountingHandler {
  /** Handles a request that passed the gate. Returns the drop reason, or `null`. */
  accept(request: Request): DropReason | null;
  /** Requests whose change is not durable yet. */
  readonly working: number;
}

/**
 * Requests in progress, in total and of one client. They share the store's commits with logins. This limit is lower than the size of a
 * commit, so a flood of accounting delays a login by at most one commit. The NAS sends a dropped request again.
 */
const MAX_ACCOUNTING_UNDER_WAY = 256;
export const MAX_ACCOUNTING_PER_CLIENT = 64;
/** Changes in one commit. An Accounting-On can end thousands of sessions. */
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
    request.server.answer(request, reply);
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
      record(request, mutations).then(() => deps.reported(report.user)).catch((fault: unknown) => {
        counters.drop("store_failed");
        request.server.release(request);
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

/** Characters of a text that a session stores. */
const MAX_TEXT_CHARACTERS = 128;
const GIGAWORD = 2 ** 32;

/**
 * Reads a packet that passed the gate. `null`: a required attribute is missing or malformed (RFC 2866 §5.13).
 *
 * @param request `userName` is User-Name without the domain and realm that the client strips.
 */
function decodeAccountingRequest(
  { octets, userName: shownUser }: Pick<Request, "octets" | "userName">,
): AccountingReport | null {
  const values = firstValues(octets);
  const statusType = integerOf(values, "Acct-Status-Type");
  if (statusType === null) return null;
  const change = sessionChange(statusType);
  const sessionId = values.get(RADIUS_ATTRIBUTES["Acct-Session-Id"].type) ?? null;
  if (NEEDS_SESSION_ID.has(change) && (sessionId === null || sessionId.length === 0)) return null;
  return {
    change,
    sessionHex: sessionId === null ? "" : sessionId.toHex(),
    sessionId: textOf(values, "Acct-Session-Id"),
    user: canonicalName(shownUser),
    shownUser,
    nas: textOf(values, "NAS-Identifier") || addressOf(values, "NAS-IP-Address") ||
      addressOf(values, "NAS-IPv6-Address"),
    framedAddress: [addressOf(values, "Framed-IP-Address"), addressOf(values, "Framed-IPv6-Address")]
      .filter((address) => address !== "").join(", "),
    callingStation: textOf(values, "Calling-Station-Id"),
    inputOctets: octetsOf(values, "Acct-Input-Octets", "Acct-Input-Gigawords"),
    outputOctets: octetsOf(values, "Acct-Output-Octets", "Acct-Output-Gigawords"),
    sessionSeconds: integerOf(values, "Acct-Session-Time"),
    delaySeconds: integerOf(values, "Acct-Delay-Time") ?? 0,
    terminateCause: integerOf(values, "Acct-Terminate-Cause"),
    identification: readIdentification(octets).toHex(),
  };
}

/** Accounting-On and Accounting-Off concern every session of a NAS, and some NASes send them without an Acct-Session-Id. */
const NEEDS_SESSION_ID: ReadonlySet<SessionChange> = new Set(["start", "stop", "update"]);

type Values = ReadonlyMap<number, Uint8Array>;

/** The first value of each attribute type. A value without octets counts as absent (RFC 2865 §5). */
function firstValues(packet: Uint8Array): Values {
  const values = new Map<number, Uint8Array>();
  forEachAttribute(packet, packet.length, (type, at, valueOctets) => {
    if (valueOctets > 0 && !values.has(type)) values.set(type, packet.subarray(at, at + valueOctets));
  });
  return values;
}

function integerOf(values: Values, name: AttributeName): number | null {
  const value = values.get(RADIUS_ATTRIBUTES[name].type);
  return value?.length === 4 ? readInteger(value) : null;
}

function textOf(values: Values, name: AttributeName): string {
  const value = values.get(RADIUS_ATTRIBUTES[name].type);
  return value === undefined ? "" : decodeText(value).slice(0, MAX_TEXT_CHARACTERS);
}

/** RFC 2869 §5.1: a Gigawords attribute counts how often the octets passed 2^32. */
function octetsOf(values: Values, octets: AttributeName, gigawords: AttributeName): number {
  return (integerOf(values, octets) ?? 0) + GIGAWORD * (integerOf(values, gigawords) ?? 0);
}

function addressOf(values: Values, name: AttributeName): string {
  const value = values.get(RADIUS_ATTRIBUTES[name].type);
  if (value === undefined) return "";
  const { kind } = RADIUS_ATTRIBUTES[name];
  if (kind === "ipv4" && value.length === 4) return value.join(".");
  return kind === "ipv6" && value.length === 16 ? ipv6Text(value) : "";
}

function ipv6Text(value: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => readInteger(pair(value, i)).toString(16));
  // The URL parser writes the short form of RFC 5952.
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

function pair(value: Uint8Array, group: number): Uint8Array {
  return Uint8Array.of(0, 0, value[2 * group] as number, value[2 * group + 1] as number);
}
