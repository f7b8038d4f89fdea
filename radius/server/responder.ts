// Answers requests: writes the reply, holds a Reject back for its second, sends, counts, logs.

import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import { DROP_REASONS } from "../protocol/drop_reasons.ts";
import type { Factor } from "../flow/factors.ts";
import { type Prompt, PROMPTS } from "../flow/prompts.ts";
import { renderPrompt } from "../flow/prompt_text.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Counters } from "./counters.ts";
import type { FoldedLog } from "./folded_log.ts";
import type { GatewayEvent } from "../ports.ts";
import type { PacketLog } from "./packet_capture.ts";
import { type Reply, writeReply } from "./reply_encoder.ts";
import type { Request } from "./request.ts";
import type { TokenOf } from "../conversation/state_tokens.ts";

export interface AnswerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly folded: FoldedLog;
  readonly counters: Counters;
  readonly enabled: ReadonlySet<Factor>;
  readonly emit: (event: GatewayEvent) => void;
  readonly packets: PacketLog;
  readonly tokenOf: TokenOf;
  readonly send: (request: Request, reply: Uint8Array) => void;
  /** Forgets a request that will not be answered, so that its retransmission is worked on. */
  readonly release: (request: Request) => void;
}

/** What led to an answer, for the log. */
export interface Because {
  readonly row: string;
  readonly conversation: Conversation | null;
  /** Why a user was refused; the reply does not say it. */
  readonly refusedFor?: string | null;
}

/** Why a request that passed the gate gets no answer. */
export type NoAnswer = "overtaken" | "too_busy" | "rate_limited" | "first_factor_busy" | "store_failed";

export interface Answers {
  /** @param because.attributes encoded. */
  accept(request: Request, because: Because & { attributes: Uint8Array }): void;
  /** @param eapIdentifier of the EAP packet that is refused. */
  reject(request: Request, prompt: Prompt, because: Because & { eapIdentifier?: number }): void;
  challenge(request: Request, conversation: Conversation, row: string): void;
  /**
   * Leaves a request without an answer. `keepSlot`: its retransmissions stay unanswered too. A reason that a flood can bring about is
   * written to the log, up to a rate.
   */
  drop(request: Request, reason: NoAnswer, options?: { keepSlot?: boolean }): void;
  /** Rejects that wait for their second. */
  readonly delayed: number;
}

/** Rejects that wait at the most; above it they are not sent at all. */
const MOST_DELAYED = 50_000;
/** RFC 2865 leaves the time open; guessing is slowed down by a second and a little more. */
const REJECT_DELAY_MS = 1000;
const REJECT_JITTER_MS = 100;

export function createAnswers(deps: AnswerDeps): Answers {
  const { clock, log, counters } = deps;
  let delayed = 0;

  function deliver(request: Request, reply: Reply, { row, conversation, refusedFor }: Because): void {
    let octets: Uint8Array<ArrayBuffer>;
    try {
      octets = writeReply(request, reply);
    } catch (fault) {
      log.error("a reply could not be written", { row, fault: String(fault), ...senderOf(request) });
      return drop(request, "too_busy", { keepSlot: true });
    }
    request.slot.reply = octets;
    deps.send(request, octets);
    counters.count(COUNTED[reply.name]);
    deps.packets.answered(conversation?.orderedId ?? null, request, { reply: octets, row });
    if (!log.enabled("info")) return;
    log.info(reply.name, {
      ...senderOf(request),
      user: request.userName,
      id: request.octets[1],
      step: conversation?.outcome ?? conversation?.at,
      row,
      because: refusedFor ?? undefined,
      conversation: conversation?.orderedId,
      tookMs: Math.round((performance.now() - request.startedAt) * 10) / 10,
    });
  }

  function drop(request: Request, reason: NoAnswer, options: { keepSlot?: boolean } = {}): void {
    counters.drop(reason);
    if (options.keepSlot !== true) deps.release(request);
    const { octets, source, client, slot } = request;
    if (slot.recorded !== null) slot.recorded.verdict = reason;
    else deps.packets.dropped({ octets, reason, source, client: client.name });
    if (reason === "too_busy" || reason === "rate_limited") {
      const { level, sentence } = DROP_REASONS[reason];
      const line = { level, message: `dropped: ${sentence}`, fields: { reason, ...senderOf(request) } };
      if (!deps.folded.write(reason, line)) return;
    }
    deps.emit({
      kind: "drop",
      atMs: clock.nowMs(),
      reason,
      source: request.source,
      client: request.client.name,
    });
  }

  return {
    accept: (request, because) =>
      deliver(request, { name: "Access-Accept", message: "", attributes: because.attributes }, because),
    reject(request, prompt, because) {
      if (delayed >= MOST_DELAYED) return drop(request, "too_busy", { keepSlot: true });
      const { eapIdentifier } = because;
      const plain: Reply = { name: "Access-Reject", message: PROMPTS[prompt].text };
      const reply = eapIdentifier === undefined ? plain : { ...plain, eapIdentifier };
      const jitterMs = ((deps.random.bytes(1)[0] as number) / 256) * REJECT_JITTER_MS;
      // A clock that was set back meanwhile must not make it longer.
      const delayMs = REJECT_DELAY_MS + jitterMs;
      const waitMs = Math.min(delayMs, Math.max(0, request.receivedMs + delayMs - clock.nowMs()));
      delayed++;
      clock.after(waitMs, () => {
        delayed--;
        deliver(request, reply, because);
      });
    },
    challenge(request, conversation, row) {
      const { orderedId, at, hasToken, prompt, numbers, numberToMatch } = conversation;
      // The source address may be invented, and its owner gets the reply: it must not be much larger than the request.
      const asked = (prompt ?? "menu") === "menu" && !request.proven ? "short_menu" : prompt ?? "menu";
      const message = renderPrompt(asked, { enabled: deps.enabled, numberToMatch, numbers });
      const state = hasToken ? `${at}.${deps.tokenOf(orderedId, at)}` : at;
      deliver(request, { name: "Access-Challenge", message, state }, { row, conversation });
    },
    drop,
    get delayed() {
      return delayed;
    },
  };
}

const COUNTED = {
  "Access-Accept": "accepts",
  "Access-Reject": "rejects",
  "Access-Challenge": "challenges",
} as const;

/** Who sent a request, for a log line. */
export function senderOf({ client, source }: Request): { client: string; source: string } {
  return { client: client.name, source };
}
