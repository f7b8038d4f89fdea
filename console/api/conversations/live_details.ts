// One login, closely: as it is in memory or as the history keeps it, with its packets and why it ended; and what was dropped or refused.

import type {
  ConversationOutcome,
  ConversationView,
  DropTally,
  GatewayWatch,
  PacketRecord,
  StrayPacket,
} from "../../../radius/ports.ts";
import type { FinishedLogin } from "../../../radius/conversation/login_record.ts";
import { explainLogin, explainStray, type Explanation } from "./explain_login.ts";
import type { HistoryReader } from "../history/history.ts";
import { type FindSimilarUser, type SimilarUser, userNameOf } from "./similar_users.ts";

/** What the inspector shows. */
export interface LoginDetails {
  readonly view: ConversationView;
  /** `null`: not kept any more, or never; only the newest logins have theirs. */
  readonly packets: readonly PacketRecord[] | null;
  /** `null` while it goes on, and when it was accepted. */
  readonly explanation: Explanation | null;
  /** A user with nearly the same name, if the directory does not have the name; otherwise `null`. */
  readonly similar: SimilarUser | null;
  /** Where the gateway listens for RADIUS. */
  readonly radiusPort: number;
}

/** A datagram outside any login, with why. */
export interface ExplainedStray extends StrayPacket {
  readonly explanation: Explanation;
  /** A user with nearly the same name, if the name was refused for its form; otherwise `null`. */
  readonly similar: SimilarUser | null;
}

export interface StrayList {
  readonly items: readonly ExplainedStray[];
  /** How often each reason held for each source, in its present streak. */
  readonly tallies: readonly DropTally[];
  /** Where the gateway listens for RADIUS. */
  readonly radiusPort: number;
}

const MOST_STRAYS = 200;
const MOST_TALLIES = 200;
/** Refused names that one answer looks up, the newest first: anyone can send names. */
const MAX_NAMES = 20;

/** `null` when the login is neither in memory nor in the history. */
export async function loginDetails(
  id: string,
  { watch, history, findSimilarUser, radiusPort }: {
    watch: GatewayWatch;
    history: HistoryReader;
    findSimilarUser: FindSimilarUser;
    radiusPort: number;
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
  return { view, packets: watch.packets(id), explanation, similar, radiusPort };
}

export async function strayList(
  { watch, findSimilarUser, radiusPort }: {
    watch: GatewayWatch;
    findSimilarUser: FindSimilarUser;
    radiusPort: number;
  },
): Promise<StrayList> {
  const tallies = watch.dropTallies();
  const known = new Map(tallies.map((tally) => [`${tally.source} ${tally.reason}`, tally]));
  const strays = watch.strays(MOST_STRAYS);
  const similar = await similarOf(strays, findSimilarUser);
  const items = strays.map((stray) => ({
    ...stray,
    explanation: explainStray(stray, known.get(`${stray.source} ${stray.reason}`)),
    similar: similar.get(similarKey(stray)) ?? null,
  }));
  return { items, tallies: tallies.slice(0, MOST_TALLIES), radiusPort };
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
const FACTORS = ["device", "sms", "voice", "totp"] as const;

/** A login that is only in the history, in the form of those in memory. */
function viewOf(id: string, login: FinishedLogin): ConversationView {
  const { user, client, source, place, startedMs, endedMs, moments } = login;
  return {
    id,
    user,
    client,
    source,
    place,
    step: moments.at(-2)?.step ?? "start",
    factor: FACTORS.find((factor) => factor === login.factor) ?? null,
    startedMs,
    updatedMs: endedMs,
    deadlineMs: endedMs,
    outcome: OUTCOMES.find((outcome) => outcome === login.outcome) ?? "expired",
    moments,
    passwordRight: login.passwordRight,
    ...(login.phone === undefined ? {} : { phone: login.phone }),
  };
}
