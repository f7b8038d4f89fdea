// One login, closely: as it is in memory or as the history keeps it, with its packets and why it ended; and what was dropped or refused.

import type {
  ConversationOutcome,
  ConversationView,
  DropTally,
  GatewayWatch,
  PacketRecord,
  StrayPacket,
} from "../../../radius/doing/ports.ts";
import type { FinishedLogin } from "../../../radius/pure/finished_login.ts";
import { explainLogin, explainStray, type Explanation } from "./explain.ts";
import type { HistoryReader } from "./history.ts";

/** What the inspector shows. */
export interface LoginDetails {
  readonly view: ConversationView;
  /** `null`: not kept any more, or never; only the newest logins have theirs. */
  readonly packets: readonly PacketRecord[] | null;
  /** `null` while it goes on, and when it was accepted. */
  readonly explanation: Explanation | null;
  /** Where the gateway listens for RADIUS. */
  readonly radiusPort: number;
}

/** A datagram outside any login, with why. */
export interface ExplainedStray extends StrayPacket {
  readonly explanation: Explanation;
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

/** `null` when the login is neither in memory nor in the history. */
export async function loginDetails(
  id: string,
  { watch, history, radiusPort }: { watch: GatewayWatch; history: HistoryReader; radiusPort: number },
): Promise<LoginDetails | null> {
  const live = watch.conversation(id);
  const finished = live === null || live.outcome !== null ? await history.one(id) : null;
  const view = live ?? (finished === null ? null : viewOf(id, finished));
  if (view === null) return null;
  const explanation = explainLogin(view, {
    refusedFor: finished?.refusedFor ?? null,
    denial: finished?.denial,
  });
  return { view, packets: watch.packets(id), explanation, radiusPort };
}

export function strayList(watch: GatewayWatch, radiusPort: number): StrayList {
  const tallies = watch.dropTallies();
  const known = new Map(tallies.map((tally) => [`${tally.source} ${tally.reason}`, tally]));
  const items = watch.strays(MOST_STRAYS).map((stray) => ({
    ...stray,
    explanation: explainStray(stray, known.get(`${stray.source} ${stray.reason}`)),
  }));
  return { items, tallies: tallies.slice(0, MOST_TALLIES), radiusPort };
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
