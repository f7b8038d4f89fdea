// Routes of the live page: a snapshot, the event stream, one login in detail with its explanation, and dropped packets.

import { Hono } from "hono";
import type {
  ConversationOutcome,
  ConversationView,
  DropTally,
  GatewayMonitor,
  PacketRecord,
  StrayPacket,
} from "../../../radius/ports.ts";
import type { IpLocation } from "../../../platform/geoip/geoip.ts";
import type { Store } from "../../../platform/store.ts";
import type { Connect, People } from "../deps.ts";
import { radiusAddress } from "../onboarding/onboarding.ts";
import { eventChunk, type EventStreams } from "./event_stream.ts";
import { flowLayout } from "./flow_layout.ts";
import { createHistoryReader, type HistoryReader, type Locator } from "../history/history.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { nodeNameOf, type NodeRouteDeps } from "../nodes/node_routes.ts";
import type { LiveSnapshot } from "../api_types.ts";
import { type LiveFeed, shortened } from "./event_feed.ts";
import { Refusal } from "../errors.ts";
import type { LoginRecord } from "../../../radius/conversation/login_record.ts";
import { explainLogin, explainStray, type Explanation } from "./explain_login.ts";
import type { Policy } from "../../../radius/policy/policy.ts";
import { FACTOR_ORDER } from "../../../radius/flow/context.ts";
import { decodeText } from "../../../radius/protocol/attributes.ts";
import { type SimilarName, similarNames, stripUserName } from "../../../radius/protocol/login_input.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { ConnectionRequestEvent, ConnectionRequestRow } from "../connections/connection_types.ts";

export interface LiveRouteDeps extends RequestFeedDeps {
  readonly feed: LiveFeed;
  readonly watch: GatewayMonitor;
  readonly store: Store;
  readonly streams: EventStreams;
  /** Absent where the console runs without the gateway. */
  readonly connect?: Connect;
  /** Absent where the console runs without a directory. */
  readonly people?: People;
  readonly cluster?: NodeRouteDeps["cluster"];
  readonly geoIp?: Locator | undefined;
}

export function createLiveRoutes(deps: LiveRouteDeps) {
  const { feed, watch, store, streams, connect, people, cluster, geoIp, clock } = deps;
  const { port: radiusPort } = radiusAddress(connect?.listening.radius[0] ?? "");
  const history = createHistoryReader({ store });
  const requests = new ConnectionRequestFeed(deps);
  const ongoing = (nowMs: number) => (tally: DropTally) =>
    isOngoing(tally, { nowMs, clients: connect?.register.namesAt(tally.source) ?? null });
  const findSimilarUser = createSimilarUsers({
    ...(people === undefined ? {} : { people }),
    ...(connect === undefined ? {} : { connect }),
  });
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), async (c) => c.json(await wholeSnapshot(feed, history)))
    .get("/picture", may("viewer", { countsAsUse: false }), (c) => c.json(flowLayout()))
    .get(
      "/strays",
      may("viewer", { countsAsUse: false }),
      async (c) =>
        c.json(await strayList({ watch, findSimilarUser, radiusPort, isOngoing: ongoing(clock.nowMs()) })),
    )
    .get("/logins/:id", may("viewer", { countsAsUse: false }), async (c) => {
      const details = await loginDetails(c.req.param("id"), {
        ...{ watch, history, findSimilarUser, radiusPort, cluster, geoIp },
        policies: people?.policies.registry.list.policies ?? [],
      });
      if (details === null) throw new Refusal("login_gone");
      return c.json(details);
    })
    .get("/stream", may("viewer", { countsAsUse: false }), (c) => {
      if (c.req.method === "HEAD") return c.body(null);
      // EventSource repeats the address it was made with, so its header is the newer of the two.
      const after = c.req.header("last-event-id") ?? c.req.query("after") ?? null;
      return streams.open({
        owner: c.var.session.personId,
        mayUseReserve: c.var.session.admin.role === "owner",
        start(sink) {
          const stops = [feed.follow(after, sink.send), requests.follow(sink.send)];
          return () => stops.forEach((stop) => stop());
        },
        isStillAllowed: c.var.isStillAllowed,
      });
    });
}

/** Ended logins of the history that a page gets when it loads. */
const MAX_FROM_HISTORY = 500;

/** The snapshot of the feed, with the newest logins of the history: the gateway forgets ended logins after a minute. */
async function wholeSnapshot(feed: LiveFeed, history: HistoryReader): Promise<LiveSnapshot> {
  // Before the wait, so that the stream continues after it.
  const snapshot = feed.snapshot();
  const known = new Set(snapshot.conversations.map(({ id }) => id));
  const ended = (await history.newest(MAX_FROM_HISTORY)).filter(({ id }) => !known.has(id));
  return {
    ...snapshot,
    conversations: [...snapshot.conversations, ...ended.map(({ id, login }) => shortened(viewOf(id, login)))],
  };
}

