// Access-Rejects that need no conversation: requests that cannot be worked on, and answers to a login that is over.

import type { Log } from "../../platform/log.ts";
import { NOTHING_KNOWN } from "../flow/context.ts";
import type { Step } from "../protocol/steps.ts";
import type { PacketView } from "../protocol/packet.ts";
import { step } from "../flow/step.ts";
import { type Answers, senderOf } from "../server/responder.ts";
import type { Counters } from "../server/counters.ts";
import type { FoldedLog } from "../server/folded_log.ts";
import type { NullAsks } from "./null_status_check.ts";
import { logRequest } from "../server/request_log.ts";
import { type Refusal, REFUSALS, type Request } from "../server/request.ts";
import type { UnsignedLimits } from "../server/unsigned_limits.ts";

export interface Rejections {
  /** A State whose conversation is gone or at another step: never a reason to check anything typed. */
  gone(request: Request, at: Step): void;
  /** @param options.isLogged whether the lines of the request are in the log already. */
  refuse(request: Request, refusal: Refusal, options: { view: PacketView | null; isLogged: boolean }): void;
}

interface RejectionDeps {
  readonly nullAsks: NullAsks;
  readonly log: Log;
  readonly folded: FoldedLog;
  readonly counters: Counters;
  readonly unsignedLimits: UnsignedLimits;
}

export function createRejections(deps: RejectionDeps, answers: Answers): Rejections {
  const { counters, unsignedLimits, nullAsks } = deps;
  /** Clients that were warned of CHAP: it is a setting of theirs, not what one request did. */
  const chapClients = new Set<string>();

  return {
    gone(request, at) {
      if (!unsignedLimits.mayReject(request)) return answers.drop(request, "rate_limited");
      const row = step("gone", {
        ...NOTHING_KNOWN,
        stateWasDevice: at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
      });
      const answer = () => answers.reject(request, row.say ?? "gone", { row: row.name, conversation: null });
      if (row.then.includes("ask_null")) void nullAsks.askTwice(request.client.name).then(answer);
      else answer();
    },
    refuse(request, refusal, { view, isLogged }) {
      if (!unsignedLimits.mayReject(request)) return answers.drop(request, "rate_limited");
      if (!isLogged) logRequest(deps, request);
      const { sentence, prompt } = REFUSALS[refusal];
      counters.count(`refused_${refusal}`);
      const wasWarned = refusal === "chap" && chapClients.has(request.client.name);
      if (refusal === "chap") chapClients.add(request.client.name);
      deps.folded.write(refusal, {
        level: wasWarned ? "debug" : "warn",
        message: `request refused: ${sentence}`,
        fields: { reason: refusal, ...senderOf(request) },
      });
      const eap = refusal === "eap" ? view?.value("eapMessage") ?? null : null;
      const because = { row: refusal, conversation: null };
      answers.reject(request, prompt, eap === null ? because : { ...because, eapIdentifier: eap[1] ?? 0 });
    },
  };
}
