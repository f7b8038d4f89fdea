// The effects that need no call to another service: each changes the conversation and adds its records to the turn's commit.

import type { Facts } from "../flow/context.ts";
import type { Effect, FlowRow } from "../flow/flow.ts";
import { pairingDetails } from "../factors/pairing_details.ts";
import { Raced } from "../factors/approval_use.ts";
import { countUserFailure, refuseSend } from "../factors/failure_count.ts";
import { auditLogin } from "./login_audit.ts";
import { type MachineDeps, replaceOlder, type Turn } from "./login_round.ts";

/** Makes one effect that needs no call: changes the conversation and adds to the commit of its turn. */
export function applyInside(deps: MachineDeps, effect: Effect, turn: Turn, facts: Facts, row: FlowRow): void {
  const { conversation, attempt } = turn;
  const draft = turn.batch.mutations;
  const user = { canonical: conversation.user, shown: conversation.shownUser };
  switch (effect) {
    case "note_first_factor":
      conversation.firstFactorRight = true;
      return replaceOlder(deps, turn);
    case "count_failure":
      return countFailure(deps, turn, facts);
    case "count_failure_if_checked":
      if (facts.guessChecked) countFailure(deps, turn, facts);
      return;
    case "count_failure_if_passcode":
      if (facts.passcodeOutstanding) countFailure(deps, turn, facts);
      return;
    case "count_refused_send":
      conversation.passcode = null;
      draft.push(...refuseSend(deps, turn, facts));
      return;
    case "clear_failures": {
      const before = deps.limits.failures(conversation.user);
      const cleared = deps.limits.clear(conversation.user);
      if (cleared === null) return;
      draft.push(cleared);
      turn.batch.whenFailed(() => deps.limits.putBack(conversation.user, before));
      return;
    }
    case "remember_number":
      if (facts.mayStoreNumber && conversation.passcode !== null) {
        const { factor, number } = conversation.passcode;
        storePairing(deps, turn, deps.pairings.prepare(user, { kind: factor, number }));
      }
      return;
    case "store_pairing":
      if (conversation.newPairingId !== null) {
        const wanted = {
          kind: "device",
          id: conversation.newPairingId,
          totpLength: attempt.newPairingTotpLength,
          name: attempt.newPairingName,
        } as const;
        storePairing(deps, turn, deps.pairings.prepare(user, wanted));
      }
      return;
    case "take_totp_step":
      if (attempt.totp) {
        conversation.factor = "totp";
        const unused = attempt.totp.pairing;
        const used = deps.pairings.prepareUsedStep(unused, attempt.totp.step);
        draft.push(used.mutation);
        // At once, not after the commit: a second conversation must not take the same step meanwhile.
        deps.pairings.adopt(used.pairing);
        turn.batch.whenFailed(() => {
          if (deps.pairings.of(conversation.user).includes(used.pairing)) deps.pairings.adopt(unused);
        });
      }
      return;
    case "take_recovery_code":
      return takeRecoveryCode(deps, turn);
    case "start_over":
      dropRequest(deps, turn);
      deps.conversations.end(conversation, "cancelled", row.name);
      turn.ended.push(conversation);
      turn.conversation = deps.startOver(conversation);
      turn.batch.whenFailed(() => deps.conversations.remove(turn.conversation));
      return;
    case "drop_request":
      return dropRequest(deps, turn);
  }
}

/** At once, not after the commit: a second login must not take the same code meanwhile. */
function takeRecoveryCode(deps: MachineDeps, turn: Turn): void {
  const { conversation, attempt } = turn;
  const digest = attempt.recoveryCode ?? null;
  const used = digest === null ? null : deps.recoveryCodes.prepareUse(conversation.user, digest);
  if (used === null) throw new Raced(`Cannot use a recovery code of "${conversation.user}": it is gone`);
  conversation.factor = "recovery";
  turn.batch.checks.push(used.check);
  turn.batch.mutations.push(used.mutation);
  turn.batch.whenFailed(used.putBack);
}

function countFailure(deps: MachineDeps, { conversation, batch }: Turn, { userExists }: Facts): void {
  const { locked, lockAudit, mutations } = countUserFailure(deps, conversation, { userExists });
  batch.mutations.push(...mutations);
  if (locked) batch.mutations.push(auditLogin(conversation, lockAudit));
}

function storePairing(
  deps: MachineDeps,
  turn: Turn,
  prepared: ReturnType<MachineDeps["pairings"]["prepare"]>,
): void {
  const { pairing, mutation } = prepared;
  turn.batch.mutations.push(
    mutation,
    auditLogin(turn.conversation, { action: "pairing.add", ...pairingDetails(pairing), how: "login" }),
  );
  turn.batch.whenCommitted(() => deps.pairings.adopt(pairing));
}

function dropRequest(deps: MachineDeps, { conversation, batch }: Turn): void {
  const { requestId } = conversation;
  if (requestId === null) return;
  conversation.requestId = null;
  batch.whenCommitted(() => void deps.secondFactor.cancel(requestId));
}