export interface LoginDetails {
  readonly view: ConversationView;
  /** `null`: not stored. Only the newest logins have packets. */
  readonly packets: readonly PacketRecord[] | null;
  /** `null` for an open or accepted login. */
  readonly explanation: Explanation | null;
  /** A user with nearly the same name, if the directory does not have the name; otherwise `null`. */
  readonly similar: SimilarUser | null;
  /** The RADIUS port of the gateway. */
  readonly radiusPort: number;
  /** The node that handled it last; `null` while there is one node. */
  readonly node: string | null;
  /** Where the address of the caller is; `null` if it is unknown. */
  readonly location: IpLocation | null;
  /** Whether a policy with the name of the one that applied still exists. */
  readonly hasPolicy: boolean;
}

/** A datagram outside any login, with the reason. */
export interface ExplainedStray extends StrayPacket {
  readonly explanation: Explanation;
  /** A user with nearly the same name, if the name was refused for its form; otherwise `null`. */
  readonly similar: SimilarUser | null;
}

export interface StrayList {
  readonly items: readonly ExplainedStray[];
  /** Counts of each reason and source. */
  readonly tallies: readonly DropTally[];
  /** The RADIUS port of the gateway. */
  readonly radiusPort: number;
}

const MAX_STRAYS = 200;
/** A problem without packets for this time has ended. */
const ONGOING_MS = 10 * 60_000;
const MAX_TALLIES = 200;
/** Refused names that one response looks up, newest first. Anyone can send names. */
const MAX_NAMES = 20;

/** `null` when the login is neither in memory nor in the history. */
async function loginDetails(
  id: string,
  { watch, history, findSimilarUser, radiusPort, cluster, geoIp, policies = [] }: {
    watch: GatewayMonitor;
    history: HistoryReader;
    policies?: readonly Pick<Policy, "name">[];
    findSimilarUser: FindSimilarUser;
    radiusPort: number;
    cluster?: NodeRouteDeps["cluster"];
    geoIp?: Locator | undefined;
  },
): Promise<LoginDetails | null> {
  const live = watch.conversation(id);
  const finished = live === null || live.outcome !== null ? await history.one(id) : null;
  const view = live ?? (finished === null ? null : viewOf(id, finished));
  if (view === null) return null;
  const explanation = explainLogin(view, {
    refusedFor: finished?.refusedFor ?? null,
    denial: finished?.denial,
  });
  const similar = await findSimilarUser(view.user, view.client);
  // The gateway's view of a login names its node if several nodes share the store.
  const { node } = view as { readonly node?: string };
  return {
    ...{ view, packets: watch.packets(id), explanation, similar, radiusPort },
    node: nodeNameOf(cluster, node),
    location: geoIp?.locate(view.place) ?? null,
    hasPolicy: policies.some(({ name }) => name === view.policy),
  };
}

async function strayList(
  { watch, findSimilarUser, radiusPort, isOngoing }: {
    watch: GatewayMonitor;
    findSimilarUser: FindSimilarUser;
    radiusPort: number;
    isOngoing: (tally: DropTally) => boolean;
  },
): Promise<StrayList> {
  const tallies = watch.dropTallies();
  const known = new Map(tallies.map((tally) => [`${tally.source} ${tally.reason}`, tally]));
  const strays = watch.strays(MAX_STRAYS);
  const similar = await similarOf(strays, findSimilarUser);
  const items = strays.map((stray) => ({
    ...stray,
    explanation: explainStray(stray, known.get(`${stray.source} ${stray.reason}`)),
    similar: similar.get(similarKey(stray)) ?? null,
  }));
  return { items, tallies: tallies.filter(isOngoing).slice(0, MAX_TALLIES), radiusPort };
}

/**
 * Whether a problem lasts: packets arrived in the last ten minutes, and their address still has the same client, or still has none. `clients`: the
 * names of the clients that the address has now; `null` for none.
 */
export function isOngoing(
  { reason, client, lastMs }: DropTally,
  { nowMs, clients }: { nowMs: number; clients: readonly string[] | null },
): boolean {
  if (nowMs - lastMs >= ONGOING_MS) return false;
  if (client !== null) return clients?.includes(client) === true;
  return reason !== "unknown_client" || clients === null;
}

/** Similar users of the newest refused names, by {@link similarKey}. */
async function similarOf(
  strays: readonly StrayPacket[],
  findSimilarUser: FindSimilarUser,
): Promise<ReadonlyMap<string, SimilarUser | null>> {
  const found = new Map<string, SimilarUser | null>();
  for (const stray of strays) {
    const name = stray.reason === "refused_user_name" ? userNameOf(stray) : null;
    const key = similarKey(stray);
    if (name === null || found.has(key)) continue;
    if (found.size >= MAX_NAMES) break;
    found.set(key, await findSimilarUser(name, stray.client));
  }
  return found;
}

function similarKey(stray: StrayPacket): string {
  return JSON.stringify([stray.reason, stray.client, userNameOf(stray)]);
}

const OUTCOMES: readonly ConversationOutcome[] = [
  "accepted",
  "rejected",
  "expired",
  "cancelled",
  "superseded",
];
const USED_FACTORS = [...FACTOR_ORDER, "recovery", "bypass"] as const;

/** A login of the history, in the form of those in memory. */
function viewOf(id: string, login: LoginRecord): ConversationView {
  const { user, client, source, place, startedMs, endedMs, moments } = login;
  return {
    id,
    user,
    client,
    source,
    place,
    step: moments.at(-2)?.step ?? "start",
    factor: USED_FACTORS.find((factor) => factor === login.factor) ?? null,
    startedMs,
    updatedMs: endedMs,
    deadlineMs: endedMs,
    outcome: OUTCOMES.find((outcome) => outcome === login.outcome) ?? "expired",
    moments,
    passwordRight: login.passwordRight,
    ...(login.target === undefined ? {} : { target: login.target }),
    ...(login.phone === undefined ? {} : { phone: login.phone }),
    ...(login.token === undefined ? {} : { token: login.token }),
    ...(login.firstFactorServer === undefined ? {} : { firstFactorServer: login.firstFactorServer }),
    ...(login.policy === undefined ? {} : { policy: login.policy }),
  };
}

/** The user, and how the unknown name differs from the user's name. */
export type SimilarUser = SimilarName;

interface SimilarUserDeps {
  /** Absent where the console runs without a directory. */
  readonly people?: Pick<People, "findUserRecord">;
  /** Absent where the console runs without the gateway. */
  readonly connect?: { readonly register: Pick<Connect["register"], "find"> };
}

/** Finds the user; `null` if the directory has or had the name itself, or has no similar one. */
type FindSimilarUser = (userName: string, client: string | null) => Promise<SimilarUser | null>;

function createSimilarUsers({ people, connect }: SimilarUserDeps): FindSimilarUser {
  return async (userName, client) => {
    if (people === undefined) return null;
    const similar = similarNames(userName);
    if (similar.length === 0 || (await people.findUserRecord(userName)).status !== "unknown") return null;
    const policy = (client === null ? null : connect?.register.find(client)) ?? NO_STRIPPING;
    for (const one of similar) {
      // A blank after a listed realm keeps the gateway from removing that realm.
      const name = stripUserName(one.name, policy);
      const { status } = await people.findUserRecord(name);
      if (status === "active" || status === "inactive") return { ...one, name };
    }
    return null;
  };
}

const NO_STRIPPING = { stripDomains: [], stripRealms: [] };
const USER_NAME = 1;

/** User-Name of a packet that was refused outside any login; `null` without one. */
function userNameOf({ hex, rows }: Pick<StrayPacket, "hex" | "rows">): string | null {
  const row = rows.find(({ type }) => type === USER_NAME);
  if (row === undefined) return null;
  // The decoded text of the row has lost a byte order mark.
  return decodeText(Uint8Array.fromHex(hex.slice(2 * (row.at + 2), 2 * (row.at + row.lengthOctets))));
}

// The event `connection_request` of the live stream: the requests of identity providers on all nodes, in batches.

interface RequestFeedDeps {
  /** Absent where the console runs without the gateway. */
  readonly connect?: Connect;
  readonly clock: Clock;
}

type SendChunk = (chunk: Uint8Array<ArrayBuffer>) => void;

const BATCH_MS = 400;
/** Requests of one event. The others are counted in `lost`. */
export const MAX_EVENT_REQUESTS = 100;

class ConnectionRequestFeed {
  readonly #deps: RequestFeedDeps;
  readonly #followers = new Set<SendChunk>();
  #waiting: ConnectionRequestRow[] = [];
  #lost = 0;
  #stop: (() => void) | null = null;
  #isTimerRunning = false;

  constructor(deps: RequestFeedDeps) {
    this.#deps = deps;
  }

  /** Sends the requests from now on. Returns what stops it. */
  follow(send: SendChunk): () => void {
    this.#followers.add(send);
    this.#stop ??= this.#deps.connect?.connections.observeRequests((rows) => this.#note(rows)) ?? null;
    return () => {
      this.#followers.delete(send);
      if (this.#followers.size > 0) return;
      this.#stop?.();
      this.#stop = null;
      this.#waiting = [];
    };
  }

  #note(rows: readonly ConnectionRequestRow[]): void {
    this.#waiting.push(...rows);
    const excess = this.#waiting.length - MAX_EVENT_REQUESTS;
    if (excess > 0) {
      this.#lost += excess;
      this.#waiting = this.#waiting.slice(excess);
    }
    if (this.#isTimerRunning) return;
    this.#isTimerRunning = true;
    this.#deps.clock.after(BATCH_MS, () => this.#send());
  }

  #send(): void {
    this.#isTimerRunning = false;
    const rows = this.#waiting;
    const event: ConnectionRequestEvent = { nowMs: this.#deps.clock.nowMs(), rows, lost: this.#lost };
    this.#waiting = [];
    this.#lost = 0;
    if (rows.length === 0) return;
    const chunk = eventChunk("connection_request", JSON.stringify(event));
    for (const send of [...this.#followers]) send(chunk);
  }
}
